#include "grammar/json_schema_number.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "grammar/json_text.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

/// Decimals of at most so many digits read as different doubles if they differ.
constexpr int kDistinctDigits = std::numeric_limits<double>::digits10;
constexpr int64_t kMaxRemainderStates = 10'000;  // digits times remainders

int Size(const std::string& text) { return static_cast<int>(text.size()); }

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

/// Texts of the multiples of divisor / 10 ^ `num_fraction`: a state for each remainder and number
/// of digits left.
class MultipleTexts {
 public:
  MultipleTexts(Expressions& expressions, int64_t divisor, int num_fraction, bool integer)
      : e_(expressions), divisor_(divisor), num_fraction_(num_fraction), integer_(integer) {}

  ExprId Texts(int num_whole) {
    for (int i = 0; i <= num_fraction_; ++i) fractions_.push_back(NextLevel(fractions_, i));
    std::vector<std::vector<ExprId>> wholes;
    for (int i = 0; i < num_whole; ++i) {
      wholes.push_back(std::vector<ExprId>(divisor_));
      for (int64_t r = 0; r < divisor_; ++r) {
        const ExprId more = i == 0 ? e_.Nothing() : Step(wholes[i - 1], r, 0);
        wholes[i][r] = e_.Choice(EndOfWhole(r), more);
      }
    }
    const ExprId positive = Step(wholes.back(), 0, 1);
    const ExprId zero = e_.Sequence(e_.Text("0"), EndOfWhole(0));
    if (integer_) return e_.Choice(zero, Signed(e_, positive));
    return Signed(e_, e_.Choice(zero, positive));
  }

 private:
  /// One more digit, from `least` on, then what `next` says of the new remainder.
  ExprId Step(const std::vector<ExprId>& next, int64_t remainder, int least) {
    std::map<ExprId, ByteSet> digits_of;
    for (int digit = least; digit < 10; ++digit) {
      digits_of[next[(remainder * 10 + digit) % divisor_]].Add(static_cast<uint8_t>('0' + digit));
    }
    std::vector<ExprId> options;
    for (const auto& [rest, digits] : digits_of) {
      options.push_back(e_.Sequence(e_.Bytes(digits), rest));
    }
    return e_.Choice(options);
  }

  /// True if `num_zeros` zeros after the digits read so far make a multiple.
  bool IsMultiple(int64_t remainder, int num_zeros) const {
    for (int i = 0; i < num_zeros; ++i) remainder = remainder * 10 % divisor_;
    return remainder == 0;
  }

  /// Of each remainder: the rest of a fraction, if at most `num_left` digits may follow.
  std::vector<ExprId> NextLevel(const std::vector<std::vector<ExprId>>& levels, int num_left) {
    std::vector<ExprId> level(divisor_);
    for (int64_t r = 0; r < divisor_; ++r) {
      const ExprId end = IsMultiple(r, num_left) ? e_.Empty() : e_.Nothing();
      level[r] = num_left == 0 ? end : e_.Choice(end, Step(levels[num_left - 1], r, 0));
    }
    return level;
  }

  ExprId EndOfWhole(int64_t remainder) {
    const ExprId end = IsMultiple(remainder, num_fraction_) ? e_.Empty() : e_.Nothing();
    if (integer_ || num_fraction_ == 0) return end;
    const ExprId fraction = Step(fractions_[num_fraction_ - 1], remainder, 0);
    return e_.Choice(end, e_.Sequence(e_.Text("."), fraction));
  }

  Expressions& e_;
  const int64_t divisor_;
  const int num_fraction_;
  const bool integer_;
  std::vector<std::vector<ExprId>> fractions_;  // [digits left][remainder]
};

/// `value` / 10 ^ `num_fraction`.
struct Divisor {
  int64_t value = 1;
  int num_fraction = 0;
};

/// Returns the least common multiple of `multiples`; nullopt if its value exceeds
/// kMaxRemainderStates.
std::optional<Divisor> CommonMultiple(const std::vector<Decimal>& multiples) {
  constexpr size_t kMaxDigits = 17;
  Divisor common;
  for (const Decimal& multiple : multiples) {
    common.num_fraction = std::max(common.num_fraction, Size(multiple.fraction));
  }
  for (const Decimal& multiple : multiples) {
    std::string digits = multiple.whole + multiple.fraction;
    digits.append(common.num_fraction - multiple.fraction.size(), '0');
    if (digits.size() > kMaxDigits) return std::nullopt;
    const int64_t value = std::atoll(digits.c_str());
    const int64_t factor = value / std::gcd(common.value, value);
    if (factor > kMaxRemainderStates / common.value) return std::nullopt;
    common.value *= factor;
  }
  return common;
}

