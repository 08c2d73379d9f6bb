#ifndef SHORTLIST_DRAFT_DRAFT_POLICY_H_
#define SHORTLIST_DRAFT_DRAFT_POLICY_H_

#include <array>
#include <cstdint>
#include <vector>

#include "draft/cost_curve.h"
#include "draft/draft_worth.h"

namespace shortlist {

/// The lowest probability of acceptance at which one more token pays, by chain length. Both vectors
/// are [maximum chain length], values at least 0.
struct ChainThresholds {
  std::vector<double> pass;  // if the token costs a draft pass and a row of the target's pass
  // If it costs the row alone: a copied token, or a drafted one, whose pass has been run.
  std::vector<double> row;
};

/// Decides by measured costs whether and how far to draft, to maximise tokens per millisecond.
///
/// In the long run a policy emits tokens at some rate per millisecond. A further token with
/// probability p and a cost of c milliseconds raises the rate as long as p / c exceeds it (the
/// renewal reward theorem; Dinkelbach 1967). The policy uses the measured rate, and at least that
/// of plain decoding. Costs are those of a draft pass by requests and of the target's pass by rows.
/// Rates and DraftWorth are kept per number of requests, in octaves. A new request's text may be of
/// another kind, so the rate loses its predecessor's share: at the rate of an easy text, chains of
/// the next one would be too short for as long as that rate is remembered.
///
/// Nothing is drafted where even the best chains would be slower than plain decoding: chains that
/// are nearly always accepted, at the lowest possible cost. The target's pass takes at least as
/// long as a plain step, and as a prompt of as many tokens. With many requests the latter decides,
/// because arithmetic bounds the pass. One such step in 512 drafts all the same, because what was
/// measured may be wrong.
///
/// Uses neither randomness nor token ids, so rejection sampling stays exact. A pure function of its
/// input: no clock. Used by the engine's thread.
class DraftPolicy {
 public:
  /// Measurements of one step, over all of its requests.
  struct Step {
    int64_t num_requests = 0;
    int64_t num_new = 0;       // number of those requests whose first step this was
    int64_t num_drafting = 0;  // number of those requests that the drafter served; 0: a plain step
    int64_t num_passes = 0;    // of the draft
    double draft_ms = 0.0;
    int64_t num_rows = 0;  // of the target's pass
    double verify_ms = 0.0;
    int64_t num_emitted = 0;
    // Drafted tokens that the target accepted or replaced, except certain ones; of these, accepted.
    int64_t num_judged = 0, num_accepted = 0;
    // Rows of certain tokens (DraftedChain::AddCertain), forced or copied, which need no drafter
    // and are no merit of it; of these, accepted.
    int64_t num_certain = 0, num_certain_accepted = 0;
    bool caught_up = false;    // the draft's passes include tokens that it lacked
    double catch_up_ms = 0.0;  // other passes of the draft, over tokens that it lacked
  };

  DraftPolicy();

  // Passes measured before the first step or outside of steps.

  /// The target's pass over `num_rows` rows, all of them scored.
  void AddVerify(int64_t num_rows, double ms);
  /// The target's layers over `num_rows` tokens of prompts.
  void AddPrefill(int64_t num_rows, double ms);
  /// The target's head over `num_rows` rows.
  void AddHead(int64_t num_rows, double ms);
  /// A draft pass for `num_requests` requests.
  void AddDraft(int64_t num_requests, double ms);
  /// The draft's pass over `num_rows` tokens of prompts.
  void AddDraftPrefill(int64_t num_rows, double ms);

  /// True if the next step, of `num_requests` requests of which `num_drafting` can draft, should
  /// draft.
  bool TakeStep(int64_t num_requests, int64_t num_drafting);

  /// True if steps of this many requests do not draft at present.
  bool Rests(int64_t num_requests) const;

  /// True if drafts among `num_requests` requests may save twice the time in `num_wanted` tokens
  /// that the draft needs for `num_missing` tokens that it has not computed.
  bool PaysBack(int64_t num_requests, int64_t num_missing, int64_t num_wanted) const;

  /// Thresholds for chains of at most `max_tokens` tokens in a step of `num_requests` requests, of
  /// which `num_drafting` draft. Before costs are known: those of a typical draft. In the first
  /// 8 and every 128th step of one request the thresholds are a third, but at least the typical
  /// ones; otherwise a cost that was measured too high would never be measured again.
  ChainThresholds Thresholds(int64_t num_requests, int64_t num_drafting, int64_t max_tokens) const;

  void AddStep(const Step& step);

  // Current estimates; 0 before any measurement.
  double DraftMs(int64_t num_requests) const { return draft_.Of(num_requests); }
  /// At least the time that as many tokens of a prompt would take.
  double VerifyMs(int64_t num_rows) const;
  /// Tokens per millisecond: of plain decoding, and as measured with drafts.
  double PlainRate(int64_t num_requests) const;
  double DraftedRate(int64_t num_requests) const;

 private:
  struct Load {
    // Decayed, over drafted steps: emitted tokens, and those of plain decoding in the same time.
    double emitted = 0.0, plain_emitted = 0.0;
    DraftWorth worth;
    bool knows_plain = false;  // a plain step was measured
    int64_t num_hopeless = 0;  // steps in which drafts could not pay
  };

  /// The least time of a kind of pass; 0 before any.
  class LeastTime {
   public:
    void Add(double ms);
    void LimitTo(double ms);
    double ms() const { return ms_; }

   private:
    double ms_ = 0.0;
  };

  static constexpr int kLoads = 12;
  static int LoadOf(int64_t num_requests);
  double LeastMs(int64_t num_rows) const;
  enum class Costs { kLeast, kMeasured };
  double HighestRate(int64_t num_requests, double acceptance, Costs costs) const;
  bool CanPay(int64_t num_requests) const;
  bool IsHopeless(int64_t num_requests, int64_t num_drafting) const;
  void AddRate(const Step& step, double ms);
  void AddVerdicts(int64_t num_judged, int64_t num_accepted);

  CostCurve draft_, verify_;
  bool knows_rows_ = false;  // passes over several rows were measured before the first step
  LeastTime draft_pass_;     // for any number of requests
  // A row of a pass over many.
  LeastTime prefill_row_, head_row_, draft_prefill_row_;
  double acceptance_;    // share of recent judged tokens that were accepted
  double num_verdicts_;  // weight of acceptance_
  std::array<Load, kLoads> loads_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_DRAFT_POLICY_H_
