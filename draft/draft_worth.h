#ifndef SHORTLIST_DRAFT_DRAFT_WORTH_H_
#define SHORTLIST_DRAFT_DRAFT_WORTH_H_

#include <cstdint>

namespace shortlist {

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
  /// Records a step in which `num_drafting` requests drafted, and which saved and spent these
  /// milliseconds; `plain_ms`: time of a plain step. Each of these requests is one sample.
  void Add(int64_t num_drafting, double saved_ms, double spent_ms, double plain_ms);
  /// Records time for computing tokens missed during a rest, or a prompt: a cost of the trial.
  void AddCatchUp(double ms) { lost_ms_ += ms; }

 private:
  double saved_ms_ = 0.0, spent_ms_ = 0.0;  // decayed
  double lost_ms_ = 0.0;                    // since the last rest, including catch-up
  int64_t num_taken_ = 0;                   // steps that could have drafted, since the last rest
  int64_t num_steps_ = 0;                   // steps that drafted, since the last rest
  int64_t num_samples_ = 0;                 // requests that drafted in them
  int64_t rest_ = 0;                        // steps left to rest
  int64_t num_rests_ = 0;                   // since drafting last paid
  bool has_rested_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_DRAFT_WORTH_H_
