#ifndef SHORTLIST_DRAFT_DRAFT_POLICY_H_
#define SHORTLIST_DRAFT_DRAFT_POLICY_H_

#include <array>
#include <cstdint>
#include <vector>

#include "draft/cost_curve.h"

namespace shortlist {

/// The lowest probability of acceptance at which one more token pays, by chain length. Both vectors
/// are [maximum chain length], values at least 0.
struct ChainThresholds {
  std::vector<double> pass;  // if the token costs a draft pass and a row of the target's pass
  std::vector<double> row;   // if the token costs the row alone (a copied token)
};

/// Tracks whether drafting pays: milliseconds saved against milliseconds spent, over recent steps.
/// If it does not pay, drafting rests, longer each time, and is then tried again for some steps.
class DraftWorth {
 public:
  /// True if the next step should draft. Occasionally false, so that the time of a plain step stays
  /// known.
  bool TakeStep();
  bool rests() const { return rest_ > 0; }
  /// Records a step without a draft; shortens a rest by one step.
  void AddPlain() { rest_ -= rest_ > 0 ? 1 : 0; }
  /// True if the next drafted step serves to measure what drafting costs and saves.
  bool explores() const;
  /// Records a drafted step that saved and spent these milliseconds; `plain_ms`: time of a plain
  /// step.
  void Add(double saved_ms, double spent_ms, double plain_ms);
  /// Records time for computing tokens missed during a rest, or a prompt: a cost of the trial.
  void AddCatchUp(double ms) { lost_ms_ += ms; }

 private:
  double saved_ms_ = 0.0, spent_ms_ = 0.0;  // decayed
  double lost_ms_ = 0.0;                    // since the last rest, including catch-up
  int64_t num_taken_ = 0;                   // steps that could have drafted, since the last rest
  int64_t num_steps_ = 0;                   // steps that drafted, since the last rest
  int64_t rest_ = 0;                        // steps left to rest
  int64_t num_rests_ = 0;                   // since drafting last paid
  bool has_rested_ = false;
};

/// Decides by measured costs how far to draft, to maximise tokens per millisecond.
///
/// In the long run a policy emits tokens at some rate per millisecond. A further token with
/// probability p and a cost of c milliseconds raises the rate as long as p / c exceeds it (the
/// renewal reward theorem; Dinkelbach 1967). The policy uses the measured rate, and at least that
/// of plain decoding. Costs are those of a draft pass by requests and of the target's pass by rows.
/// Rates and DraftWorth are kept per number of requests, in octaves.
///
/// Uses neither randomness nor token ids, so rejection sampling stays exact. A pure function of its
/// input: no clock. Used by the engine's thread.
class DraftPolicy {
 public:
  /// Measurements of one step, over all of its requests.
  struct Step {
    int64_t num_requests = 0;
    int64_t num_drafting = 0;  // number of those requests that drafted; 0: a plain step
    int64_t num_passes = 0;    // of the draft
    double draft_ms = 0.0;
    int64_t num_rows = 0;  // of the target's pass
    double verify_ms = 0.0;
    int64_t num_emitted = 0;
    // The draft also computed tokens older than those that the last step emitted.
    bool caught_up = false;
  };

  /// Records that the target's pass over `num_rows` rows took `ms`, measured before the first step.
  void AddVerify(int64_t num_rows, double ms) { verify_.Add(num_rows, ms); }

  /// True if a step of `num_requests` requests that may draft should draft.
  bool TakeStep(int64_t num_requests);

  /// True if steps of this many requests rest, so that the next TakeStep() returns false.
  bool Rests(int64_t num_requests) const;

  /// Thresholds for chains of at most `max_tokens` tokens in a step of `num_requests` requests.
  /// Before costs are known: those of a typical draft. The typical thresholds also bound those of
  /// the first steps and of every 128th step; otherwise a cost that was measured too high would
  /// never be measured again.
  ChainThresholds Thresholds(int64_t num_requests, int64_t max_tokens) const;

  void AddStep(const Step& step);

  // Current estimates; 0 before any measurement.
  double DraftMs(int64_t num_requests) const { return draft_.Of(num_requests); }
  double VerifyMs(int64_t num_rows) const { return verify_.Of(num_rows); }
  /// Tokens per millisecond: of plain decoding, and as measured with drafts.
  double PlainRate(int64_t num_requests) const;
  double DraftedRate(int64_t num_requests) const;

 private:
  struct Load {
    double emitted = 0.0, ms = 0.0;  // decayed, over drafted steps
    DraftWorth worth;
  };
  static constexpr int kLoads = 12;
  static int LoadOf(int64_t num_requests);

  CostCurve draft_, verify_;
  std::array<Load, kLoads> loads_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_DRAFT_POLICY_H_
