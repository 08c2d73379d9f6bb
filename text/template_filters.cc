#include "text/template_filters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/template_operators.h"
#include "text/template_print.h"

namespace shortlist::jinja {
namespace {

using Result = absl::StatusOr<Value>;
using Filter = Result (*)(const Value& input, const Arguments& arguments);

bool IsTrue(const Value* argument) { return argument != nullptr && argument->IsTrue(); }

/// The value at a path such as "function.name" or "0.id"; `fallback` for what is missing on the
/// way.
Result AtPath(Value value, const Value& path, const Value* fallback = nullptr) {
  if (const auto index = path.AsInt()) return GetItem(value, Value(*index));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string names, TextOr(&path, ""));
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find('.', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    int64_t index = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool is_index = read.ec == std::errc() && read.ptr == name.data() + name.size();
    SHORTLIST_ASSIGN_OR_RETURN(
        value, GetItem(value, is_index ? Value(index) : Value(Text::FromTemplate(name))));
    if (fallback != nullptr && value.Is(Kind::kUndefined)) value = *fallback;
    begin = end + 1;
  }
  return value;
}

/// What unique and the sorting filters compare by.
Result SortKey(const Value& item, const Value* attribute, bool case_sensitive) {
  Value key = item;
  if (attribute != nullptr && !attribute->Is(Kind::kNone)) {
    SHORTLIST_ASSIGN_OR_RETURN(key, AtPath(item, *attribute));
  }
  if (!case_sensitive && key.Is(Kind::kText)) return Lower(key.text());
  return key;
}

/// Indices of `keys` in their order; ties stay in place, from the last to the first where
/// `reverse`.
absl::StatusOr<std::vector<size_t>> SortedOrder(const std::vector<Value>& keys, bool reverse) {
  for (const Value& key : keys) {
    const bool is_text = key.Is(Kind::kText);
    if (!is_text && (!key.AsFloat() || std::isnan(*key.AsFloat()))) {
      return absl::InvalidArgumentError(absl::StrCat("sort: by a value of type ", key.TypeName()));
    }
    if (is_text != keys[0].Is(Kind::kText)) {
      return absl::InvalidArgumentError("sort: texts and numbers have no common order");
    }
  }
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return Less(reverse ? keys[b] : keys[a], reverse ? keys[a] : keys[b]).value();
  });
  return order;
}

Result Length(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  switch (input.kind()) {
    case Kind::kUndefined:
      return Value(int64_t{0});
    case Kind::kText:
      return Value(static_cast<int64_t>(CountCodePoints(input.bytes())));
    case Kind::kList:
      return Value(static_cast<int64_t>(input.list().items.size()));
    case Kind::kDict:
      return Value(static_cast<int64_t>(input.dict().entries.size()));
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("length of a value of type ", input.TypeName()));
  }
}

Result Default(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"default_value", "boolean"}));
  const bool keep = IsTrue(bound[1]) ? input.IsTrue() : !input.Is(Kind::kUndefined);
  if (keep) return input;
  return bound[0] != nullptr ? *bound[0] : Value(Text());
}

template <Value (*respell)(const Text&)>
Result OfText(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(input));
  return respell(text);
}

Result ToText(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  SHORTLIST_ASSIGN_OR_RETURN(Text text, Str(input));
  return Value(std::move(text));
}

Result Safe(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  SHORTLIST_ASSIGN_OR_RETURN(Text text, Str(input));
  text.MarkSafe();
  return Value(std::move(text));
}

Result Trim(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"chars"}));
  SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(input));
  return Strip(text, Side::kBoth, bound[0]);
}

Result ReplaceFilter(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"old", "new", "count"}));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t count, IntOr(bound[2], -1));
  if (!bound[0] || !bound[1]) return absl::InvalidArgumentError("replace: needs two texts");
  SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(input));
  SHORTLIST_ASSIGN_OR_RETURN(const Text from, Str(*bound[0]));
  SHORTLIST_ASSIGN_OR_RETURN(const Text to, Str(*bound[1]));
  return Replace(text, from, to, count);
}

Result JoinFilter(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"d", "attribute"}));
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<Value> items, Items(input));
  if (bound[1] != nullptr && !bound[1]->Is(Kind::kNone)) {
    for (Value& item : items) {
      SHORTLIST_ASSIGN_OR_RETURN(item, AtPath(item, *bound[1]));
    }
  }
  Text separator;
  if (bound[0] != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(separator, Str(*bound[0]));
  }
  return Join(separator, items);
}

