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

/// The active vocabularies of one step at a time: one snapshot of each, from the first draft token
/// to the end of verification. Used by the engine's thread only.
class StepVocabs {
 public:
  struct Snapshot {
    DynamicVocabularyManager* of;
    std::shared_ptr<const ActiveVocab> active;
    // Why its requests are not drafted for, `active` being the full head: it has another size than
    // the target, or ids that the drafter has no rows of.
    absl::Status fit = {};
  };

  /// `own`: the vocabulary of work that names none; null: the full head. Null `drafter`: there is
  /// none. Both must outlive this. InvalidArgument when `own` does not fit target and drafter.
  static absl::StatusOr<StepVocabs> Create(int64_t vocab_size, DynamicVocabularyManager* own,
                                           const Drafter* drafter);

  /// Takes a snapshot of every vocabulary of `work`, each once; those of the step before are gone.
  std::span<const Snapshot> Take(std::span<const StepWork> work);
  /// The one that was taken for it.
  const Snapshot& Of(const StepWork& work) const;
  /// Lets go of them.
  void Clear() { snapshots_.clear(); }

  DynamicVocabularyManager& ManagerOf(const StepWork& work) const {
    return work.vocab != nullptr ? *work.vocab : *own_;
  }
  bool IsOwn(const Snapshot& snapshot) const { return snapshot.of == own_; }
  /// Valid while this is.
  const ActiveVocab& full_head() const { return *full_head_; }

 private:
  StepVocabs(int64_t vocab_size, DynamicVocabularyManager* own, const Drafter* drafter,
             std::unique_ptr<DynamicVocabularyManager> all_rows);
  absl::Status CheckFit(const ActiveVocab& active) const;

  int64_t vocab_size_;
  const Drafter* drafter_;
  std::unique_ptr<DynamicVocabularyManager> all_rows_;  // `own_` where there is no other
  DynamicVocabularyManager* own_;
  std::shared_ptr<const ActiveVocab> full_head_;
  std::vector<Snapshot> snapshots_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_STEP_VOCABS_H_
