#include "text/encode_budget.h"

#include <ctime>

namespace shortlist {
namespace {

int64_t ClockMs(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

int64_t EncodeBudget::TimeMs() const {
  constexpr double kMib = 1 << 20;
  return kMinTimeMs + static_cast<int64_t>(static_cast<double>(text_bytes_) / kMib *
                                           static_cast<double>(kTimeMsPerMib));
}

absl::Status EncodeBudget::CheckTime() {
  // The coarse clock needs no system call. It keeps running while the process is stopped, so it
  // only decides when to read the thread's own clock.
  const int64_t now_ms = ClockMs(CLOCK_MONOTONIC_COARSE);
  if (!next_look_ms_.has_value()) next_look_ms_ = now_ms + TimeMs();
  if (now_ms < *next_look_ms_) return absl::OkStatus();
  const int64_t used_ms = ClockMs(CLOCK_THREAD_CPUTIME_ID);
  if (!deadline_ms_.has_value()) deadline_ms_ = used_ms + TimeMs();
  if (used_ms >= *deadline_ms_) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", TimeMs(), " ms of processor time for a text of ", text_bytes_,
                     " bytes, the budget of one call: shorten the text or mend the tokenizer"));
  }
  next_look_ms_ = now_ms + *deadline_ms_ - used_ms;
  return absl::OkStatus();
}

}  // namespace shortlist
