#ifndef SHORTLIST_DRAFT_STEP_VOCABS_H_
#define SHORTLIST_DRAFT_STEP_VOCABS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "draft/drafter.h"
#include "draft/step.h"
#include "vocab/active_vocab.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {

/// The active vocabularies of one step: one snapshot of each, held from the first draft token to
/// the end of verification. Used by the engine's thread only.
class StepVocabs {
 public:
  struct Snapshot {
    DynamicVocabularyManager* of;
    std::shared_ptr<const ActiveVocab> active;
    // Not ok: requests of this vocabulary are not drafted for, and `active` is the full head. The
    // vocabulary has a different size than the target, or ids without a row in the drafter (or it
    // was not made for the rows of the drafter's head, VocabBase::head_rows).
    absl::Status fit = {};
  };

  /// `own`: the default vocabulary of work that names none; null: the full head. `drafter`: null if
  /// there is none. Both must outlive this object. Returns InvalidArgument if `own` does not fit
  /// target and drafter.
  static absl::StatusOr<StepVocabs> Create(int64_t vocab_size, DynamicVocabularyManager* own,
                                           const Drafter* drafter);

  /// Takes one snapshot of each vocabulary used in `work`; drops those of the previous step.
  std::span<const Snapshot> Take(std::span<const StepWork> work);
  /// Returns the snapshot taken for `work`.
  const Snapshot& Of(const StepWork& work) const;
  /// Drops all snapshots.
  void Clear() { snapshots_.clear(); }

  DynamicVocabularyManager& ManagerOf(const StepWork& work) const {
    return work.vocab != nullptr ? *work.vocab : *own_;
  }
  bool IsOwn(const Snapshot& snapshot) const { return snapshot.of == own_; }
  /// Valid as long as this object.
  const ActiveVocab& full_head() const { return *full_head_; }

 private:
  StepVocabs(int64_t vocab_size, DynamicVocabularyManager* own, const Drafter* drafter,
             std::unique_ptr<DynamicVocabularyManager> all_rows);
  absl::Status CheckFit(const ActiveVocab& active) const;

  int64_t vocab_size_;
  const Drafter* drafter_;
  std::unique_ptr<DynamicVocabularyManager> all_rows_;  // used as `own_` if no other is given
  DynamicVocabularyManager* own_;
  std::shared_ptr<const ActiveVocab> full_head_;
  std::vector<Snapshot> snapshots_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_STEP_VOCABS_H_
