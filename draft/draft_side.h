#ifndef SHORTLIST_DRAFT_DRAFT_SIDE_H_
#define SHORTLIST_DRAFT_DRAFT_SIDE_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "draft/drafter.h"
#include "draft/step.h"
#include "request/sequence.h"

namespace shortlist {

/// Manages the drafter's state of every sequence. A state begins with the sequence, follows the
/// target's tokens, and ends if drafting fails or cannot pay. A drafter's error disables drafting
/// for its sequences and has no other effect; this class counts such errors.
///
/// Used by the engine's thread. The drafter, which may be null, must outlive this object.
class DraftSide {
 public:
  explicit DraftSide(Drafter* drafter) : drafter_(drafter) {}

  /// True if the drafter computes keys and values for `sequence`: there is a drafter, the sequence
  /// speculates, and its prompt fits the drafter's context.
  bool DraftsFor(const Sequence& sequence) const;
  /// True if `sequence` has a drafter state, so that it can draft now.
  bool HasState(const Sequence& sequence) const;
  /// Number of leading positions in both caches that other sequences may share.
  int64_t ShareableLen(const Sequence& sequence) const;

  /// Restarts `sequence`, whose first `len` positions are in both caches.
  void Adopt(Sequence& sequence, int64_t len);
  /// Passes the target's `features` of the sequence's last computed tokens, up to cached_len, to
  /// the drafter.
  void Accept(const StepWork& work, const Matrix& features);
  /// Computes the missing drafter KV of shareable prompts, for sequences that have finished. A
  /// sequence that continues computes it with its next draft.
  void CompletePrompts(std::span<const StepWork> work);
  /// Ends the drafter states that lag too far after a rest of drafting, because catching up would
  /// cost more than drafting could save. Such sequences decode plainly from now on; later sequences
  /// draft again. Positions that were shareable so far stay shareable.
  void EndIdle(std::span<const StepWork> work);

  void CountFailure(const absl::Status& why);
  int64_t num_failures() const { return num_failures_; }
  /// The last drafting error; ok if there was none.
  const absl::Status& error() const { return error_; }

 private:
  bool LacksPrompt(const StepWork& work) const;

  Drafter* const drafter_;
  int64_t num_failures_ = 0;
  absl::Status error_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_DRAFT_SIDE_H_
