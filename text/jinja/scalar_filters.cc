#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/filter_groups.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_methods.h"

namespace shortlist::jinja {
namespace {

using Result = absl::StatusOr<Value>;

Result Default(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"default_value", "boolean"}));
  const bool keep = IsTrue(bound[1]) ? input.IsTrue() : !input.Is(Kind::kUndefined);
  if (keep) return input;
  return bound[0] != nullptr ? *bound[0] : Value(Text());
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

constexpr NamedFilter kScalarFilters[] = {
    {"abs", Abs},       {"d", Default}, {"default", Default},
    {"float", ToFloat}, {"int", ToInt}, {"round", Round},
};

}  // namespace

std::span<const NamedFilter> ScalarFilters() { return kScalarFilters; }

}  // namespace shortlist::jinja
