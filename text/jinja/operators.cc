#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/format.h"
#include "text/jinja/methods.h"
#include "text/jinja/text_methods.h"

namespace shortlist::jinja {
namespace {

constexpr const char* kSymbols[] = {
    "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "in", "not in"};

absl::Status Unsupported(Operator op, const Value& left, const Value& right) {
  for (const Value& value : {left, right}) {
    if (value.Is(Kind::kUndefined)) return absl::InvalidArgumentError(value.undefined_what());
  }
  return absl::InvalidArgumentError(absl::StrCat("'", left.TypeName(), "' ",
                                                 kSymbols[static_cast<int>(op)], " '",
                                                 right.TypeName(), "' is not possible"));
}

/// Python's float ** float. A power of an infinity or of NaN is that of C.
absl::StatusOr<Value> FloatPower(double base, double exponent) {
  const double result = std::pow(base, exponent);
  if (std::isfinite(result) || !std::isfinite(base) || !std::isfinite(exponent)) {
    return Value(result);
  }
  if (base == 0) return absl::InvalidArgumentError("division by zero: 0 to a negative power");
  if (std::isnan(result)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the power of ", base, " and ", exponent, " is a complex number"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the power of ", base, " and ", exponent, " is beyond the range of a float"));
}

absl::StatusOr<Value> IntegerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) return FloatPower(static_cast<double>(base), static_cast<double>(exponent));
  int64_t result = 1;
  while (exponent > 0) {
    if (exponent % 2 == 1 && __builtin_mul_overflow(result, base, &result)) return BeyondInt64();
    exponent /= 2;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return BeyondInt64();
  }
  return Value(result);
}

absl::StatusOr<Value> IntegerArithmetic(Operator op, int64_t left, int64_t right) {
  int64_t result = 0;
  switch (op) {
    case Operator::kAdd:
      if (__builtin_add_overflow(left, right, &result)) return BeyondInt64();
      return Value(result);
    case Operator::kSubtract:
      if (__builtin_sub_overflow(left, right, &result)) return BeyondInt64();
      return Value(result);
    case Operator::kMultiply:
      if (__builtin_mul_overflow(left, right, &result)) return BeyondInt64();
      return Value(result);
    case Operator::kPower:
      return IntegerPower(left, right);
    default:
      break;
  }
  if (right == 0) return absl::InvalidArgumentError("division by zero");
  if (op == Operator::kDivide) return Value(static_cast<double>(left) / static_cast<double>(right));
  if (right == -1)
    return IntegerArithmetic(Operator::kMultiply, op == Operator::kModulo ? 0 : left, -1);
  const bool round_down = left % right != 0 && (left < 0) != (right < 0);
  if (op == Operator::kFloorDivide) return Value(left / right - round_down);
  return Value(left % right + (round_down ? right : 0));
}

absl::StatusOr<Value> FloatArithmetic(Operator op, double left, double right) {
  switch (op) {
    case Operator::kAdd:
      return Value(left + right);
    case Operator::kSubtract:
      return Value(left - right);
    case Operator::kMultiply:
      return Value(left * right);
    case Operator::kPower:
      return FloatPower(left, right);
    default:
      break;
  }
  if (right == 0) return absl::InvalidArgumentError("division by zero");
  if (op == Operator::kDivide) return Value(left / right);
  if (op == Operator::kFloorDivide) return Value(std::floor(left / right));
  const double remainder = std::fmod(left, right);
  if (remainder == 0) return Value(std::copysign(0.0, right));
  return Value((remainder < 0) != (right < 0) ? remainder + right : remainder);
}

Value JoinTexts(const Text& left, const Text& right) {
  const bool is_safe = left.is_safe() || right.is_safe();
  Text joined = is_safe && !left.is_safe() ? EscapedForHtml(left) : left;
  joined.Append(is_safe && !right.is_safe() ? EscapedForHtml(right) : right);
  if (is_safe) joined.MarkSafe();
  return joined;
}

absl::StatusOr<Value> Repeat(const Value& value, int64_t times) {
  times = std::max(times, int64_t{0});
  const size_t size = std::max(static_cast<size_t>(value.own_bytes()), size_t{1});
  if (static_cast<uint64_t>(times) > kMaxTextBytes / size) {
    return absl::InvalidArgumentError(absl::StrCat("a ", value.TypeName(), " repeated ", times,
                                                   " times, above the bound of ",
                                                   kMaxTextBytes / size));
  }
  if (value.Is(Kind::kText)) {
    Text text, doubled = value.text();
    for (; times > 0; times /= 2) {
      if (times % 2 == 1) text.Append(doubled);
      if (times > 1) doubled.Append(Text(doubled));
    }
    return Value(std::move(text));
  }
  std::vector<Value> items;
  for (int64_t i = 0; i < times; ++i) {
    items.insert(items.end(), value.list().items.begin(), value.list().items.end());
  }
  return Value::MakeList(std::move(items), value.list().kind);
}

