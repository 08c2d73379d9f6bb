#include "grammar/json_schema_number.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status_macros.h"
#include "grammar/decimal.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

/// Decimals of at most so many digits read as different doubles if they differ.
constexpr int kDistinctDigits = std::numeric_limits<double>::digits10;

int Size(const std::string& text) { return static_cast<int>(text.size()); }

struct NumberBound {
  Decimal value;
  bool exclusive = false;
};

/// What schemas say about a number. All of it must hold.
struct NumberLimits {
  std::optional<NumberBound> minimum, maximum;  // the narrowest
  std::vector<Decimal> multiples;               // each above zero

  bool empty() const { return !minimum && !maximum && multiples.empty(); }
};

/// Builds sets of non-negative decimal texts, whose number of digits is not limited.
class DigitTexts {
 public:
  explicit DigitTexts(Expressions& expressions) : e_(expressions) {
    digit_ = e_.Bytes(ByteSet::Range('0', '9'));
    any_fraction_ = e_.Optional(e_.Sequence(e_.Text("."), e_.Repeat(digit_, 1, kNoLimit)));
  }

  /// The numbers above `bound`'s magnitude, or at least that.
  ExprId Above(const Decimal& bound, bool exclusive) {
    const std::string& whole = bound.whole;
    std::vector<ExprId> options = {
        Sequence({Digit('1', '9'), e_.Repeat(digit_, Size(whole), kNoLimit), any_fraction_}),
        e_.Sequence(e_.Text(whole), FractionAbove(bound.fraction, exclusive))};
    for (int i = 0; i < Size(whole); ++i) {
      options.push_back(Branch(whole, i, static_cast<char>(whole[i] + 1), '9'));
    }
    return e_.Choice(options);
  }

  /// The numbers below `bound`'s magnitude, or at most that.
  ExprId Below(const Decimal& bound, bool exclusive) {
    const std::string& whole = bound.whole;
    std::vector<ExprId> options = {
        e_.Sequence(e_.Text(whole), FractionBelow(bound.fraction, exclusive))};
    if (whole.size() > 1) {
      options.push_back(e_.Sequence(e_.Text("0"), any_fraction_));
      options.push_back(
          Sequence({Digit('1', '9'), e_.Repeat(digit_, 0, Size(whole) - 2), any_fraction_}));
    }
    for (int i = 0; i < Size(whole); ++i) {
      const char least = i == 0 && whole.size() > 1 ? '1' : '0';
      options.push_back(Branch(whole, i, least, static_cast<char>(whole[i] - 1)));
    }
    return e_.Choice(options);
  }

  ExprId Any() { return Above(Decimal{false, "0", ""}, /*exclusive=*/false); }
  /// The numbers whose fraction is not zero.
  ExprId Fractions() {
    return Sequence({e_.Repeat(digit_, 1, kNoLimit), e_.Text("."), NonZeroDigits()});
  }
  ExprId AboveZero() { return Above(Decimal{false, "0", ""}, /*exclusive=*/true); }

 private:
  static constexpr int64_t kNoLimit = Expressions::kNoLimit;

  ExprId Sequence(std::initializer_list<ExprId> parts) {
    return e_.Sequence(std::span<const ExprId>(parts.begin(), parts.size()));
  }
  /// Nothing() if first > last.
  ExprId Digit(char first, char last) {
    return e_.Bytes(ByteSet::Range(static_cast<uint8_t>(first), static_cast<uint8_t>(last)));
  }
  ExprId AnyDigits() { return e_.Repeat(digit_, 0, kNoLimit); }
  ExprId Zeros(int64_t min) { return e_.Repeat(e_.Text("0"), min, kNoLimit); }
  ExprId NonZeroDigits() { return Sequence({Zeros(0), Digit('1', '9'), AnyDigits()}); }

  /// The numbers with as many whole digits as `whole` that leave it at digit `i`.
  ExprId Branch(const std::string& whole, int i, char first, char last) {
    const int num_left = Size(whole) - i - 1;
    return Sequence({e_.Text(whole.substr(0, i)), Digit(first, last),
                     e_.Repeat(digit_, num_left, num_left), any_fraction_});
  }

