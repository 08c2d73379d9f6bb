#ifndef SHORTLIST_VOCAB_REQUEST_TAIL_H_
#define SHORTLIST_VOCAB_REQUEST_TAIL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "vocab/active_vocab.h"
#include "vocab/row_source.h"

namespace shortlist {

/// The rows that one request adds to the active vocabulary for itself: tokens of its prompt, its
/// escapes and other discovered tokens, at most `capacity`. Rows are stable: an id keeps its row
/// until it is evicted, least recently added first, and the new id takes that row. Only Reconcile
/// may move a row. Owned by one request; not thread-safe.
class RequestTail {
 public:
  explicit RequestTail(int64_t capacity) : capacity_(capacity) {}

  /// Calls Reconcile, then adds the ids that are neither in `active` nor in the tail. Ids without a
  /// row in the head (VocabBase::HasHeadRow) are ignored. Ids already
  /// in the tail become recent and keep the earlier RowSource of the two. If not all ids fit, the
  /// last ones stay. `budget`: maximum number of rows of `source`; beyond it a new id takes the
  /// least recently added of them. Ids are in [0, active.vocab_size()). Adds nothing to the full
  /// head, which scores every row already, or if capacity or budget is 0. Returns the number of new
  /// ids.
  int64_t Add(std::span<const TokenId> ids, const ActiveVocab& active,
              RowSource source = RowSource::kOutput, int64_t budget = INT64_MAX);

  /// Drops ids that `active` now contains (the full head: all of them), so that base, shared part
  /// and tail are disjoint within a step. The last row takes the row of a dropped one. Cheap if
  /// `active` is the snapshot of the last call.
  void Reconcile(const ActiveVocab& active);

  /// [size] token id of each tail row.
  std::span<const int32_t> ids() const { return ids_; }
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  int64_t capacity() const { return capacity_; }
  bool Contains(TokenId id) const { return SourceOf(id) != RowSource::kNone; }
  /// Returns the source of the row of `id`; kNone if it has no row.
  RowSource SourceOf(TokenId id) const;
  /// Returns the ids whose rows belong to `last` or to an earlier source, in row order.
  std::vector<TokenId> IdsUpTo(RowSource last) const;

 private:
  struct Row {
    uint64_t last_used;
    RowSource source;
  };
  void Insert(int32_t id, uint64_t time, RowSource source, int64_t budget);

  int64_t capacity_;
  uint64_t clock_ = 0;
  uint64_t active_serial_ = 0;
  std::vector<int32_t> ids_;
  std::vector<Row> rows_;  // [size]
  CountsBySource num_rows_{};
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_REQUEST_TAIL_H_
