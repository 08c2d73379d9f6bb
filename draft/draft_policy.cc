#include "draft/draft_policy.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shortlist {
namespace {

constexpr double kDecay = 1.0 - 1.0 / 32;
// Upper bound of the catch-up time of a draft, as a multiple of its passes' usual time. Longer
// ones are taken for pauses.
constexpr double kMostCatchUp = 200.0;
// With fewer emitted tokens than this there is no rate yet.
constexpr double kFewTokens = 8.0;

// Before costs are known: a draft pass with its row takes about a third of a token's time.
constexpr double kUsualPass = 0.35;
constexpr double kUsualRow = 0.14;
// Steps that explore costs lower their thresholds by this factor, down to the usual ones.
constexpr double kExploring = 3.0;
// Acceptance before any verdict, its weight in tokens, and that of the verdicts that count.
constexpr double kUsualAcceptance = 0.8;
constexpr double kFewVerdicts = 32.0, kManyVerdicts = 512.0;
// No policy can hope for a higher acceptance.
constexpr double kHighestAcceptance = 0.98;
// Several requests do not try drafts whose first token pays only if it is accepted more often than
// this: even at the highest acceptance they would gain 4 %, which a trial may cost.
constexpr double kWorthTrying = 0.9;
// One in this many steps in which drafts cannot pay, by what was measured, drafts all the same.
constexpr int64_t kTryEvery = 512;
// The longest chain of a forecast.
constexpr int64_t kForecastTokens = 8;
// Time to be saved for the time of computing a prompt, which is spent for certain.
constexpr double kReturn = 2.0;

// Passes over at least so many rows are bound by arithmetic.
constexpr int64_t kManyRows = 32;
// The least time may rise by this factor per pass: the load of the machine changes.
constexpr double kLeastTimeRise = 1.02;

}  // namespace

void DraftPolicy::LeastTime::Add(double ms) {
  if (!(ms > 0.0) || !std::isfinite(ms)) return;
  ms_ = ms_ == 0.0 ? ms : std::min(ms, ms_ * kLeastTimeRise);
}

DraftPolicy::DraftPolicy() : acceptance_(kUsualAcceptance), num_verdicts_(kFewVerdicts) {}

int DraftPolicy::LoadOf(int64_t num_requests) {
  const auto octave = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(num_requests, 1))) - 1;
  return std::min(static_cast<int>(octave), kLoads - 1);
}

void DraftPolicy::LeastTime::LimitTo(double ms) { ms_ = std::min(ms_, std::max(ms, 0.0)); }

void DraftPolicy::AddVerify(int64_t num_rows, double ms) {
  verify_.Add(num_rows, ms);
  knows_rows_ |= num_rows > 1;
}

void DraftPolicy::AddPrefill(int64_t num_rows, double ms) {
  if (num_rows >= kManyRows) prefill_row_.Add(ms / static_cast<double>(num_rows));
}

void DraftPolicy::AddHead(int64_t num_rows, double ms) {
  if (num_rows >= kManyRows) head_row_.Add(ms / static_cast<double>(num_rows));
}

void DraftPolicy::AddDraft(int64_t num_requests, double ms) {
  draft_.Add(num_requests, ms);
  draft_pass_.Add(ms);
}

void DraftPolicy::AddDraftPrefill(int64_t num_rows, double ms) {
  if (num_rows >= kManyRows) draft_prefill_row_.Add(ms / static_cast<double>(num_rows));
}

/// Returns the time of the target's arithmetic.
double DraftPolicy::LeastMs(int64_t num_rows) const {
  return static_cast<double>(num_rows) * (prefill_row_.ms() + head_row_.ms());
}

double DraftPolicy::VerifyMs(int64_t num_rows) const {
  return std::max(verify_.Of(num_rows), LeastMs(num_rows));
}

double DraftPolicy::PlainRate(int64_t num_requests) const {
  const double ms = VerifyMs(num_requests);
  return ms > 0.0 ? static_cast<double>(num_requests) / ms : 0.0;
}