Result Indent(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"width", "first", "blank"}));
  SHORTLIST_ASSIGN_OR_RETURN(Text text, Str(input));
  Text indention;
  if (bound[0] != nullptr && bound[0]->Is(Kind::kText)) {
    indention = bound[0]->text();
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t width, IntOr(bound[0], 4));
    if (width > 1000) {
      return absl::InvalidArgumentError(absl::StrCat("indent: width ", width, " above 1000"));
    }
    indention =
        Text::FromTemplate(std::string(static_cast<size_t>(std::max(width, int64_t{0})), ' '));
  }
  text.AppendTemplate("\n");  // as Jinja does, so that a line end at the end is kept
  const std::vector<Text> lines = SplitLines(text, /*keep_ends=*/false);
  Text out;
  if (IsTrue(bound[1])) out.Append(indention);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.AppendTemplate("\n");
    if (i > 0 && (IsTrue(bound[2]) || !lines[i].bytes().empty())) out.Append(indention);
    out.Append(lines[i]);
  }
  return Value(std::move(out));
}

Result ToJsonFilter(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound,
                             arguments.Bind({"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style{.ensure_ascii = IsTrue(bound[0]), .sort_keys = IsTrue(bound[3])};
  style.multi_line = bound[1] != nullptr && !bound[1]->Is(Kind::kNone);
  if (style.multi_line && bound[1]->Is(Kind::kText)) {
    style.indent = bound[1]->text();
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t width, IntOr(bound[1], 0));
    if (width > 1000) {
      return absl::InvalidArgumentError(absl::StrCat("tojson: indent ", width, " above 1000"));
    }
    style.indent =
        Text::FromTemplate(std::string(static_cast<size_t>(std::max(width, int64_t{0})), ' '));
  }
  style.item_separator = Text::FromTemplate(style.multi_line ? "," : ", ");
  style.key_separator = Text::FromTemplate(": ");
  if (bound[2] != nullptr && !bound[2]->Is(Kind::kNone)) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Value> pair, Items(*bound[2]));
    if (pair.size() != 2 || !pair[0].Is(Kind::kText) || !pair[1].Is(Kind::kText)) {
      return absl::InvalidArgumentError("tojson: separators must be two texts");
    }
    style.item_separator = pair[0].text();
    style.key_separator = pair[1].text();
  }
  SHORTLIST_ASSIGN_OR_RETURN(Text json, ToJson(input, style));
  return Value(std::move(json));
}

Result ToList(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<Value> items, Items(input));
  return Value::MakeList(std::move(items));
}

Result DictItems(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  if (input.Is(Kind::kUndefined)) return Value::MakeList({});
  if (!input.Is(Kind::kDict)) {
    return absl::InvalidArgumentError(absl::StrCat("items of a value of type ", input.TypeName()));
  }
  return CallMethod(input, "items", arguments);
}

Result Reverse(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<Value> items, Items(input));
  std::reverse(items.begin(), items.end());
  if (input.Is(Kind::kText)) return Join(Text(), items);
  return Value::MakeList(std::move(items));
}

template <bool is_last>
Result Edge(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Value> items, Items(input));
  if (items.empty()) return Value::MakeUndefined("first or last of nothing");
  return is_last ? items.back() : items.front();
}

template <bool is_max>
Result Extreme(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"case_sensitive", "attribute"}));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Value> items, Items(input));
  if (items.empty()) return Value::MakeUndefined("min or max of nothing");
  size_t best = 0;
  SHORTLIST_ASSIGN_OR_RETURN(Value best_key, SortKey(items[0], bound[1], IsTrue(bound[0])));
  for (size_t i = 1; i < items.size(); ++i) {
    SHORTLIST_ASSIGN_OR_RETURN(Value key, SortKey(items[i], bound[1], IsTrue(bound[0])));
    SHORTLIST_ASSIGN_OR_RETURN(const bool better,
                               is_max ? Less(best_key, key) : Less(key, best_key));
    if (!better) continue;
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

Result Sort(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound,
                             arguments.Bind({"reverse", "case_sensitive", "attribute"}));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Value> items, Items(input));
  std::vector<Value> keys;
  for (const Value& item : items) {
    SHORTLIST_ASSIGN_OR_RETURN(keys.emplace_back(), SortKey(item, bound[2], IsTrue(bound[1])));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<size_t> order, SortedOrder(keys, IsTrue(bound[0])));
  std::vector<Value> sorted;
  for (const size_t i : order) sorted.push_back(items[i]);
  return Value::MakeList(std::move(sorted));
}

