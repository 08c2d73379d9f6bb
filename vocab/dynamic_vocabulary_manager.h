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

/// Counters since construction, of all requests that drafted by this vocabulary.
struct VocabStats {
  int64_t num_emitted = 0;    // tokens the target emitted
  CountsBySource num_held{};  // of these, by why the draft could propose them; kNone: escapes
  int64_t num_drafted = 0;    // tokens drafted from the rows that requests share
  // Of these, outside the active vocabulary: always 0 unless a mapping is broken.
  int64_t num_unmapped = 0;
  int64_t num_added = 0;    // ids that entered the dynamic part
  int64_t num_evicted = 0;  // ids that left it to make room
  int64_t base_size = 0;
  int64_t dynamic_size = 0;
  int64_t dynamic_capacity = 0;

  /// Tokens that the draft could have proposed, as SequenceStats counts them.
  int64_t num_covered() const { return num_emitted - num_held[Index(RowSource::kNone)]; }
};

/// Keeps the active vocabulary of a draft model: a fixed base (may be empty) plus a bounded dynamic
/// part; or the full head, which needs no other part.
///
/// Thread-safe. Readers take a snapshot with Active(), then work on it without any lock; writers
/// serialise among themselves and publish a new snapshot, for which no reader ever waits. Rows of
/// the dynamic part are stable: adding an id takes the next free row, or the row of the id it
/// evicts, and moves no other.
class DynamicVocabularyManager {
 public:
  struct Options {
    int64_t dynamic_capacity = 0;  // most ids in the dynamic part; 0: none is ever added
    std::vector<TokenId> pinned;   // never evicted once they are in the dynamic part
  };

  /// InvalidArgument for a null base, dynamic_capacity outside
  /// [0, vocab_size] or a pinned id outside [0, vocab_size).
  static absl::StatusOr<std::unique_ptr<DynamicVocabularyManager>> Create(
      std::shared_ptr<const VocabBase> base, Options options);
  ~DynamicVocabularyManager();

  /// Adds ids to the dynamic part; ids already active only become recent. Beyond capacity the least
  /// recently used id leaves, the less frequent first among equally old ones (those of one call are
  /// equally old), then the one that entered first; pinned ids never; when all are pinned the new
  /// id is not added. An id's frequency is how often calls named it since it entered. OutOfRange
  /// for an id outside [0, vocab_size): nothing is changed then.
  absl::Status Add(std::span<const TokenId> ids);

  /// Learns from one verification: `emitted` are the tokens the target emitted (accepted and
  /// corrected), `drafted` what was proposed from the snapshot's rows (not from the request's own
  /// tail). What is not active is added; active ids become recent. `snapshot` is the one that the
  /// step was drafted with: coverage and mapping are judged by it, because another request may have
  /// changed the vocabulary since; null means the current one. `held`: [emitted.size()] why the
  /// draft could propose each, the request's own rows included; those with kNone are counted as
  /// escapes. Empty: as the snapshot says. OutOfRange as in Add; InvalidArgument for
  /// another number of `held`, or a snapshot of another vocab_size. The full head learns nothing.
  absl::Status Observe(std::span<const TokenId> emitted, std::span<const TokenId> drafted,
                       const ActiveVocab* snapshot = nullptr, std::span<const RowSource> held = {});

  /// The current snapshot; never null. Copies one pointer, under a mutex that nobody holds for
  /// longer than that.
  std::shared_ptr<const ActiveVocab> Active() const;
  int64_t ActiveSize() const { return Active()->size(); }

  /// Replaces the fixed part while requests run: dynamic ids that the new base holds leave the
  /// dynamic part, the others keep their order. InvalidArgument when it is null or vocab_size
  /// differs.
  absl::Status ReplaceBase(std::shared_ptr<const VocabBase> base);

  VocabStats Stats() const;
  /// Every id that escaped with how often, most frequent first, ties to the lower id: the raw
  /// material of a better list.
  std::vector<std::pair<TokenId, int64_t>> Escapes() const;

 private:
  struct State;
  explicit DynamicVocabularyManager(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_DYNAMIC_VOCABULARY_MANAGER_H_