/// Returns the multiples of all of `multiples` with at most `num_whole` digits before the point,
/// or fewer if there are too many states and not `all_digits`.
absl::StatusOr<ExprId> Multiples(Expressions& e, const std::vector<Decimal>& multiples,
                                 int num_whole, bool all_digits, bool integer) {
  const auto divisor = CommonMultiple(multiples);
  const int64_t max_digits =
      divisor.has_value() ? kMaxRemainderStates / divisor->value - divisor->num_fraction : 0;
  if (max_digits < (all_digits ? num_whole : 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("needs more than ", kMaxRemainderStates, " states"));
  }
  return MultipleTexts(e, divisor->value, divisor->num_fraction, integer)
      .Texts(static_cast<int>(std::min<int64_t>(num_whole, max_digits)));
}

}  // namespace

Decimal DecimalOf(const ordered_json& number, bool away_from_zero) {
  ordered_json exact = number;
  constexpr double kImprecise = 9223372036854775808.0;
  if (number.is_number_float() && std::abs(number.get<double>()) >= kImprecise) {
    const double value = number.get<double>();
    const double infinity = std::copysign(std::numeric_limits<double>::infinity(), value);
    const double next = std::nextafter(value, away_from_zero ? infinity : 0.0);
    if (std::isfinite(next)) exact = next;
  }
  std::string text = exact.dump();
  Decimal decimal;
  decimal.negative = text.starts_with('-');
  if (decimal.negative) text.erase(0, 1);
  const size_t e = text.find('e');
  const int exponent = e == text.npos ? 0 : std::atoi(text.c_str() + e + 1);
  text.resize(std::min(e, text.size()));
  const size_t point = std::min(text.find('.'), text.size());
  std::string digits = text.substr(0, point);
  if (point < text.size()) digits += text.substr(point + 1);
  int num_whole = static_cast<int>(point) + exponent;
  if (num_whole <= 0) {
    digits.insert(0, 1 - num_whole, '0');
    num_whole = 1;
  }
  if (num_whole > Size(digits)) digits.append(num_whole - digits.size(), '0');
  decimal.whole = digits.substr(0, num_whole);
  decimal.fraction = digits.substr(num_whole);
  decimal.whole.erase(0, std::min(decimal.whole.find_first_not_of('0'), decimal.whole.size() - 1));
  decimal.fraction.erase(decimal.fraction.find_last_not_of('0') + 1);
  if (decimal.whole == "0" && decimal.fraction.empty()) decimal.negative = false;
  return decimal;
}

std::strong_ordering Compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative)
    return a.negative ? std::strong_ordering::less : std::strong_ordering::greater;
  const Decimal& low = a.negative ? b : a;
  const Decimal& high = a.negative ? a : b;
  if (low.whole.size() != high.whole.size()) return low.whole.size() <=> high.whole.size();
  if (low.whole != high.whole) return low.whole <=> high.whole;
  return low.fraction <=> high.fraction;
}

std::optional<bool> IsMultiple(const Decimal& number, const Decimal& divisor) {
  const std::string digits = divisor.whole + divisor.fraction;
  if (digits.size() > 17 || divisor.negative) return std::nullopt;
  const int64_t modulus = std::atoll(digits.c_str());
  if (modulus == 0) return std::nullopt;
  if (number.fraction.size() > divisor.fraction.size()) return false;
  int64_t remainder = 0;
  const std::string zeros(divisor.fraction.size() - number.fraction.size(), '0');
  for (const char digit : number.whole + number.fraction + zeros) {
    remainder = (remainder * 10 + (digit - '0')) % modulus;
  }
  return remainder == 0;
}

absl::StatusOr<ExprId> NumberTexts(Expressions& expressions, const NumberLimits& limits) {
  int num_whole = 1, num_fraction = 0;  // digits of the bounds
  for (const auto* bounds : {&limits.minimums, &limits.maximums}) {
    for (const NumberBound& bound : *bounds) {
      num_whole = std::max(num_whole, Size(bound.value.whole));
      num_fraction = std::max(num_fraction, Size(bound.value.fraction));
    }
  }
  num_fraction = std::max(num_fraction, kDistinctDigits - num_whole);
  const bool closed = !limits.minimums.empty() && !limits.maximums.empty();
  if (!closed) num_whole = std::max(num_whole + 1, JsonText::kMaxDigits);
  const bool integer = limits.types == kIntegerType;
  ExprId texts = Shape(expressions, num_whole, num_fraction, integer);
  if (limits.types == kFractionType) {
    texts = expressions.Both(texts, Signed(expressions, DigitTexts(expressions).Fractions()));
  }
  if (!limits.multiples.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(const ExprId multiples, Multiples(expressions, limits.multiples,
                                                                 num_whole, closed, integer));
    texts = expressions.Both(texts, multiples);
  }
  for (const NumberBound& bound : limits.minimums) {
    texts = expressions.Both(texts, AtLeast(expressions, bound));
  }
  for (const NumberBound& bound : limits.maximums) {
    texts = expressions.Both(texts, AtMost(expressions, bound));
  }
  return texts;
}

}  // namespace shortlist
