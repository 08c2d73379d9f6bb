#ifndef SHORTLIST_DRAFT_DRAFT_SIDE_H_
#define SHORTLIST_DRAFT_DRAFT_SIDE_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "draft/drafter.h"
#include "draft/step.h"
#include "request/sequence.h"

namespace shortlist {

/// Manages the drafter's state of every sequence. A state follows the target's tokens. If the
/// drafter needs features, the state begins with the sequence, and ends for good if drafting fails
/// or cannot pay; otherwise it begins with the first draft. A drafter's error has no other effect
/// than missing drafts; this class counts such errors.
///
/// Used by the engine's thread. The drafter, which may be null, must outlive this object.
class DraftSide {
 public:
  explicit DraftSide(Drafter* drafter) : drafter_(drafter) {}

  /// True if a prefix that `sequence` adopts must be in the drafter's cache too: the drafter needs
  /// features, the sequence speculates, and its prompt fits the drafter's context.
  bool NeedsDraftedPrefix(const Sequence& sequence) const;
  bool HasState(const Sequence& sequence) const;
  /// True if `sequence` has a drafter state or can get one.
  bool CanDraft(const Sequence& sequence) const;
  /// CanDraft(); creates the state if it can and is not there yet.
  bool Start(const StepWork& work);
  /// Number of leading positions that other sequences may share.
  int64_t ShareableLen(const Sequence& sequence) const;

  /// Restarts `sequence`, whose first `len` positions are in the target's cache, and in the
  /// drafter's if NeedsDraftedPrefix().
  void Adopt(Sequence& sequence, int64_t len);
  /// Passes the target's `features` of the sequence's last computed tokens, up to cached_len, to
  /// the drafter.
  void Accept(const StepWork& work, const Matrix& features);
  /// Computes the missing drafter KV of shareable prompts, for sequences that have finished. A
  /// sequence that continues computes it with its next draft.
  void CompletePrompts(std::span<const StepWork> work);
  /// Computes some of what the drafter's cache lacks of these sequences, which must have states.
  /// Returns the number of positions computed.
  int64_t CatchUp(std::span<const StepWork> work);
  /// Ends a drafter state that needs features and lags far after a rest of drafting, because
  /// catching up would cost more than drafting could save. The sequence decodes plainly from now
  /// on. Positions that were shareable so far stay shareable.
  void EndIdle(const StepWork& work);

  /// Rows that a sketch adds to those of each token; 0: none, or no drafter.
  int64_t num_sketch_rows() const { return drafter_ != nullptr ? drafter_->num_sketch_rows() : 0; }

  void CountFailure(const absl::Status& why);
  int64_t num_failures() const { return num_failures_; }
  /// The last drafting error; ok if there was none.
  const absl::Status& error() const { return error_; }

 private:
  bool DraftsFor(const Sequence& sequence) const;
  bool LacksPrompt(const StepWork& work) const;

  Drafter* const drafter_;
  int64_t num_failures_ = 0;
  absl::Status error_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_DRAFT_SIDE_H_