/// Returns the element at `index`, negative from the end; undefined if it is out of range.
Value ElementAt(const Value& value, int64_t index) {
  const Value outside =
      Value::MakeUndefined(absl::StrCat("no element ", index, " in a ", value.TypeName()));
  if (value.Is(Kind::kList)) {
    const auto& items = value.list().items;
    const auto length = static_cast<int64_t>(items.size());
    if (index < -length || index >= length) return outside;
    return items[static_cast<size_t>(index < 0 ? index + length : index)];
  }
  const std::string& bytes = value.bytes();
  if (index > static_cast<int64_t>(bytes.size()) || index < -static_cast<int64_t>(bytes.size()))
    return outside;
  size_t begin = index < 0 ? bytes.size() : 0;
  for (int64_t i = 0; i < index && begin < bytes.size(); ++i) NextCodePoint(bytes, begin);
  for (int64_t i = 0; i > index; --i) {
    if (begin == 0) return outside;
    begin = PreviousCodePoint(bytes, begin);
  }
  if (begin == bytes.size()) return outside;
  size_t end = begin;
  NextCodePoint(bytes, end);
  return value.text().Slice(begin, end);
}

Value MissingAttribute(const Value& value, std::string_view name) {
  return Value::MakeUndefined(
      absl::StrCat("a ", value.TypeName(), " has no '", std::string(name.substr(0, 80)), "' here"));
}

Value MethodOf(const Value& value, std::string_view name) {
  return std::make_shared<const Function>(Function{.name = std::string(name), .receiver = value});
}

absl::StatusOr<Value> LoopAttribute(const Value& value, std::string_view name) {
  const Loop& loop = value.loop();
  LoopItems& items = *loop.items;
  const auto index0 = static_cast<int64_t>(loop.index0);
  if (name == "index0") return index0;
  if (name == "index") return index0 + 1;
  if (name == "first") return index0 == 0;
  if (name == "last" || name == "nextitem") {
    SHORTLIST_ASSIGN_OR_RETURN(const bool has_next, items.Has(loop.index0 + 1));
    if (name == "last") return Value(!has_next);
    if (has_next) return items.values[loop.index0 + 1];
  }
  if (name == "length" || name == "revindex0" || name == "revindex") {
    SHORTLIST_ASSIGN_OR_RETURN(const size_t size, items.Count());
    const auto count = static_cast<int64_t>(size);
    if (name == "length") return Value(count);
    return Value(name == "revindex" ? count - index0 : count - 1 - index0);
  }
  if (name == "depth0") return int64_t{0};  // counts recursive loops, which are not supported
  if (name == "depth") return int64_t{1};
  if (name == "previtem" && index0 > 0) return items.values[loop.index0 - 1];
  if (name == "previtem" || name == "nextitem") {
    return Value::MakeUndefined(absl::StrCat("there is not a loop.", std::string(name)));
  }
  return MissingAttribute(value, name);
}

Value RangeAttribute(const Value& value, std::string_view name) {
  const auto [start, stop, step] = value.list().range;
  if (name == "start") return start;
  if (name == "stop") return stop;
  if (name == "step") return step;
  return MissingAttribute(value, name);
}

/// Attributes of an integer, a bool or a float.
Value NumberAttribute(const Value& value, std::string_view name) {
  const auto integer = value.AsInt();
  if (name == "real") return integer ? Value(*integer) : value;
  if (name == "imag") return integer ? Value(int64_t{0}) : Value(0.0);
  if (name == "numerator" && integer) return *integer;
  if (name == "denominator" && integer) return int64_t{1};
  return MissingAttribute(value, name);
}

absl::StatusOr<Value> MacroAttribute(const Value& value, std::string_view name) {
  const Statement& macro = *value.function().macro;
  if (name == "name") return Value(Text::FromTemplate(macro.name));
  if (name == "catch_varargs") return Value(macro.takes_more);
  if (name == "catch_kwargs") return Value(macro.takes_more_named);
  if (name == "arguments") {
    std::vector<Value> names;
    for (const std::string& parameter : macro.parameters) {
      names.emplace_back(Text::FromTemplate(parameter));
    }
    return Value::MakeList(std::move(names), ListKind::kTuple);
  }
  if (name == "caller" || name == "explicit_caller") {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(name), "' of a macro is not supported"));
  }
  return MissingAttribute(value, name);
}

}  // namespace

absl::Status BeyondInt64() { return absl::InvalidArgumentError("an integer beyond 64 bits"); }

absl::StatusOr<Value> Arithmetic(Operator op, const Value& left, const Value& right) {
  const auto left_int = left.AsInt(), right_int = right.AsInt();
  if (left_int && right_int) return IntegerArithmetic(op, *left_int, *right_int);
  const auto left_float = left.AsFloat(), right_float = right.AsFloat();
  if (left_float && right_float) return FloatArithmetic(op, *left_float, *right_float);
  if (op == Operator::kModulo && left.Is(Kind::kText)) return FormatPercent(left.text(), right);
  // A range and a view of a dictionary can be neither joined nor repeated.
  const auto is_list = [](const Value& value) {
    return value.Is(Kind::kList) && value.list().kind <= ListKind::kTuple;
  };
  const auto is_sequence = [&](const Value& value) {
    return value.Is(Kind::kText) || is_list(value);
  };
  if (op == Operator::kMultiply && is_sequence(left) && right_int) return Repeat(left, *right_int);
  if (op == Operator::kMultiply && is_sequence(right) && left_int) return Repeat(right, *left_int);
  if (op == Operator::kAdd && left.Is(Kind::kText) && right.Is(Kind::kText)) {
    return JoinTexts(left.text(), right.text());
  }
  if (op == Operator::kAdd && is_list(left) && is_list(right) &&
      left.list().kind == right.list().kind) {
    std::vector<Value> items = left.list().items;
    items.insert(items.end(), right.list().items.begin(), right.list().items.end());
    return Value::MakeList(std::move(items), left.list().kind);
  }
  return Unsupported(op, left, right);
}

