#include "draft/draft_policy.h"

#include <algorithm>
#include <bit>

namespace shortlist {
namespace {

constexpr double kDecay = 1.0 - 1.0 / 32;
// Steps before drafting may be stopped: acceptance varies from step to step.
constexpr int64_t kTrialSteps = 24;
constexpr int64_t kSureSteps = 48;
constexpr int64_t kExploreEvery = 128;
// A failed trial is followed by a rest that lasts this many times the time it lost.
constexpr double kRestOfLoss = 32.0;
constexpr double kMostRest = 4096;
constexpr int64_t kShortRests = 2;
// The shortest rest in steps; doubled after each further failed trial.
constexpr int64_t kFirstRest = 64;
constexpr int64_t kMostDoublings = 5;
// Drafts that lose less than this are within measurement noise.
constexpr double kLoss = 0.98;
// In a trial the noise is larger.
constexpr double kClearLoss = 0.85;
// One step in this many is plain, in a trial and later.
constexpr int64_t kProbeEarly = 16, kProbeLate = 64;
// Upper bound of the catch-up time of a draft, as a multiple of its passes' usual time. Longer
// ones are taken for pauses.
constexpr double kMostCatchUp = 200.0;
// With fewer emitted tokens than this there is no rate yet.
constexpr double kFewTokens = 16.0;

// Before costs are known: a draft pass with its row takes about a third of a token's time.
constexpr double kUsualPass = 0.35;
constexpr double kUsualRow = 0.14;

}  // namespace

bool DraftWorth::TakeStep() {
  if (rest_ > 0) return false;
  const int64_t taken = num_taken_++;
  return taken < 2 * kTrialSteps ? taken % kProbeEarly != kProbeEarly - 1
                                 : taken % kProbeLate != kProbeLate - 1;
}

bool DraftWorth::explores() const {
  if (num_steps_ < kTrialSteps) return !has_rested_;
  return num_steps_ % kExploreEvery == 0;
}

void DraftWorth::Add(double saved_ms, double spent_ms, double plain_ms) {
  saved_ms_ = saved_ms_ * kDecay + saved_ms;
  spent_ms_ = spent_ms_ * kDecay + spent_ms;
  lost_ms_ += spent_ms - saved_ms;
  if (++num_steps_ < kTrialSteps) return;
  const bool is_sure = num_steps_ >= kSureSteps;
  if (saved_ms_ >= (is_sure ? kLoss : kClearLoss) * spent_ms_) {
    if (is_sure) num_rests_ = 0, lost_ms_ = 0.0;
    return;
  }
  // The first rests are short, regardless of the loss: a trial can be unlucky.
  const int64_t least = kFirstRest << std::min(num_rests_, kMostDoublings);
  const double steps = kRestOfLoss * lost_ms_ / std::max(plain_ms, 1e-9);
  rest_ = num_rests_ < kShortRests
              ? least
              : std::max(least, static_cast<int64_t>(std::clamp(steps, 0.0, kMostRest)));
  ++num_rests_;
  has_rested_ = true;
  num_steps_ = num_taken_ = 0;
  saved_ms_ = spent_ms_ = lost_ms_ = 0.0;
}

int DraftPolicy::LoadOf(int64_t num_requests) {
  const auto octave = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(num_requests, 1))) - 1;
  return std::min(static_cast<int>(octave), kLoads - 1);
}

bool DraftPolicy::TakeStep(int64_t num_requests) {
  return loads_[LoadOf(num_requests)].worth.TakeStep();
}

bool DraftPolicy::Rests(int64_t num_requests) const {
  return loads_[LoadOf(num_requests)].worth.rests();
}

double DraftPolicy::PlainRate(int64_t num_requests) const {
  const double ms = verify_.Of(num_requests);
  return ms > 0.0 ? static_cast<double>(num_requests) / ms : 0.0;
}

double DraftPolicy::DraftedRate(int64_t num_requests) const {
  const Load& load = loads_[LoadOf(num_requests)];
  return load.ms > 0.0 && load.emitted >= kFewTokens ? load.emitted / load.ms : 0.0;
}

ChainThresholds DraftPolicy::Thresholds(int64_t num_requests, int64_t max_tokens) const {
  ChainThresholds thresholds;
  thresholds.pass.assign(max_tokens, kUsualPass);
  thresholds.row.assign(max_tokens, kUsualRow);
  if (draft_.empty() || verify_.empty()) return thresholds;
  const double rate = std::max(PlainRate(num_requests), DraftedRate(num_requests));
  const bool explores = loads_[LoadOf(num_requests)].worth.explores();
  const auto requests = static_cast<double>(num_requests);
  const double pass_ms = draft_.Of(num_requests) / requests;
  double before_ms = verify_.Of(num_requests);
  for (int64_t length = 0; length < max_tokens; ++length) {
    // All requests' chains are assumed to be as long as this one.
    const double with_ms = verify_.Of(num_requests * (length + 2));
    const double row_ms = (with_ms - before_ms) / requests;
    before_ms = with_ms;
    const double row = rate * row_ms, pass = rate * (pass_ms + row_ms);
    thresholds.row[length] = explores ? std::min(row, kUsualRow) : row;
    thresholds.pass[length] = explores ? std::min(pass, kUsualPass) : pass;
  }
  return thresholds;
}

void DraftPolicy::AddStep(const Step& step) {
  if (step.num_requests < 1) return;
  verify_.Add(step.num_rows, step.verify_ms);
  Load& load = loads_[LoadOf(step.num_requests)];
  if (step.num_drafting < 1 || step.num_passes < 1) return load.worth.AddPlain();
  const auto num_passes = static_cast<double>(step.num_passes);
  if (step.caught_up) {
    if (draft_.empty()) return;  // the usual time of a pass is unknown, so the catch-up time is too
    const double usual_ms = num_passes * draft_.Of(step.num_drafting);
    load.worth.AddCatchUp(std::clamp(step.draft_ms - usual_ms, 0.0, kMostCatchUp * usual_ms));
  } else {
    draft_.Add(step.num_drafting, step.draft_ms / num_passes);
  }
  // Use expected costs, so that a pause of the process does not count.
  const double ms = num_passes * draft_.Of(step.num_drafting) + verify_.Of(step.num_rows);
  load.emitted = load.emitted * kDecay + static_cast<double>(step.num_emitted);
  load.ms = load.ms * kDecay + ms;
  const double plain_ms = verify_.Of(step.num_requests);
  const double further = static_cast<double>(step.num_emitted - step.num_requests);
  load.worth.Add(further * plain_ms / static_cast<double>(step.num_requests), ms - plain_ms,
                 plain_ms);
}

}  // namespace shortlist