Result DictSort(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"case_sensitive", "by", "reverse"}));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string by, TextOr(bound[1], "key"));
  if (by != "key" && by != "value") {
    return absl::InvalidArgumentError("dictsort: by neither 'key' nor 'value'");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const Value pairs, DictItems(input, {}));
  const Value part(int64_t{by == "value"});
  std::vector<Value> keys;
  for (const Value& pair : pairs.list().items) {
    SHORTLIST_ASSIGN_OR_RETURN(keys.emplace_back(), SortKey(pair, &part, IsTrue(bound[0])));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<size_t> order, SortedOrder(keys, IsTrue(bound[2])));
  std::vector<Value> sorted;
  for (const size_t i : order) sorted.push_back(pairs.list().items[i]);
  return Value::MakeList(std::move(sorted));
}

Result Unique(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"case_sensitive", "attribute"}));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Value> items, Items(input));
  std::set<std::pair<bool, std::string>> seen;  // {is a text, its print}
  std::vector<Value> unique;
  for (const Value& item : items) {
    SHORTLIST_ASSIGN_OR_RETURN(Value key, SortKey(item, bound[1], IsTrue(bound[0])));
    if (key.Is(Kind::kList) || key.Is(Kind::kDict)) {
      return absl::InvalidArgumentError(absl::StrCat("unique: of values of type ", key.TypeName()));
    }
    if (key.Is(Kind::kBool)) key = Value(*key.AsInt());  // true is 1 to Python
    SHORTLIST_ASSIGN_OR_RETURN(const Text print, Str(key));
    if (seen.emplace(key.Is(Kind::kText), print.bytes()).second) unique.push_back(item);
  }
  return Value::MakeList(std::move(unique));
}

Result Map(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<Value> items, Items(input));
  if (arguments.positional.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"attribute", "default"}));
    if (bound[0] == nullptr) return absl::InvalidArgumentError("map: neither filter nor attribute");
    for (Value& item : items) {
      SHORTLIST_ASSIGN_OR_RETURN(item, AtPath(item, *bound[0], bound[1]));
    }
    return Value::MakeList(std::move(items));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::string name, TextOr(&arguments.positional[0], ""));
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  int64_t deep_bytes = 0;
  for (Value& item : items) {
    SHORTLIST_ASSIGN_OR_RETURN(item, ApplyFilter(name, item, rest));
    deep_bytes += item.deep_bytes();
    if (deep_bytes > kMaxValueBytes) break;  // MakeList refuses it
  }
  return Value::MakeList(std::move(items));
}

/// select and reject, selectattr and rejectattr: by a test, or by truth where none is named.
template <bool wanted, bool by_attribute>
Result Select(const Value& input, const Arguments& arguments) {
  if (!input.IsTrue()) return Value::MakeList({});  // even of what has no elements, such as none
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Value> items, Items(input));
  Arguments rest = arguments;
  Value attribute;
  if (by_attribute) {
    if (rest.positional.empty()) return absl::InvalidArgumentError("selectattr: no attribute");
    attribute = rest.positional[0];
    rest.positional.erase(rest.positional.begin());
  }
  std::string test;
  if (!rest.positional.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(test, TextOr(&rest.positional[0], ""));
    rest.positional.erase(rest.positional.begin());
  }
  std::vector<Value> selected;
  for (const Value& item : items) {
    Value subject = item;
    if (by_attribute) {
      SHORTLIST_ASSIGN_OR_RETURN(subject, AtPath(item, attribute));
    }
    bool holds = subject.IsTrue();
    if (!test.empty()) {
      SHORTLIST_ASSIGN_OR_RETURN(holds, ApplyTest(test, subject, rest));
    }
    if (holds == wanted) selected.push_back(item);
  }
  return Value::MakeList(std::move(selected));
}

