#include "grammar/json_schema_multiple.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxRemainderStates = 10'000;  // digits times remainders

/// Texts of the multiples of divisor / 10 ^ `num_fraction`: a state for each remainder and number
/// of digits left.
class RemainderTexts {
 public:
  RemainderTexts(Expressions& expressions, int64_t divisor, int num_fraction, bool integer)
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
    if (integer_) return e_.Choice(zero, Signed(positive));
    return Signed(e_.Choice(zero, positive));
  }

 private:
  ExprId Signed(ExprId digits) { return e_.Sequence(e_.Optional(e_.Text("-")), digits); }

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
    common.num_fraction = std::max(common.num_fraction, static_cast<int>(multiple.fraction.size()));
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

}  // namespace

absl::StatusOr<ExprId> MultipleTexts::Texts(const std::vector<Decimal>& multiples, int num_whole,
                                            bool all_digits, bool integer) {
  const auto divisor = CommonMultiple(multiples);
  const int64_t max_digits =
      divisor.has_value() ? kMaxRemainderStates / divisor->value - divisor->num_fraction : 0;
  if (max_digits < (all_digits ? num_whole : 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("needs more than ", kMaxRemainderStates, " states"));
  }
  const int num_digits = static_cast<int>(std::min<int64_t>(num_whole, max_digits));
  const Key key = {divisor->value, divisor->num_fraction, num_digits, integer};
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  constexpr int64_t kStepsOfState = 4;
  SHORTLIST_RETURN_IF_ERROR(
      document_.Spend(kStepsOfState * divisor->value * (num_digits + divisor->num_fraction)));
  RemainderTexts texts(expressions_, divisor->value, divisor->num_fraction, integer);
  return made_[key] = texts.Texts(num_digits);
}

}  // namespace shortlist
