#ifndef SHORTLIST_DRAFT_DRAFT_POLICY_H_
#define SHORTLIST_DRAFT_DRAFT_POLICY_H_

#include <array>
#include <cstdint>
#include <vector>

#include "draft/cost_curve.h"

namespace shortlist {

/// By chain length: the least probability of acceptance at which one more token pays for itself.
/// Both are [most tokens of a chain], at least 0.
struct ChainThresholds {
  std::vector<double> pass;  // with a pass of the draft and a row of the target's pass
  std::vector<double> row;   // with the row alone: a copied token
};

/// Whether drafting pays: milliseconds saved against milliseconds spent, over late steps. Where it
/// does not, it rests, longer each time, and tries again for some steps.
class DraftWorth {
 public:
  /// Whether to draft in the next step. Now and then not, so that a plain step's time stays known.
  bool TakeStep();
  bool rests() const { return rest_ > 0; }
  /// A step without a draft: of a rest, it is one fewer.
  void AddPlain() { rest_ -= rest_ > 0 ? 1 : 0; }
  /// Whether the next drafted step is one of those that find out what drafting costs and earns.
  bool explores() const;
  /// A step that drafted saved and spent so many milliseconds; a plain step takes `plain_ms`.
  void Add(double saved_ms, double spent_ms, double plain_ms);
  /// The draft computed what it had left out while it rested, or a prompt: a cost of trying.
  void AddCatchUp(double ms) { lost_ms_ += ms; }

 private:
  double saved_ms_ = 0.0, spent_ms_ = 0.0;  // decayed
  double lost_ms_ = 0.0;                    // since the last rest, catching up included
  int64_t num_taken_ = 0;                   // steps that might have drafted, since the last rest
  int64_t num_steps_ = 0;                   // that did
  int64_t rest_ = 0;                        // steps still to rest
  int64_t num_rests_ = 0;                   // since drafting paid
  bool has_rested_ = false;
};

/// Decides by measured costs how far to draft, so that tokens come fastest.
///
/// In the long run a policy emits tokens at some rate per millisecond, and a further token with
/// probability p that costs c milliseconds raises the rate as long as p / c exceeds it (the renewal
/// reward theorem; Dinkelbach 1967). The rate in use is the one measured, and at least that of
/// plain decoding. Costs are what a draft pass takes by requests and the target's pass by rows;
/// rates and worth are kept by number of requests, in octaves.
///
/// Draws nothing and knows no tokens, so rejection sampling stays exact. A pure function of what it
/// is told: no clock. Used by the engine's thread.
class DraftPolicy {
 public:
  /// What one step measured, over all of its requests.
  struct Step {
    int64_t num_requests = 0;
    int64_t num_drafting = 0;  // of them; 0: a plain step
    int64_t num_passes = 0;    // of the draft
    double draft_ms = 0.0;
    int64_t num_rows = 0;  // of the target's pass
    double verify_ms = 0.0;
    int64_t num_emitted = 0;
    // The draft computed more tokens of the requests than the last step emitted.
    bool caught_up = false;
  };

  /// The target's pass over `num_rows` rows took `ms`: measured before the first step.
  void AddVerify(int64_t num_rows, double ms) { verify_.Add(num_rows, ms); }

  /// Whether a step of `num_requests` requests that may draft is to do so.
  bool TakeStep(int64_t num_requests);

  /// True if steps with this many requests rest, so that the next TakeStep returns false.
  bool Rests(int64_t num_requests) const;

  /// For chains of at most `max_tokens` tokens of a step with `num_requests` requests. Before costs
  /// are known: those of a usual draft. They also bound those of the first steps and of
  /// every 128th: a cost that was measured too high would otherwise never be measured again.
  ChainThresholds Thresholds(int64_t num_requests, int64_t max_tokens) const;

  void AddStep(const Step& step);

  // What it goes by; 0 before anything is known.
  double DraftMs(int64_t num_requests) const { return draft_.Of(num_requests); }
  double VerifyMs(int64_t num_rows) const { return verify_.Of(num_rows); }
  /// Tokens a millisecond: plainly, and as measured with drafts.
  double PlainRate(int64_t num_requests) const;
  double DraftedRate(int64_t num_requests) const;

 private:
  struct Load {
    double emitted = 0.0, ms = 0.0;  // decayed, of drafted steps
    DraftWorth worth;
  };
  static constexpr int kLoads = 12;
  static int LoadOf(int64_t num_requests);

  CostCurve draft_, verify_;
  std::array<Load, kLoads> loads_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_DRAFT_POLICY_H_
