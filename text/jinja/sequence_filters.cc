#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/filter_groups.h"
#include "text/jinja/filters.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/tests.h"
#include "text/jinja/text_methods.h"

namespace shortlist::jinja {
namespace {

using Result = absl::StatusOr<Value>;

/// Returns the value at a path such as "function.name" or "0.id"; `fallback` if a part of the path
/// is missing.
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

/// Returns the key by which unique and the sorting filters compare.
Result SortKey(const Value& item, const Value* attribute, bool case_sensitive) {
  Value key = item;
  if (attribute != nullptr && !attribute->Is(Kind::kNone)) {
    SHORTLIST_ASSIGN_OR_RETURN(key, AtPath(item, *attribute));
  }
  if (!case_sensitive && key.Is(Kind::kText)) return Lower(key.text());
  return key;
}

/// Returns the indices of `keys` in sorted order, descending if `reverse`. The sort is stable.
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

Result ToList(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<Value> items, Items(input));
  return Value::MakeList(std::move(items));
}

Result DictItems(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  if (input.Is(Kind::kUndefined)) return Value::MakeGenerator({});
  if (!input.Is(Kind::kDict)) {
    return Value::MakeGenerator({}, absl::InvalidArgumentError(absl::StrCat(
                                        "items of a value of type ", input.TypeName())));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const Value pairs, CallMethod(input, "items", {}));
  return Value::MakeGenerator(pairs.list().items);
}

/// Returns Python's name of the type of reversed().
const char* ReversedType(const Value& input) {
  if (input.Is(Kind::kDict)) return "dict_reversekeyiterator";
  if (!input.Is(Kind::kList)) return "reversed";
  switch (input.list().kind) {
    case ListKind::kList:
      return "list_reverseiterator";
    case ListKind::kTuple:
      return "reversed";
    case ListKind::kRange:
      return "range_iterator";
    case ListKind::kKeys:
      return "dict_reversekeyiterator";
    case ListKind::kValues:
      return "dict_reversevalueiterator";
    case ListKind::kItems:
      return "dict_reverseitemiterator";
  }
  return "reversed";
}

Result Reverse(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<Value> items, Items(input));
  std::reverse(items.begin(), items.end());
  if (input.Is(Kind::kText)) return Join(Text(), items);
  // A value that Python cannot iterate backwards becomes a list.
  if (input.Is(Kind::kGenerator)) return Value::MakeList(std::move(items));
  return Value::MakeGenerator(std::move(items), absl::OkStatus(), ReversedType(input));
}

template <bool is_last>
Result Edge(const Value& input, const Arguments& arguments) {
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  if (input.Is(Kind::kGenerator)) {
    if (is_last) return absl::InvalidArgumentError(absl::StrCat("last of a ", input.TypeName()));
    SHORTLIST_ASSIGN_OR_RETURN(auto first, input.generator().Next());
    return first ? *std::move(first) : Value::MakeUndefined("first of nothing");
  }
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
  if (input.Is(Kind::kUndefined)) return absl::InvalidArgumentError(input.undefined_what());
  if (!input.Is(Kind::kDict)) {
    return absl::InvalidArgumentError(absl::StrCat("dictsort of a ", input.TypeName()));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const Value pairs, CallMethod(input, "items", {}));
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

/// Converts True and 1.0 to 1, which are one key in Python; keeps any other value.
Value WholeNumber(Value value) {
  if (value.AsInt()) return Value(*value.AsInt());
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!value.Is(Kind::kFloat) || std::abs(value.real()) > kExact) return value;
  const auto whole = static_cast<int64_t>(value.real());
  return static_cast<double>(whole) == value.real() ? Value(whole) : value;
}

/// Returns a generator of the results of `each` for the elements of `input`. A result is a value,
/// nullopt, or an error, which ends the generator.
Result Generate(const Value& input,
                const std::function<absl::StatusOr<std::optional<Value>>(const Value&)>& each) {
  Source source(input);
  std::vector<Value> made;
  int64_t deep_bytes = 0;
  while (deep_bytes <= kMaxValueBytes) {  // otherwise MakeGenerator rejects it
    auto item = source.Next();
    if (item.ok() && !*item) break;
    auto value = item.ok() ? each(**item) : std::move(item);
    if (!value.ok()) return Value::MakeGenerator(std::move(made), value.status());
    if (!*value) continue;
    deep_bytes += (*value)->deep_bytes();
    made.push_back(**std::move(value));
  }
  return Value::MakeGenerator(std::move(made));
}

