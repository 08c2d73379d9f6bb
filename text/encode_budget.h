#ifndef SHORTLIST_TEXT_ENCODE_BUDGET_H_
#define SHORTLIST_TEXT_ENCODE_BUDGET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shortlist {

/// What one Encode call may still use: ids, bytes written by normaliser and pre-tokenizer, and
/// processor time. Used by one thread.
class EncodeBudget {
 public:
  /// No normal form and no ordinary chain of steps grows a text by a larger factor (U+FDFA in NFKC
  /// becomes 11 times as long). Any text may grow to kMinRewrittenBytes.
  static constexpr size_t kMaxGrowth = 16;
  static constexpr size_t kMinRewrittenBytes = size_t{64} << 10;
  static constexpr size_t kMaxRewrittenBytes = size_t{64} << 20;

  /// Processor time of a call: far more than any ordinary tokenizer takes.
  static constexpr int64_t kMinTimeMs = 1000;
  static constexpr int64_t kTimeMsPerMib = 4000;

  /// Budget for a text of `text_bytes`. `max_ids`: maximum number of ids in all. `max_tokens`: the
  /// limit that error messages name.
  EncodeBudget(size_t text_bytes, size_t max_ids, int64_t max_tokens)
      : max_ids_(max_ids),
        max_tokens_(max_tokens),
        text_bytes_(text_bytes),
        rewritten_bytes_(
            std::min(kMaxRewrittenBytes,
                     std::min(text_bytes, kMaxRewrittenBytes) * kMaxGrowth + kMinRewrittenBytes)) {}

  size_t max_ids() const { return max_ids_; }

  /// Returns OutOfRange if `num_ids`, the number of ids so far or a lower bound, exceeds max_ids().
  absl::Status CheckIds(size_t num_ids) const {
    if (num_ids <= max_ids_) return absl::OkStatus();
    return absl::OutOfRangeError(absl::StrCat("more than ", max_tokens_, " tokens"));
  }

  /// Like CheckIds(), for `num_ids` ids followed by a text of `num_bytes`. An id stands for at most
  /// `bytes_per_id` bytes (at least 1; nullopt: unbounded, always OK).
  absl::Status CheckBytes(size_t num_ids, size_t num_bytes,
                          std::optional<int64_t> bytes_per_id) const {
    if (!bytes_per_id.has_value()) return absl::OkStatus();
    const size_t size = static_cast<size_t>(*bytes_per_id);
    return CheckIds(num_ids + num_bytes / size + (num_bytes % size > 0 ? 1 : 0));
  }

  /// Number of bytes that may still be written.
  size_t rewritten_bytes() const { return rewritten_bytes_; }

  /// Subtracts `num_bytes`; returns InvalidArgument if fewer are left.
  absl::Status TakeBytes(size_t num_bytes) {
    if (num_bytes > rewritten_bytes_) return TextGrowsTooLong();
    rewritten_bytes_ -= num_bytes;
    return absl::OkStatus();
  }

  static absl::Status TextGrowsTooLong() {
    return absl::InvalidArgumentError(absl::StrCat(
        "the tokenizer's normaliser and pre-tokenizer make more of the text than ", kMaxGrowth,
        " times its bytes and ", kMinRewrittenBytes, ", or more than ", kMaxRewrittenBytes));
  }

  /// Returns InvalidArgument if this thread has used up the call's processor time. Time counts from
  /// the first check; the error comes after at most twice the budget. Takes a few nanoseconds while
  /// there is time left.
  absl::Status CheckTime();

 private:
  int64_t TimeMs() const;

  size_t max_ids_;
  int64_t max_tokens_;
  size_t text_bytes_;
  /// Wall-clock time of the next look at the processor time; nullopt before the first check.
  std::optional<int64_t> next_look_ms_;
  /// Processor time of this thread at which the budget is used up; nullopt before the first look.
  std::optional<int64_t> deadline_ms_;
  size_t rewritten_bytes_;
};

/// Checks the time of a budget after every kStepsPerLook steps of a loop.
class WorkMeter {
 public:
  static constexpr size_t kStepsPerLook = size_t{1} << 16;

  explicit WorkMeter(EncodeBudget& budget) : budget_(budget) {}

  /// Counts `num_steps`; returns EncodeBudget::CheckTime() if kStepsPerLook have passed since the
  /// last check, otherwise OK.
  absl::Status Add(size_t num_steps) {
    num_steps_ += num_steps;
    if (num_steps_ < kStepsPerLook) return absl::OkStatus();
    num_steps_ = 0;
    return budget_.CheckTime();
  }

 private:
  EncodeBudget& budget_;
  size_t num_steps_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_ENCODE_BUDGET_H_
