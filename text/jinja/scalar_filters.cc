#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/jinja/filter_groups.h"
#include "text/jinja/letter_case.h"
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

/// Returns a number's spelling without surrounding white space, with ASCII digits for those of any
/// script, and without the underscores that Python allows between digits. nullopt if an underscore
/// is elsewhere.
std::optional<std::string> NumberSpelling(const Text& text) {
  std::string ascii;
  for (size_t i = 0; i < text.bytes().size();) {
    const char32_t c = NextCodePoint(text.bytes(), i);
    const auto digit = DecimalDigit(c);
    AppendCodePoint(digit                     ? static_cast<char32_t>('0' + *digit)
                    : c >= 0x80 && IsSpace(c) ? U' '
                                              : c,
                    ascii);
  }
  absl::StripAsciiWhitespace(&ascii);
  const auto is_digit = [&](size_t i) { return i < ascii.size() && absl::ascii_isdigit(ascii[i]); };
  std::string spelling;
  for (size_t i = 0; i < ascii.size(); ++i) {
    if (ascii[i] != '_') {
      spelling.push_back(ascii[i]);
    } else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) {
      return std::nullopt;
    }
  }
  return spelling;
}

/// Python's float(text), for decimal spellings; infinite beyond the range of a double.
std::optional<double> ParseFloat(const Value& input) {
  if (!input.Is(Kind::kText)) return input.AsFloat();
  const auto spelling = NumberSpelling(input.text());
  double value = 0;
  // SimpleAtod also accepts C's "nan(...)" and "0x1p3".
  if (!spelling || spelling->find_first_of("(xX") != std::string::npos) return std::nullopt;
  return absl::SimpleAtod(*spelling, &value) ? std::optional(value) : std::nullopt;
}

/// Python's int(text): an optional sign and decimal digits; nullopt for anything else.
std::optional<absl::StatusOr<int64_t>> ParseInt(const Text& text) {
  const auto spelling = NumberSpelling(text);
  if (!spelling) return std::nullopt;
  std::string_view digits = *spelling;
  if (digits.starts_with('+') || digits.starts_with('-')) digits.remove_prefix(1);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit)) {
    return std::nullopt;
  }
  int64_t value = 0;
  if (!absl::SimpleAtoi(*spelling, &value)) return BeyondInt64();
  return value;
}

Result ToInt(const Value& input, const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"default"}));
  if (input.Is(Kind::kUndefined)) return absl::InvalidArgumentError(input.undefined_what());
  if (const auto value = input.AsInt()) return Value(*value);
  if (input.Is(Kind::kText)) {
    if (const auto value = ParseInt(input.text())) {
      SHORTLIST_RETURN_IF_ERROR(value->status());
      return Value(**value);
    }
  }
  const auto number = ParseFloat(input);
  // A text that spells an infinity is no integer; int() of an infinite float is an error.
  if (!number || std::isnan(*number) || (input.Is(Kind::kText) && std::isinf(*number))) {
    return bound[0] != nullptr ? *bound[0] : Value(int64_t{0});
  }
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (*number < -kTwoTo63 || *number >= kTwoTo63) return BeyondInt64();
  return Value(static_cast<int64_t>(*number));
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
  if (method == "common" && input.AsInt()) return Value(*input.AsInt());
  const double scale = std::pow(10.0, static_cast<double>(precision));
  if (method == "ceil") return Value(std::ceil(*value * scale) / scale);
  if (method == "floor") return Value(std::floor(*value * scale) / scale);
  if (method != "common") return absl::InvalidArgumentError("round: an unknown method");
  if (!std::isfinite(*value)) return input;
  // Like Python's round(): the correctly rounded decimal, ties to even.
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
  if (input.Is(Kind::kFloat)) return Value(std::abs(input.real()));
  if (*input.AsInt() < 0) return Negate(input);
  return input.Is(Kind::kBool) ? Value(*input.AsInt()) : input;
}

constexpr NamedFilter kScalarFilters[] = {
    {"abs", Abs},       {"d", Default}, {"default", Default},
    {"float", ToFloat}, {"int", ToInt}, {"round", Round},
};

}  // namespace

std::span<const NamedFilter> ScalarFilters() { return kScalarFilters; }

}  // namespace shortlist::jinja
