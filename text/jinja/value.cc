#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"

namespace shortlist::jinja {
namespace {

/// Approximate memory of a value, without its text.
constexpr int64_t kBytesOfValue = 128;

/// Adds a child to a container's depth and bytes.
void Count(const Value& child, int& depth, int64_t& deep_bytes) {
  depth = std::max(depth, 1 + child.depth());
  deep_bytes = std::min(deep_bytes + child.deep_bytes(), kMaxValueBytes + 1);
}

absl::Status CheckBounds(int depth, int64_t deep_bytes) {
  if (depth > kMaxValueDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("a value nested deeper than ", kMaxValueDepth, " levels"));
  }
  if (deep_bytes > kMaxValueBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a value of more than ", kMaxValueBytes, " bytes"));
  }
  return absl::OkStatus();
}

const char* NameOf(ListKind kind) {
  switch (kind) {
    case ListKind::kList:
      return "list";
    case ListKind::kTuple:
      return "tuple";
    case ListKind::kRange:
      return "range";
    case ListKind::kKeys:
      return "dict_keys";
    case ListKind::kValues:
      return "dict_values";
    case ListKind::kItems:
      return "dict_items";
  }
  return "";
}

/// Returns how many entries of `a` are in `b`: by key, and if `with_values` with an equal value.
size_t NumShared(const Dict& a, const Dict& b, bool with_values) {
  const auto count = std::count_if(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
    const Value* other = b.FindKey(entry.first);
    return other != nullptr && (!with_values || Equal(entry.second, *other));
  });
  return static_cast<size_t>(count);
}

/// Compares two different lists. Views of keys and of items are sets; views of values are never
/// equal.
bool EqualLists(const List& a, const List& b) {
  if (a.kind != b.kind)
    return a.is_view() && b.is_view() && a.items.empty() && b.items.empty() &&
           a.kind != ListKind::kValues && b.kind != ListKind::kValues;
  if (a.kind == ListKind::kValues) return false;
  if (a.is_view()) {
    return a.items.size() == b.items.size() &&
           NumShared(a.dict.dict(), b.dict.dict(), a.kind == ListKind::kItems) == a.items.size();
  }
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), Equal);
}

/// True for lists that Python orders: both lists, both tuples, or both views of keys or of items.
bool HaveOrder(const List& a, const List& b) {
  return a.kind == b.kind && a.kind != ListKind::kRange && a.kind != ListKind::kValues;
}

absl::StatusOr<bool> LessList(const List& a, const List& b) {
  const auto &x = a.items, &y = b.items;
  if (a.is_view()) {
    return x.size() < y.size() &&
           NumShared(a.dict.dict(), b.dict.dict(), a.kind == ListKind::kItems) == x.size();
  }
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (!Equal(x[i], y[i])) return Less(x[i], y[i]);
  }
  return x.size() < y.size();
}

absl::StatusOr<Value> FromJsonAt(const nlohmann::ordered_json& json, int depth) {
  if (depth > kMaxValueDepth) return CheckBounds(depth, 0);
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{INT64_MAX}) {
    return absl::InvalidArgumentError(
        absl::StrCat("integer ", json.get<uint64_t>(), " above ", INT64_MAX));
  }
  if (json.is_number_integer()) return Value(json.get<int64_t>());
  if (json.is_number_float()) {
    const double number = json.get<double>();
    // An integer beyond 64 bits is parsed as a float: its digits are lost.
    if (std::abs(number) < 0x1p63 || number != std::floor(number)) return Value(number);
    return absl::InvalidArgumentError(
        absl::StrCat("number ", number, " of 2^63 or more, whose digits would be lost"));
  }
  if (json.is_string()) {
    const auto& bytes = json.get_ref<const std::string&>();
    if (const auto offset = FindInvalidUtf8(bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("text that is not valid UTF-8 at byte ", *offset));
    }
    Text text = Text::FromContent(bytes);
    if (text.too_long()) {
      return absl::InvalidArgumentError(
          absl::StrCat("text of ", bytes.size(), " bytes, above the bound of ", kMaxTextBytes));
    }
    return Value(std::move(text));
  }
  if (json.is_array()) {
    std::vector<Value> items;
    for (const auto& item : json) {
      SHORTLIST_ASSIGN_OR_RETURN(items.emplace_back(), FromJsonAt(item, depth + 1));
    }
    return Value::MakeList(std::move(items));
  }
  if (json.is_object()) {
    Dict dict;
    for (const auto& [key, item] : json.items()) {
      SHORTLIST_ASSIGN_OR_RETURN(Value name, FromJsonAt(nlohmann::ordered_json(key), depth + 1));
      SHORTLIST_ASSIGN_OR_RETURN(Value value, FromJsonAt(item, depth + 1));
      dict.Set(std::move(name), std::move(value));
    }
    return Value::MakeDict(std::move(dict));
  }
  return Value(None{});
}

}  // namespace