/// Python's float(text), for decimal spellings.
std::optional<double> ParseFloat(const Value& input) {
  if (!input.Is(Kind::kText)) return input.AsFloat();
  const Value stripped = Strip(input.text(), Side::kBoth, nullptr).value();
  std::string_view digits = stripped.bytes();
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return value;
}

Result ToInt(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"default"}));
  if (input.Is(Kind::kUndefined)) return absl::InvalidArgumentError(input.undefined_what());
  if (const auto value = input.AsInt()) return Value(*value);
  const auto number = ParseFloat(input);
  // 2^53: beyond it a double has no digits behind the point, and may not fit an int.
  if (number && std::abs(*number) <= 9007199254740992.0)
    return Value(static_cast<int64_t>(*number));
  return bound[0] != nullptr ? *bound[0] : Value(int64_t{0});
}

Result ToFloat(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"default"}));
  if (input.Is(Kind::kUndefined)) return absl::InvalidArgumentError(input.undefined_what());
  if (const auto number = ParseFloat(input)) return Value(*number);
  return bound[0] != nullptr ? *bound[0] : Value(0.0);
}

Result Round(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"precision", "method"}));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t precision, IntOr(bound[0], 0));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string method, TextOr(bound[1], "common"));
  const auto value = input.AsFloat();
  if (!value) return absl::InvalidArgumentError(absl::StrCat("round of a ", input.TypeName()));
  if (precision < 0 || precision > 15) {
    return absl::InvalidArgumentError(
        absl::StrCat("round: precision ", precision, " not in [0, 15]"));
  }
  if (method == "common" && input.Is(Kind::kInt)) return input;
  const double scale = std::pow(10.0, static_cast<double>(precision));
  if (method == "ceil") return Value(std::ceil(*value * scale) / scale);
  if (method == "floor") return Value(std::floor(*value * scale) / scale);
  if (method != "common") return absl::InvalidArgumentError("round: an unknown method");
  if (!std::isfinite(*value)) return input;
  // As Python's round(): the correctly rounded decimal, ties to even.
  char buffer[400];
  const auto written = std::to_chars(buffer, buffer + sizeof(buffer), *value,
                                     std::chars_format::fixed, static_cast<int>(precision));
  double rounded = 0;
  std::from_chars(buffer, written.ptr, rounded);
  return Value(rounded);
}

Result Abs(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  if (!input.AsFloat())
    return absl::InvalidArgumentError(absl::StrCat("abs of a ", input.TypeName()));
  return *input.AsFloat() < 0 ? Negate(input) : Result(input);
}

Result Sum(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"attribute", "start"}));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Value> items, Items(input));
  Value total = bound[1] != nullptr ? *bound[1] : Value(int64_t{0});
  for (Value item : items) {
    if (bound[0] != nullptr && !bound[0]->Is(Kind::kNone)) {
      SHORTLIST_ASSIGN_OR_RETURN(item, AtPath(item, *bound[0]));
    }
    if (!item.AsFloat())
      return absl::InvalidArgumentError(absl::StrCat("sum of a ", item.TypeName()));
    SHORTLIST_ASSIGN_OR_RETURN(total, Arithmetic(Operator::kAdd, total, item));
  }
  return total;
}

const std::map<std::string_view, Filter>& Filters() {
  static const auto* const filters = new std::map<std::string_view, Filter>{
      {"abs", Abs},
      {"capitalize", OfText<Capitalize>},
      {"count", Length},
      {"d", Default},
      {"default", Default},
      {"dictsort", DictSort},
      {"first", Edge<false>},
      {"float", ToFloat},
      {"indent", Indent},
      {"int", ToInt},
      {"items", DictItems},
      {"join", JoinFilter},
      {"last", Edge<true>},
      {"length", Length},
      {"list", ToList},
      {"lower", OfText<Lower>},
      {"map", Map},
      {"max", Extreme<true>},
      {"min", Extreme<false>},
      {"reject", Select<false, false>},
      {"rejectattr", Select<false, true>},
      {"replace", ReplaceFilter},
      {"reverse", Reverse},
      {"round", Round},
      {"safe", Safe},
      {"select", Select<true, false>},
      {"selectattr", Select<true, true>},
      {"sort", Sort},
      {"string", ToText},
      {"sum", Sum},
      {"title", OfText<Title>},
      {"tojson", ToJsonFilter},
      {"trim", Trim},
      {"unique", Unique},
      {"upper", OfText<Upper>},
  };
  return *filters;
}