  /// The ends of a number (point and digits, or nothing) above `fraction`, or at least that.
  ExprId FractionAbove(const std::string& fraction, bool exclusive) {
    if (fraction.empty() && !exclusive) return any_fraction_;
    std::vector<ExprId> options = {
        e_.Sequence(e_.Text(fraction), exclusive ? NonZeroDigits() : AnyDigits())};
    for (int i = 0; i < Size(fraction); ++i) {
      options.push_back(Sequence({e_.Text(fraction.substr(0, i)),
                                  Digit(static_cast<char>(fraction[i] + 1), '9'), AnyDigits()}));
    }
    return e_.Sequence(e_.Text("."), e_.Choice(options));
  }

  ExprId FractionBelow(const std::string& fraction, bool exclusive) {
    if (fraction.empty()) {
      return exclusive ? e_.Nothing() : e_.Optional(e_.Sequence(e_.Text("."), Zeros(1)));
    }
    std::vector<ExprId> options;
    for (int i = 0; i < Size(fraction); ++i) {
      const ExprId prefix = e_.Text(fraction.substr(0, i));
      if (i > 0) options.push_back(prefix);
      options.push_back(
          Sequence({prefix, Digit('0', static_cast<char>(fraction[i] - 1)), AnyDigits()}));
    }
    if (!exclusive) options.push_back(e_.Sequence(e_.Text(fraction), Zeros(0)));
    return e_.Optional(e_.Sequence(e_.Text("."), e_.Choice(options)));
  }

  Expressions& e_;
  ExprId digit_, any_fraction_;
};

/// The numbers that `digits` (texts without a sign) and a sign allow; -0 and 0 both count as 0.
ExprId Signed(Expressions& e, ExprId digits) { return e.Sequence(e.Optional(e.Text("-")), digits); }

ExprId AtLeast(Expressions& e, const NumberBound& bound) {
  DigitTexts digits(e);
  if (!bound.value.negative) return digits.Above(bound.value, bound.exclusive);
  const ExprId magnitude = e.Both(digits.Below(bound.value, bound.exclusive), digits.AboveZero());
  return e.Choice(digits.Any(), e.Sequence(e.Text("-"), magnitude));
}

ExprId AtMost(Expressions& e, const NumberBound& bound) {
  DigitTexts digits(e);
  if (bound.value.negative) {
    return e.Sequence(e.Text("-"), digits.Above(bound.value, bound.exclusive));
  }
  return e.Choice(digits.Below(bound.value, bound.exclusive),
                  e.Sequence(e.Text("-"), digits.AboveZero()));
}

/// Texts of at most `num_whole` digits before the point and `num_fraction` after it.
ExprId Shape(Expressions& e, int num_whole, int num_fraction, bool integer) {
  const ExprId digit = e.Bytes(ByteSet::Range('0', '9'));
  const ExprId positive =
      e.Sequence(e.Bytes(ByteSet::Range('1', '9')), e.Repeat(digit, 0, num_whole - 1));
  if (integer) return e.Choice(e.Text("0"), Signed(e, positive));
  const ExprId whole = e.Choice(e.Text("0"), positive);
  if (num_fraction == 0) return Signed(e, whole);
  const ExprId fraction = e.Sequence(e.Text("."), e.Repeat(digit, 1, num_fraction));
  return Signed(e, e.Sequence(whole, e.Optional(fraction)));
}

/// Sets `bound` to `other` if that is narrower, or if there is none.
void Narrow(bool is_minimum, const NumberBound& other, std::optional<NumberBound>& bound) {
  if (!bound.has_value()) {
    bound = other;
    return;
  }
  const auto order = Compare(other.value, bound->value);
  if (order == 0) {
    bound->exclusive |= other.exclusive;
  } else if (is_minimum == (order > 0)) {
    bound = other;
  }
}

/// How to read a bound that is not exact: so that it allows less, or more.
enum class Rounding { kInward, kOutward };