Value::Value(Text text) : data_(std::make_shared<const Text>(std::move(text))) {}

Value Value::MakeUndefined(std::string what) {
  return Undefined{std::make_shared<const std::string>(std::move(what))};
}

absl::StatusOr<Value> Value::Wrap(List list) {
  for (const Value& item : list.items) Count(item, list.depth, list.deep_bytes);
  SHORTLIST_RETURN_IF_ERROR(CheckBounds(list.depth, list.deep_bytes));
  Value value;
  value.data_ = std::make_shared<const List>(std::move(list));
  return value;
}

absl::StatusOr<Value> Value::MakeList(std::vector<Value> items, ListKind kind) {
  return Wrap(List{.items = std::move(items), .kind = kind});
}

absl::StatusOr<Value> Value::MakeRange(std::vector<Value> items, int64_t start, int64_t stop,
                                       int64_t step) {
  return Wrap(
      List{.items = std::move(items), .kind = ListKind::kRange, .range = {start, stop, step}});
}

absl::StatusOr<Value> Value::MakeView(const Value& dict, ListKind kind) {
  List list{.kind = kind, .dict = dict};
  for (const auto& [key, value] : dict.dict().entries) {
    if (kind == ListKind::kItems) {
      SHORTLIST_ASSIGN_OR_RETURN(list.items.emplace_back(),
                                 MakeList({key, value}, ListKind::kTuple));
    } else {
      list.items.push_back(kind == ListKind::kKeys ? key : value);
    }
  }
  return Wrap(std::move(list));
}

bool Value::IsSequence() const { return Is(Kind::kList) && !list().is_view(); }

absl::StatusOr<Value> Value::MakeDict(Dict dict) {
  for (const auto& [key, item] : dict.entries) {
    Count(key, dict.depth, dict.deep_bytes);
    Count(item, dict.depth, dict.deep_bytes);
  }
  SHORTLIST_RETURN_IF_ERROR(CheckBounds(dict.depth, dict.deep_bytes));
  Value value;
  value.data_ = std::make_shared<const Dict>(std::move(dict));
  return value;
}

absl::StatusOr<Value> Value::MakeGenerator(std::vector<Value> items, absl::Status end,
                                           const char* type) {
  auto generator = std::make_shared<Generator>(
      Generator{.items = std::move(items), .end = std::move(end), .type = type});
  for (const Value& item : generator->items) Count(item, generator->depth, generator->deep_bytes);
  SHORTLIST_RETURN_IF_ERROR(CheckBounds(generator->depth, generator->deep_bytes));
  return Value(std::move(generator));
}

std::optional<int64_t> Value::AsInt() const {
  if (Is(Kind::kBool)) return boolean();
  if (Is(Kind::kInt)) return integer();
  return std::nullopt;
}

std::optional<double> Value::AsFloat() const {
  if (Is(Kind::kFloat)) return real();
  if (const auto value = AsInt()) return static_cast<double>(*value);
  return std::nullopt;
}

bool Value::IsTrue() const {
  switch (kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return boolean();
    case Kind::kInt:
      return integer() != 0;
    case Kind::kFloat:
      return real() != 0;
    case Kind::kText:
      return !bytes().empty();
    case Kind::kList:
      return !list().items.empty();
    case Kind::kDict:
      return !dict().entries.empty();
    case Kind::kNamespace:
    case Kind::kLoop:
    case Kind::kFunction:
    case Kind::kGenerator:
      return true;
  }
  return false;
}

const char* Value::TypeName() const {
  switch (kind()) {
    case Kind::kUndefined:
      return "undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kText:
      return "str";
    case Kind::kList:
      return NameOf(list().kind);
    case Kind::kDict:
      return "dict";
    case Kind::kNamespace:
      return "namespace";
    case Kind::kLoop:
      return "loop";
    case Kind::kFunction:
      return "function";
    case Kind::kGenerator:
      return generator().type;
  }
  return "";
}