Result Unique(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"case_sensitive", "attribute"}));
  std::set<std::pair<bool, std::string>> seen;  // {is a text, its print}
  return Generate(input, [&](const Value& item) -> absl::StatusOr<std::optional<Value>> {
    SHORTLIST_ASSIGN_OR_RETURN(Value key, SortKey(item, bound[1], IsTrue(bound[0])));
    if (key.Is(Kind::kList) || key.Is(Kind::kDict)) {
      return absl::InvalidArgumentError(absl::StrCat("unique: of values of type ", key.TypeName()));
    }
    key = WholeNumber(std::move(key));
    SHORTLIST_ASSIGN_OR_RETURN(const Text print, Str(key));
    if (!seen.emplace(key.Is(Kind::kText), print.bytes()).second) return std::nullopt;
    return item;
  });
}

Result Map(const Value& input, const Arguments& arguments) {
  if (!input.IsTrue()) return Value::MakeGenerator({});  // even if it is not iterable
  if (arguments.positional.empty()) {
    const auto bound = arguments.Bind({"attribute", "default"});
    if (!bound.ok()) return Value::MakeGenerator({}, bound.status());
    const Value *const attribute = (*bound)[0], *const fallback = (*bound)[1];
    if (attribute == nullptr) {
      return Value::MakeGenerator({},
                                  absl::InvalidArgumentError("map: neither filter nor attribute"));
    }
    return Generate(input, [&](const Value& item) -> absl::StatusOr<std::optional<Value>> {
      return AtPath(item, *attribute, fallback);
    });
  }
  const auto name = TextOr(&arguments.positional[0], "");
  if (!name.ok()) return Value::MakeGenerator({}, name.status());
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  return Generate(input, [&](const Value& item) -> absl::StatusOr<std::optional<Value>> {
    return ApplyFilter(*name, item, rest);
  });
}

/// select and reject, selectattr and rejectattr: by a test, or by truth if none is named.
template <bool wanted, bool by_attribute>
Result Select(const Value& input, const Arguments& arguments) {
  if (!input.IsTrue()) return Value::MakeGenerator({});  // even if it is not iterable
  Arguments rest = arguments;
  Value attribute;
  if (by_attribute) {
    if (rest.positional.empty()) {
      return Value::MakeGenerator({}, absl::InvalidArgumentError("selectattr: no attribute"));
    }
    attribute = rest.positional[0];
    rest.positional.erase(rest.positional.begin());
  }
  std::string test;
  if (!rest.positional.empty()) {
    const auto name = TextOr(&rest.positional[0], "");
    if (!name.ok()) return Value::MakeGenerator({}, name.status());
    test = *name;
    rest.positional.erase(rest.positional.begin());
  }
  return Generate(input, [&](const Value& item) -> absl::StatusOr<std::optional<Value>> {
    Value subject = item;
    if (by_attribute) {
      SHORTLIST_ASSIGN_OR_RETURN(subject, AtPath(item, attribute));
    }
    bool holds = subject.IsTrue();
    if (!test.empty()) {
      SHORTLIST_ASSIGN_OR_RETURN(holds, ApplyTest(test, subject, rest));
    }
    if (holds != wanted) return std::nullopt;
    return item;
  });
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

constexpr NamedFilter kSequenceFilters[] = {
    {"count", Length},
    {"dictsort", DictSort},
    {"first", Edge<false>},
    {"items", DictItems},
    {"join", JoinFilter},
    {"last", Edge<true>},
    {"length", Length},
    {"list", ToList},
    {"map", Map},
    {"max", Extreme<true>},
    {"min", Extreme<false>},
    {"reject", Select<false, false>},
    {"rejectattr", Select<false, true>},
    {"reverse", Reverse},
    {"select", Select<true, false>},
    {"selectattr", Select<true, true>},
    {"sort", Sort},
    {"sum", Sum},
    {"unique", Unique},
};

}  // namespace

std::span<const NamedFilter> SequenceFilters() { return kSequenceFilters; }

}  // namespace shortlist::jinja