absl::StatusOr<bool> Contains(const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kUndefined:
      return false;
    case Kind::kText:
      if (!item.Is(Kind::kText)) break;
      return Find(container.bytes(), item.bytes()) != std::string_view::npos;
    case Kind::kDict:
      if (item.Is(Kind::kDict) || (item.Is(Kind::kList) && item.list().kind == ListKind::kList)) {
        return absl::InvalidArgumentError(
            absl::StrCat("in: a ", item.TypeName(), " cannot be a key of a dict"));
      }
      return container.dict().FindKey(item) != nullptr;
    case Kind::kList: {
      const auto& items = container.list().items;
      return std::any_of(items.begin(), items.end(),
                         [&](const Value& v) { return Equal(v, item); });
    }
    case Kind::kGenerator:
      for (;;) {
        SHORTLIST_ASSIGN_OR_RETURN(const auto next, container.generator().Next());
        if (!next) return false;
        if (Equal(*next, item)) return true;
      }
    default:
      break;
  }
  return Unsupported(Operator::kIn, item, container);
}

absl::StatusOr<bool> Compare(Operator op, const Value& left, const Value& right) {
  switch (op) {
    case Operator::kEqual:
      return Equal(left, right);
    case Operator::kNotEqual:
      return !Equal(left, right);
    case Operator::kLess:
      return Less(left, right);
    case Operator::kGreater:
      return Less(right, left);
    case Operator::kLessEqual:
    case Operator::kGreaterEqual: {
      if (Equal(left, right) && !left.Is(Kind::kUndefined) && !left.Is(Kind::kNone)) return true;
      return op == Operator::kLessEqual ? Less(left, right) : Less(right, left);
    }
    case Operator::kIn:
      return Contains(right, left);
    default: {
      SHORTLIST_ASSIGN_OR_RETURN(const bool contains, Contains(right, left));
      return !contains;
    }
  }
}

absl::StatusOr<Value> Negate(const Value& value) {
  if (value.Is(Kind::kFloat)) return Value(-value.real());
  if (!value.AsInt()) return Unsupported(Operator::kSubtract, Value(int64_t{0}), value);
  return IntegerArithmetic(Operator::kSubtract, 0, *value.AsInt());
}

absl::StatusOr<Value> GetAttribute(const Value& value, std::string_view name) {
  if (value.Is(Kind::kUndefined)) return absl::InvalidArgumentError(value.undefined_what());
  if (name.starts_with("__")) return MissingAttribute(value, name);
  if (ChangesReceiver(value, name)) {
    return Value::MakeUndefined(absl::StrCat("'", std::string(name), "' would change a ",
                                             value.TypeName(), ", which no template may"));
  }
  if (HasMethod(value, name)) return MethodOf(value, name);
  if (value.Is(Kind::kText) && IsOtherTextMethod(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("method '", std::string(name), "' of a str is not supported"));
  }
  if (value.Is(Kind::kLoop)) return LoopAttribute(value, name);
  if (value.AsFloat()) return NumberAttribute(value, name);
  if (value.Is(Kind::kFunction) && value.function().macro != nullptr) {
    return MacroAttribute(value, name);
  }
  if (value.Is(Kind::kList) && value.list().kind == ListKind::kRange) {
    return RangeAttribute(value, name);
  }
  if (value.Is(Kind::kDict)) {
    if (const Value* found = value.dict().Find(name)) return *found;
  }
  if (value.Is(Kind::kNamespace)) {
    const auto& attributes = value.name_space().attributes;
    const auto found = attributes.find(std::string(name));
    if (found != attributes.end()) return found->second;
  }
  return MissingAttribute(value, name);
}

absl::StatusOr<Value> GetItem(const Value& value, const Value& key) {
  if (value.Is(Kind::kUndefined)) return absl::InvalidArgumentError(value.undefined_what());
  if (value.Is(Kind::kDict)) {
    if (const Value* found = value.dict().FindKey(key)) return *found;
  }
  if (key.Is(Kind::kText)) return GetAttribute(value, key.bytes());
  if (value.IsSequence() || value.Is(Kind::kText)) {
    if (const auto index = key.AsInt()) return ElementAt(value, *index);
  }
  return Value::MakeUndefined(
      absl::StrCat("a ", value.TypeName(), " has no element of key type ", key.TypeName()));
}

}  // namespace shortlist::jinja