int Value::depth() const {
  if (Is(Kind::kList)) return list().depth;
  if (Is(Kind::kDict)) return dict().depth;
  if (Is(Kind::kFunction)) return 1 + function().receiver.depth();
  if (Is(Kind::kGenerator)) return generator().depth;
  return 0;
}

int64_t Value::deep_bytes() const {
  if (Is(Kind::kText)) return kBytesOfValue + own_bytes();
  if (Is(Kind::kList)) return kBytesOfValue + list().deep_bytes;
  if (Is(Kind::kDict)) return kBytesOfValue + dict().deep_bytes;
  if (Is(Kind::kFunction)) return kBytesOfValue + function().receiver.deep_bytes();
  if (Is(Kind::kGenerator)) return kBytesOfValue + generator().deep_bytes;
  return kBytesOfValue;
}

int64_t Value::own_bytes() const {
  if (Is(Kind::kText)) return static_cast<int64_t>(bytes().size());
  if (Is(Kind::kList)) return static_cast<int64_t>(list().items.size() * sizeof(Value));
  if (Is(Kind::kDict)) return static_cast<int64_t>(dict().entries.size()) * kBytesOfValue;
  if (Is(Kind::kGenerator)) return static_cast<int64_t>(generator().items.size() * sizeof(Value));
  return 0;
}

const void* Value::address() const {
  switch (kind()) {
    case Kind::kText:
      return &text();
    case Kind::kList:
      return &list();
    case Kind::kDict:
      return &dict();
    case Kind::kNamespace:
      return &name_space();
    case Kind::kLoop:
      return &loop();
    case Kind::kFunction:
      return &function();
    case Kind::kGenerator:
      return &generator();
    default:
      return this;
  }
}

const Value* Dict::Find(std::string_view key) const {
  const auto found = index.find(key);
  return found == index.end() ? nullptr : &entries[found->second].second;
}

const Value* Dict::FindKey(const Value& key) const {
  if (key.Is(Kind::kText)) return Find(key.bytes());
  for (const auto& [name, value] : entries) {
    if (Equal(name, key)) return &value;
  }
  return nullptr;
}

void Dict::Set(Value key, Value value) {
  if (const Value* found = FindKey(key); found != nullptr) {
    const auto entry = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto& e) { return &e.second == found; });
    entry->second = std::move(value);
    return;
  }
  entries.emplace_back(std::move(key), std::move(value));
  const Value& name = entries.back().first;
  if (name.Is(Kind::kText)) index.emplace(name.bytes(), entries.size() - 1);
}

absl::Status CheckLength(const Text& text) {
  if (!text.too_long()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a text longer than ", kMaxTextBytes, " bytes"));
}

bool Equal(const Value& a, const Value& b) {
  if (const auto x = a.AsFloat(), y = b.AsFloat(); x && y) {
    if (a.AsInt() && b.AsInt()) return *a.AsInt() == *b.AsInt();
    return *x == *y;
  }
  if (a.kind() != b.kind()) return false;
  if (a.SameObject(b)) return true;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kText:
      return a.bytes() == b.bytes();
    case Kind::kList:
      return EqualLists(a.list(), b.list());
    case Kind::kDict:
      return a.dict().entries.size() == b.dict().entries.size() &&
             NumShared(a.dict(), b.dict(), /*with_values=*/true) == a.dict().entries.size();
    default:
      return false;
  }
}

absl::StatusOr<bool> Less(const Value& a, const Value& b) {
  if (const auto x = a.AsFloat(), y = b.AsFloat(); x && y) {
    if (a.AsInt() && b.AsInt()) return *a.AsInt() < *b.AsInt();
    return *x < *y;
  }
  if (a.Is(Kind::kText) && b.Is(Kind::kText)) return a.bytes() < b.bytes();
  if (a.Is(Kind::kList) && b.Is(Kind::kList) && HaveOrder(a.list(), b.list())) {
    return LessList(a.list(), b.list());
  }
  for (const Value& value : {a, b}) {
    if (value.Is(Kind::kUndefined)) return absl::InvalidArgumentError(value.undefined_what());
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no order between '", a.TypeName(), "' and '", b.TypeName(), "'"));
}

absl::StatusOr<Value> FromJson(const nlohmann::ordered_json& json) {
  return FromJsonAt(json, /*depth=*/0);
}

}  // namespace shortlist::jinja
