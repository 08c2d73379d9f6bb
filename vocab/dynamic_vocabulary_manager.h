#ifndef SHORTLIST_VOCAB_DYNAMIC_VOCABULARY_MANAGER_H_
#define SHORTLIST_VOCAB_DYNAMIC_VOCABULARY_MANAGER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "vocab/active_vocab.h"
#include "vocab/row_source.h"

namespace shortlist {

/// Counters since construction, over all requests that drafted with this vocabulary.
struct VocabStats {
  int64_t num_emitted = 0;    // tokens emitted by the target
  CountsBySource num_held{};  // of these, by why the draft could propose them; kNone: escapes
  int64_t num_drafted = 0;    // tokens drafted from the shared rows
  // Of these, tokens outside the active vocabulary: always 0 unless a mapping is broken.
  int64_t num_unmapped = 0;
  int64_t num_added = 0;    // ids that entered the dynamic part
  int64_t num_evicted = 0;  // ids that left it to make room
  int64_t base_size = 0;
  int64_t dynamic_size = 0;
  int64_t dynamic_capacity = 0;

  /// Emitted tokens that the draft could have proposed, counted as in SequenceStats.
  int64_t num_covered() const { return num_emitted - num_held[Index(RowSource::kNone)]; }
};

/// Manages the active vocabulary of a draft model: a fixed base (may be empty) plus a bounded
/// dynamic part; or the full head, which needs no other part.
///
/// Thread-safe. Readers take a snapshot with Active() and then use it without any lock. Writers are
/// serialised and publish a new snapshot; no reader waits for that. Rows of the dynamic part are
/// stable: a new id takes the next free row, or the row of the id it evicts, and moves no other.
class DynamicVocabularyManager {
 public:
  struct Options {
    int64_t dynamic_capacity = 0;  // max ids in the dynamic part; 0: none is ever added
    std::vector<TokenId> pinned;   // never evicted once in the dynamic part
  };

  /// InvalidArgument for a null base, dynamic_capacity outside [0, vocab_size], or a pinned id
  /// outside [0, vocab_size).
  static absl::StatusOr<std::unique_ptr<DynamicVocabularyManager>> Create(
      std::shared_ptr<const VocabBase> base, Options options);
  ~DynamicVocabularyManager();

  /// Adds ids to the dynamic part; ids already active only become recent. Beyond capacity the least
  /// recently used id is evicted; among equally old ones (those of one call) the least frequent,
  /// then the one that entered first. Pinned ids are never evicted; if all are pinned, the new id
  /// is not added. Nor is an id without a row in the head (VocabBase::HasHeadRow). An id's
  /// frequency is how often it was named since it entered. OutOfRange for an id outside [0,
  /// vocab_size): nothing is changed then.
  absl::Status Add(std::span<const TokenId> ids);

  /// Learns from one verification. `emitted`: the tokens that the target emitted (accepted and
  /// corrected). `drafted`: the tokens proposed from the snapshot's rows (not from the request's
  /// own tail). Inactive tokens are added; active ids become recent. `snapshot`: the one that the
  /// step was drafted with, null: the current one. It decides coverage and mapping, because another
  /// request may have changed the vocabulary since. `held`: [emitted.size()] why the draft could
  /// propose each, the request's own rows included; those with kNone are counted as escapes. Empty
  /// `held`: by the snapshot. OutOfRange as in Add; InvalidArgument for another number of `held`,
  /// or a snapshot of another vocab_size. With the full head nothing is learnt, only counted.
  absl::Status Observe(std::span<const TokenId> emitted, std::span<const TokenId> drafted,
                       const ActiveVocab* snapshot = nullptr, std::span<const RowSource> held = {});

  /// Returns the current snapshot; never null. Copies one pointer under a mutex that is only held
  /// for such a copy.
  std::shared_ptr<const ActiveVocab> Active() const;
  int64_t ActiveSize() const { return Active()->size(); }

  /// Replaces the fixed part while requests run. Dynamic ids that are in the new base leave the
  /// dynamic part, and so do those without a row in its head; the others keep their order.
  /// InvalidArgument if the base is null or vocab_size
  /// differs.
  absl::Status ReplaceBase(std::shared_ptr<const VocabBase> base);

  VocabStats Stats() const;
  /// Returns each escaped id with its number of escapes, most frequent first, ties to the lower id:
  /// the raw material of a better list.
  std::vector<std::pair<TokenId, int64_t>> Escapes() const;

 private:
  struct State;
  explicit DynamicVocabularyManager(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_DYNAMIC_VOCABULARY_MANAGER_H_
