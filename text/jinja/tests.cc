#include "text/jinja/tests.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/text_methods.h"

namespace shortlist::jinja {
namespace {

/// Tests without arguments.
std::optional<bool> PlainTest(std::string_view name, const Value& input) {
  const Kind kind = input.kind();
  const bool is_iterable = kind == Kind::kText || kind == Kind::kList || kind == Kind::kDict ||
                           kind == Kind::kUndefined || kind == Kind::kGenerator;
  if (name == "defined") return kind != Kind::kUndefined;
  if (name == "undefined") return kind == Kind::kUndefined;
  if (name == "none") return kind == Kind::kNone;
  if (name == "string") return kind == Kind::kText;
  if (name == "mapping") return kind == Kind::kDict;
  if (name == "iterable") return is_iterable;
  if (name == "sequence") {
    return is_iterable && kind != Kind::kGenerator && (kind != Kind::kList || input.IsSequence());
  }
  if (name == "number") return input.AsFloat().has_value();
  if (name == "integer") return kind == Kind::kInt;
  if (name == "float") return kind == Kind::kFloat;
  if (name == "boolean") return kind == Kind::kBool;
  if (name == "true") return kind == Kind::kBool && input.boolean();
  if (name == "false") return kind == Kind::kBool && !input.boolean();
  if (name == "callable") return kind == Kind::kFunction || kind == Kind::kUndefined;
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

/// Python's `is`, except for numbers and texts, which are the same if they are equal and of one
/// type. Python too shares one object for many texts and small integers, but not for all.
bool Same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kNone:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kText:
      return Equal(a, b);
    default:
      return a.SameObject(b);
  }
}

}  // namespace

bool HasTest(std::string_view name) {
  return PlainTest(name, Value()) || ComparingTest(name) || name == "odd" || name == "even" ||
         name == "lower" || name == "upper" || name == "divisibleby" || name == "sameas";
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
    return HasOneCase(text, name == "upper");
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
