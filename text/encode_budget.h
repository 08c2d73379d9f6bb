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

/// What one Encode call may still use: ids, bytes that normaliser and pre-tokenizer write, and
/// processor time. Of one thread.
class EncodeBudget {
 public:
  /// No normal form needs more (U+FDFA in NFKC becomes 11 times as long), nor does a chain of
  /// ordinary steps; a short text may become this long whatever the factor.
  static constexpr size_t kMaxGrowth = 16;
  static constexpr size_t kMinRewrittenBytes = size_t{64} << 10;
  static constexpr size_t kMaxRewrittenBytes = size_t{64} << 20;

  /// Processor time of a call: far more than any ordinary tokenizer takes for a text.
  static constexpr int64_t kMinTimeMs = 1000;
  static constexpr int64_t kTimeMsPerMib = 4000;

  /// For a text of `text_bytes`. `max_ids`: how many ids there may be in all; `max_tokens`: what
  /// the error calls that.
  EncodeBudget(size_t text_bytes, size_t max_ids, int64_t max_tokens)
      : max_ids_(max_ids),
        max_tokens_(max_tokens),
        text_bytes_(text_bytes),
        rewritten_bytes_(
            std::min(kMaxRewrittenBytes,
                     std::min(text_bytes, kMaxRewrittenBytes) * kMaxGrowth + kMinRewrittenBytes)) {}

  size_t max_ids() const { return max_ids_; }

  /// OutOfRange when there are more than max_ids(). `num_ids`: so far, or at least so many.
  absl::Status CheckIds(size_t num_ids) const {
    if (num_ids <= max_ids_) return absl::OkStatus();
    return absl::OutOfRangeError(absl::StrCat("more than ", max_tokens_, " tokens"));
  }

  /// The same for `num_ids` and a text of `num_bytes` behind them, of which an id stands for at
  /// most `bytes_per_id` (at least 1; none: any number).
  absl::Status CheckBytes(size_t num_ids, size_t num_bytes,
                          std::optional<int64_t> bytes_per_id) const {
    if (!bytes_per_id.has_value()) return absl::OkStatus();
    const size_t size = static_cast<size_t>(*bytes_per_id);
    return CheckIds(num_ids + num_bytes / size + (num_bytes % size > 0 ? 1 : 0));
  }

  /// Bytes that may still be written.
  size_t rewritten_bytes() const { return rewritten_bytes_; }

  /// Takes `num_bytes` off; InvalidArgument when there are not so many.
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

  /// InvalidArgument when this thread has used up the processor time of the call, which counts from
  /// the first check on, and at most twice that. Cheap: a few nanoseconds while there is time left.
  absl::Status CheckTime();

 private:
  int64_t TimeMs() const;

  size_t max_ids_;
  int64_t max_tokens_;
  size_t text_bytes_;
  /// When the processor time is looked at next; none before the first check.
  std::optional<int64_t> next_look_ms_;
  /// Processor time of this thread at which the budget is used up; none before the first look.
  std::optional<int64_t> deadline_ms_;
  size_t rewritten_bytes_;
};

/// Looks at the time of a budget after each kStepsPerLook steps of a loop.
class WorkMeter {
 public:
  static constexpr size_t kStepsPerLook = size_t{1} << 16;

  explicit WorkMeter(EncodeBudget& budget) : budget_(budget) {}

  /// EncodeBudget::CheckTime where it is time to look.
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
