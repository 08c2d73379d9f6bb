#ifndef SHORTLIST_VOCAB_REQUEST_TAIL_H_
#define SHORTLIST_VOCAB_REQUEST_TAIL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "vocab/active_vocab.h"
#include "vocab/row_source.h"

namespace shortlist {

/// The rows that one request adds to the active vocabulary for itself alone: tokens of its prompt,
/// its escapes and what else was discovered for it, at most `capacity`. Rows are stable (an id
/// keeps its row until it is evicted, least recently added first; the newcomer takes that row;
/// Reconcile alone may move one). Owned by one request; not thread-safe.
class RequestTail {
 public:
  explicit RequestTail(int64_t capacity) : capacity_(capacity) {}

  /// Reconciles, then adds what is neither in `active` nor here; ids already here become recent,
  /// and belong to the first of their sources from now on. Of more ids than fit, the last ones
  /// stay. `budget`: no more rows than this belong to `source`: beyond it a newcomer takes the row
  /// of the least recently added of these. Ids in [0, active.vocab_size()). Adds nothing to the
  /// full head, which scores every row already, or when capacity or budget is 0. Returns how many
  /// ids are new here.
  int64_t Add(std::span<const TokenId> ids, const ActiveVocab& active,
              RowSource source = RowSource::kOutput, int64_t budget = INT64_MAX);

  /// Drops ids that `active` now holds (the full head: all of them), so that base, shared part and
  /// tail are disjoint within a step. The last row takes the row of a dropped one. Cheap when
  /// `active` is the snapshot seen last.
  void Reconcile(const ActiveVocab& active);

  /// [size] token id of each tail row.
  std::span<const int32_t> ids() const { return ids_; }
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  int64_t capacity() const { return capacity_; }
  bool Contains(TokenId id) const { return SourceOf(id) != RowSource::kNone; }
  /// Whose row `id` has; kNone where it has none.
  RowSource SourceOf(TokenId id) const;
  /// The ids whose rows belong to `first` or to a source before it, in row order.
  std::vector<TokenId> IdsUpTo(RowSource first) const;

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