/// Tests without argument.
std::optional<bool> PlainTest(std::string_view name, const Value& input) {
  const Kind kind = input.kind();
  const bool is_iterable =
      kind == Kind::kText || kind == Kind::kList || kind == Kind::kDict || kind == Kind::kUndefined;
  if (name == "defined") return kind != Kind::kUndefined;
  if (name == "undefined") return kind == Kind::kUndefined;
  if (name == "none") return kind == Kind::kNone;
  if (name == "string") return kind == Kind::kText;
  if (name == "mapping") return kind == Kind::kDict;
  if (name == "iterable" || name == "sequence") return is_iterable;
  if (name == "number") return input.AsFloat().has_value();
  if (name == "integer") return kind == Kind::kInt;
  if (name == "float") return kind == Kind::kFloat;
  if (name == "boolean") return kind == Kind::kBool;
  if (name == "true") return kind == Kind::kBool && input.boolean();
  if (name == "false") return kind == Kind::kBool && !input.boolean();
  if (name == "callable") return kind == Kind::kFunction;
  return std::nullopt;
}

std::optional<Operator> ComparingTest(std::string_view name) {
  if (name == "eq" || name == "equalto" || name == "==") return Operator::kEqual;
  if (name == "ne" || name == "!=") return Operator::kNotEqual;
  if (name == "lt" || name == "lessthan" || name == "<") return Operator::kLess;
  if (name == "le" || name == "<=") return Operator::kLessEqual;
  if (name == "gt" || name == "greaterthan" || name == ">") return Operator::kGreater;
  if (name == "ge" || name == ">=") return Operator::kGreaterEqual;
  if (name == "in") return Operator::kIn;
  return std::nullopt;
}

/// odd, even and divisibleby.
absl::StatusOr<bool> Divides(const Value& input, int64_t divisor, int64_t remainder) {
  SHORTLIST_ASSIGN_OR_RETURN(const Value rest,
                             Arithmetic(Operator::kModulo, input, Value(divisor)));
  return Equal(rest, Value(remainder));
}

/// `is` of Python.
bool Same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  const bool by_value = a.Is(Kind::kNone) || a.Is(Kind::kBool) || a.Is(Kind::kInt);
  return by_value ? Equal(a, b) : a.SameObject(b);
}

}  // namespace

absl::StatusOr<Value> ApplyFilter(std::string_view name, const Value& input,
                                  const Arguments& arguments) {
  const auto found = Filters().find(name);
  if (found == Filters().end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter '", std::string(name.substr(0, 40)), "' is not supported"));
  }
  return found->second(input, arguments);
}

bool ReadsElements(std::string_view filter) {
  static constexpr std::string_view kWhole[] = {"count", "d",    "default", "first",  "items",
                                                "last",  "list", "length",  "reverse"};
  return std::find(std::begin(kWhole), std::end(kWhole), filter) == std::end(kWhole);
}

absl::StatusOr<bool> ApplyTest(std::string_view name, const Value& input,
                               const Arguments& arguments) {
  if (const auto holds = PlainTest(name, input)) {
    SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
    return *holds;
  }
  if (name == "odd" || name == "even") {
    SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
    return Divides(input, 2, name == "odd");
  }
  if (name == "lower" || name == "upper") {
    SHORTLIST_ASSIGN_OR_RETURN(const Text text, Str(input));
    const Value other = name == "lower" ? Upper(text) : Lower(text);
    const Value same = name == "lower" ? Lower(text) : Upper(text);
    return same.bytes() == text.bytes() && other.bytes() != text.bytes();
  }
  const auto comparing = ComparingTest(name);
  if (!comparing && name != "divisibleby" && name != "sameas") {
    return absl::InvalidArgumentError(
        absl::StrCat("test '", std::string(name.substr(0, 40)), "' is not supported"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"other"}));
  if (bound[0] == nullptr) return absl::InvalidArgumentError("a test without its argument");
  if (comparing) return Compare(*comparing, input, *bound[0]);
  if (name == "sameas") return Same(input, *bound[0]);
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t divisor, IntOr(bound[0], 0));
  return Divides(input, divisor, 0);
}

}  // namespace shortlist::jinja