absl::StatusOr<NumberLimits> ReadLimits(const SchemaDocument& document, const Conjunction& parts,
                                        Rounding rounding) {
  NumberLimits limits;
  for (const Schema part : parts) {
    for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
      SHORTLIST_ASSIGN_OR_RETURN(const Schema number, NumberOf(document, part, keyword));
      if (number == nullptr) continue;
      const bool is_minimum = std::string_view(keyword).ends_with("inimum");
      const bool up = is_minimum == (rounding == Rounding::kInward);
      Narrow(is_minimum,
             {BoundOf(*number, up), /*exclusive=*/std::string_view(keyword).starts_with("excl")},
             is_minimum ? limits.minimum : limits.maximum);
    }
    SHORTLIST_ASSIGN_OR_RETURN(const Schema multiple, NumberOf(document, part, "multipleOf"));
    if (multiple == nullptr) continue;
    if (multiple->get<double>() <= 0) return document.Error(part, "multipleOf", "not above 0");
    limits.multiples.push_back(DecimalOf(*multiple));
  }
  return limits;
}

}  // namespace

absl::StatusOr<ExprId> SchemaNumbers::Numbers(const Conjunction& parts, JsonTypes types) {
  SHORTLIST_ASSIGN_OR_RETURN(const NumberLimits limits,
                             ReadLimits(document_, parts, Rounding::kInward));
  types &= kNumberType;
  const bool integer = types == kIntegerType;
  if (limits.empty() && types != kFractionType) return integer ? text_.Integer() : text_.Number();
  int num_whole = 1, num_fraction = 0;  // digits of the bounds
  for (const auto* bound : {&limits.minimum, &limits.maximum}) {
    if (!bound->has_value()) continue;
    num_whole = std::max(num_whole, Size((*bound)->value.whole));
    num_fraction = std::max(num_fraction, Size((*bound)->value.fraction));
  }
  const int64_t num_digits = num_whole + num_fraction;  // each leaves the bound in a branch
  SHORTLIST_RETURN_IF_ERROR(document_.Spend(num_digits * num_digits / 32));
  num_fraction = std::max(num_fraction, kDistinctDigits - num_whole);
  const bool closed = limits.minimum.has_value() && limits.maximum.has_value();
  if (!closed) num_whole = std::max(num_whole + 1, JsonText::kMaxDigits);
  ExprId texts = Shape(expressions_, num_whole, num_fraction, integer);
  if (types == kFractionType) {
    texts = expressions_.Both(texts, Signed(expressions_, DigitTexts(expressions_).Fractions()));
  }
  if (!limits.multiples.empty()) {
    const auto multiples = multiples_.Texts(limits.multiples, num_whole, closed, integer);
    if (!multiples.ok()) {
      return document_.Error(PartWith(parts, "multipleOf"), "multipleOf",
                             std::string(multiples.status().message()));
    }
    texts = expressions_.Both(texts, *multiples);
  }
  if (limits.minimum) texts = expressions_.Both(texts, AtLeast(expressions_, *limits.minimum));
  if (limits.maximum) texts = expressions_.Both(texts, AtMost(expressions_, *limits.maximum));
  return texts;
}

bool SchemaNumbers::HasNone(const Conjunction& parts, JsonTypes types) const {
  const auto limits = ReadLimits(document_, parts, Rounding::kOutward);
  if (!limits.ok() || !limits->minimum.has_value() || !limits->maximum.has_value()) return false;
  const NumberBound& low = *limits->minimum;
  const NumberBound& high = *limits->maximum;
  if ((types & kIntegerType) != 0) {
    const Decimal first = NearestInteger(low.value, /*up=*/true, low.exclusive);
    const Decimal last = NearestInteger(high.value, /*up=*/false, high.exclusive);
    if (Compare(first, last) <= 0) return false;
  }
  if ((types & kFractionType) == 0) return true;
  const auto order = Compare(low.value, high.value);
  if (order == 0) return low.value.fraction.empty() || low.exclusive || high.exclusive;
  return order > 0;
}

}  // namespace shortlist
