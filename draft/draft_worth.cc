#include "draft/draft_worth.h"

#include <algorithm>

namespace shortlist {
namespace {

constexpr double kDecay = 1.0 - 1.0 / 32;
// Samples before drafting may be stopped, because acceptance varies, and steps, because times do.
constexpr int64_t kTrialSamples = 24, kTrialSteps = 4;
constexpr int64_t kSureSamples = 48, kSureSteps = 8;
constexpr int64_t kExploreEvery = 128;
// A failed trial is followed by a rest that lasts this many times the time it lost; a shorter one
// after the first failures, because a trial can be unlucky.
constexpr double kRestOfLoss = 32.0, kShortRestOfLoss = 8.0;
constexpr int64_t kShortRests = 2;
constexpr double kMostRest = 4096;
// The shortest rest in steps; doubled after each further failed trial.
constexpr int64_t kFirstRest = 64;
constexpr int64_t kMostDoublings = 5;
// Drafts that lose less than this are within measurement noise.
constexpr double kLoss = 0.98;
// In a trial the noise is larger.
constexpr double kClearLoss = 0.85;
// One step in this many is plain, in the first steps and later.
constexpr int64_t kEarlySteps = 48;
constexpr int64_t kProbeEarly = 16, kProbeLate = 64;

}  // namespace

bool DraftWorth::TakeStep() {
  if (rest_ > 0) return false;
  const int64_t taken = num_taken_++;
  return taken < kEarlySteps ? taken % kProbeEarly != kProbeEarly - 1
                             : taken % kProbeLate != kProbeLate - 1;
}

bool DraftWorth::explores() const {
  if (num_samples_ < kTrialSamples) return !has_rested_;
  return num_steps_ % kExploreEvery == 0;
}

void DraftWorth::Add(int64_t num_drafting, double saved_ms, double spent_ms, double plain_ms) {
  saved_ms_ = saved_ms_ * kDecay + saved_ms;
  spent_ms_ = spent_ms_ * kDecay + spent_ms;
  lost_ms_ += spent_ms - saved_ms;
  num_samples_ += num_drafting;
  ++num_steps_;
  if (num_samples_ < kTrialSamples || num_steps_ < kTrialSteps) return;
  const bool is_sure = num_samples_ >= kSureSamples && num_steps_ >= kSureSteps;
  if (saved_ms_ >= (is_sure ? kLoss : kClearLoss) * spent_ms_) {
    if (is_sure) num_rests_ = 0, lost_ms_ = 0.0;
    return;
  }
  const int64_t least = kFirstRest << std::min(num_rests_, kMostDoublings);
  const double of_loss = num_rests_ < kShortRests ? kShortRestOfLoss : kRestOfLoss;
  const double steps = of_loss * lost_ms_ / std::max(plain_ms, 1e-9);
  rest_ = std::max(least, static_cast<int64_t>(std::clamp(steps, 0.0, kMostRest)));
  ++num_rests_;
  has_rested_ = true;
  num_steps_ = num_samples_ = num_taken_ = 0;
  saved_ms_ = spent_ms_ = lost_ms_ = 0.0;
}

}  // namespace shortlist
