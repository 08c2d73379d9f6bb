#ifndef SHORTLIST_DRAFT_DRAFT_SIDE_H_
#define SHORTLIST_DRAFT_DRAFT_SIDE_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "draft/drafter.h"
#include "draft/step.h"
#include "request/sequence.h"

namespace shortlist {

/// What the drafter has of every sequence: its state begins with the sequence, follows the target's
/// tokens, and ends where drafting fails or cannot pay. A drafter's error costs a sequence its
/// drafts and nothing else; it is counted here.
///
/// Used by the engine's thread. The drafter, which may be null, must outlive it.
class DraftSide {
 public:
  explicit DraftSide(Drafter* drafter) : drafter_(drafter) {}

  /// True if the drafter computes keys and values for `sequence`: there is one, the sequence
  /// speculates, and its prompt fits the drafter's context.
  bool DraftsFor(const Sequence& sequence) const;
  /// Whether it has a state: it could draft now.
  bool HasState(const Sequence& sequence) const;
  /// Leading positions that both caches hold for others to share.
  int64_t ShareableLen(const Sequence& sequence) const;

  /// Starts `sequence` over, whose first `len` positions both caches hold.
  void Adopt(Sequence& sequence, int64_t len);
  /// The target's `features` of the sequence's last computed tokens, up to cached_len.
  void Accept(const StepWork& work, const at::Tensor& features);
  /// Computes what the drafter lacks of prompts that others may share, for sequences that have
  /// ended. One that goes on does it with its next draft.
  void CompletePrompts(std::span<const StepWork> work);
  /// While drafting rests, the drafter falls behind. What it lacks it would have to compute before
  /// it drafts again, for more than that can earn: such sequences decode plainly from here on, and
  /// later ones try again. What others could share of them so far they still can.
  void EndIdle(std::span<const StepWork> work);

  void CountFailure(const absl::Status& why);
  int64_t num_failures() const { return num_failures_; }
  /// Why drafting failed last; ok while it never has.
  const absl::Status& error() const { return error_; }

 private:
  bool LacksPrompt(const StepWork& work) const;

  Drafter* const drafter_;
  int64_t num_failures_ = 0;
  absl::Status error_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_DRAFT_SIDE_H_