/// Returns tokens per millisecond of the best chain length, at the measured or the least possible
/// costs, if each drafted token is accepted with probability `acceptance` where all before it are.
double DraftPolicy::HighestRate(int64_t num_requests, double acceptance, Costs costs) const {
  const auto requests = static_cast<double>(num_requests);
  const double plain_ms = VerifyMs(num_requests);
  const double least_pass_ms = std::max(draft_pass_.ms(), draft_prefill_row_.ms() * requests);
  const double pass_ms =
      costs == Costs::kLeast ? least_pass_ms : std::max(least_pass_ms, draft_.Of(num_requests));
  double best = 0.0, tokens = requests, probability = 1.0;
  for (int64_t length = 1; length <= kForecastTokens; ++length) {
    probability *= acceptance;
    tokens += requests * probability;
    const int64_t num_rows = num_requests * (length + 1);
    const double verify_ms = costs == Costs::kLeast ? LeastMs(num_rows) : VerifyMs(num_rows);
    const double ms = std::max(plain_ms, verify_ms) + static_cast<double>(length) * pass_ms;
    best = std::max(best, tokens / ms);
  }
  return best;
}

/// False if drafts cannot pay at this load, however good they are.
bool DraftPolicy::CanPay(int64_t num_requests) const {
  return verify_.empty() ||
         HighestRate(num_requests, kHighestAcceptance, Costs::kLeast) > PlainRate(num_requests);
}

/// True if drafts cannot pay, or hardly: see kWorthTrying. False in every kTryEvery-th such step.
bool DraftPolicy::IsHopeless(int64_t num_requests, int64_t num_drafting) const {
  if (loads_[LoadOf(num_requests)].num_hopeless % kTryEvery == kTryEvery - 1) return false;
  if (!CanPay(num_requests)) return true;
  if (num_requests == 1) return false;  // DraftWorth finds that out, at little cost
  const double step_ms =
      draft_.Of(num_drafting) + VerifyMs(num_requests + num_drafting) - VerifyMs(num_requests);
  return PlainRate(num_requests) * step_ms / static_cast<double>(num_drafting) >= kWorthTrying;
}

bool DraftPolicy::TakeStep(int64_t num_requests, int64_t num_drafting) {
  Load& load = loads_[LoadOf(num_requests)];
  // The time of a plain step is known by measurement for one request only.
  if (num_requests > 1 && !load.knows_plain) return false;
  return !IsHopeless(num_requests, num_drafting) && load.worth.TakeStep();
}

bool DraftPolicy::Rests(int64_t num_requests) const {
  return loads_[LoadOf(num_requests)].worth.rests() || IsHopeless(num_requests, num_requests);
}

/// Hopes for at least the usual acceptance: what was measured may have been other text, and
/// DraftWorth sees what does not pay.
bool DraftPolicy::PaysBack(int64_t num_requests, int64_t num_missing, int64_t num_wanted) const {
  if (verify_.empty()) return true;
  if (Rests(num_requests)) return false;
  // One request can try at little cost what measurements do not promise; several would each compute
  // a prompt.
  const Costs costs = num_requests == 1 ? Costs::kLeast : Costs::kMeasured;
  const double drafted = HighestRate(num_requests, std::max(acceptance_, kUsualAcceptance), costs);
  const double saved_ms = 1.0 / PlainRate(num_requests) - 1.0 / drafted;  // per token
  return saved_ms * static_cast<double>(num_wanted) >=
         kReturn * draft_prefill_row_.ms() * static_cast<double>(num_missing);
}

double DraftPolicy::DraftedRate(int64_t num_requests) const {
  const Load& load = loads_[LoadOf(num_requests)];
  if (load.plain_emitted <= 0.0 || load.emitted < kFewTokens) return 0.0;
  return PlainRate(num_requests) * load.emitted / load.plain_emitted;
}

