#include "draft/draft_worth.h"

#include <algorithm>
#include <iterator>

namespace shortlist {
namespace {

constexpr double kDecay = 1.0 - 1.0 / 32;
// When drafting may be stopped: after so many samples, because acceptance varies, and so many
// steps, because times do, if it saves less than this share of what it spends. Early, only a clear
// loss counts; later, losses of 2 % are within measurement noise.
struct Look {
  int64_t num_samples, num_steps;
  double least_share;
};
constexpr Look kLooks[] = {{12, 4, 0.5}, {18, 4, 0.7}, {24, 4, 0.85}, {48, 8, 0.98}};
constexpr int64_t kTrialSamples = 24;
// Steps that explore: the first ones, then one in this many.
constexpr int64_t kFirstExplorations = 8, kExploreEvery = 128;
// A failed trial is followed by a rest that lasts this many times the time it lost; a shorter one
// after the first failures, because a trial can be unlucky.
constexpr double kRestOfLoss = 32.0, kShortRestOfLoss = 8.0;
constexpr int64_t kShortRests = 2;
constexpr double kMostRest = 4096;
// The shortest rest in steps; doubled after each further failed trial.
constexpr int64_t kFirstRest = 64;
constexpr int64_t kMostDoublings = 5;
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
  if (num_samples_ < kTrialSamples) return !has_rested_ && num_steps_ < kFirstExplorations;
  return num_steps_ % kExploreEvery == 0;
}

void DraftWorth::Add(int64_t num_drafting, double saved_ms, double spent_ms, double plain_ms) {
  saved_ms_ = saved_ms_ * kDecay + saved_ms;
  spent_ms_ = spent_ms_ * kDecay + spent_ms;
  lost_ms_ += spent_ms - saved_ms;
  num_samples_ += num_drafting;
  ++num_steps_;
  const auto look = std::find_if(std::rbegin(kLooks), std::rend(kLooks), [this](const Look& l) {
    return num_samples_ >= l.num_samples && num_steps_ >= l.num_steps;
  });
  if (look == std::rend(kLooks)) return;
  if (saved_ms_ >= look->least_share * spent_ms_) {
    if (look == std::rbegin(kLooks)) num_rests_ = 0, lost_ms_ = 0.0;
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