ChainThresholds DraftPolicy::Thresholds(int64_t num_requests, int64_t num_drafting,
                                        int64_t max_tokens) const {
  ChainThresholds thresholds;
  thresholds.pass.assign(max_tokens, kUsualPass);
  thresholds.row.assign(max_tokens, kUsualRow);
  if (verify_.empty() || (draft_.empty() && !knows_rows_)) return thresholds;
  const double rate = std::max(PlainRate(num_requests), DraftedRate(num_requests));
  const bool explores = num_requests == 1 && !draft_.empty() && loads_[0].worth.explores();
  const auto drafting = static_cast<double>(num_drafting);
  const double pass_ms = draft_.Of(num_drafting) / drafting;
  double before_ms = VerifyMs(num_requests);
  for (int64_t length = 0; length < max_tokens; ++length) {
    // All chains are assumed to be as long as this one.
    const double with_ms = VerifyMs(num_requests + num_drafting * (length + 1));
    const double row_ms = (with_ms - before_ms) / drafting;
    before_ms = with_ms;
    const double row = rate * row_ms, pass = rate * (pass_ms + row_ms);
    thresholds.row[length] = explores ? std::min(row, std::max(kUsualRow, row / kExploring)) : row;
    if (draft_.empty()) continue;
    thresholds.pass[length] =
        explores ? std::min(pass, std::max(kUsualPass, pass / kExploring)) : pass;
  }
  return thresholds;
}

void DraftPolicy::AddVerdicts(int64_t num_judged, int64_t num_accepted) {
  if (num_judged < 1) return;
  const auto judged = static_cast<double>(num_judged);
  const double rate = static_cast<double>(num_accepted) / judged;
  acceptance_ += (rate - acceptance_) * judged / (num_verdicts_ + judged);
  num_verdicts_ = std::min(num_verdicts_ + judged, kManyVerdicts);
}

/// Counts a step of about `ms` in the rate.
void DraftPolicy::AddRate(const Step& step, double ms) {
  Load& load = loads_[LoadOf(step.num_requests)];
  load.emitted = load.emitted * kDecay + static_cast<double>(step.num_emitted);
  load.plain_emitted = load.plain_emitted * kDecay + ms * PlainRate(step.num_requests);
}

void DraftPolicy::AddStep(const Step& step) {
  if (step.num_requests < 1) return;
  verify_.Add(step.num_rows, step.verify_ms);
  head_row_.LimitTo(step.verify_ms / static_cast<double>(step.num_rows) - prefill_row_.ms());
  Load& load = loads_[LoadOf(step.num_requests)];
  if (IsHopeless(step.num_requests, step.num_requests) ||
      load.num_hopeless % kTryEvery == kTryEvery - 1) {
    ++load.num_hopeless;
  }
  const double kept =
      1.0 - static_cast<double>(step.num_new) / static_cast<double>(step.num_requests);
  load.emitted *= kept;
  load.plain_emitted *= kept;
  load.worth.AddCatchUp(step.catch_up_ms);
  if (step.num_drafting < 1 || step.num_passes < 1) {
    load.knows_plain |= step.num_rows == step.num_requests;
    if (draft_.empty()) AddRate(step, VerifyMs(step.num_rows));
    return load.worth.AddPlain();
  }
  AddVerdicts(step.num_judged, step.num_accepted);
  const auto num_passes = static_cast<double>(step.num_passes);
  if (step.caught_up) {
    if (draft_.empty()) return;  // the usual time of a pass is unknown, so the catch-up time is too
    const double usual_ms = num_passes * draft_.Of(step.num_drafting);
    load.worth.AddCatchUp(std::clamp(step.draft_ms - usual_ms, 0.0, kMostCatchUp * usual_ms));
  } else {
    AddDraft(step.num_drafting, step.draft_ms / num_passes);
  }
  // Use expected costs, so that a pause of the process does not count.
  const double plain_ms = VerifyMs(step.num_requests);
  const double ms = num_passes * draft_.Of(step.num_drafting) + VerifyMs(step.num_rows);
  AddRate(step, ms);
  const double further =
      static_cast<double>(step.num_emitted - step.num_requests - step.num_certain_accepted);
  const double without_drafter_ms = VerifyMs(step.num_requests + step.num_certain);
  load.worth.Add(step.num_drafting, further * plain_ms / static_cast<double>(step.num_requests),
                 ms - without_drafter_ms, plain_ms);
  // The next trial may meet other requests.
  if (load.worth.rests()) load.emitted = load.plain_emitted = 0.0;
}

}  // namespace shortlist
