#ifndef SHORTLIST_VOCAB_REQUEST_TAIL_H_
#define SHORTLIST_VOCAB_REQUEST_TAIL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// The rows that one request adds to the active vocabulary for itself alone: tokens of its prompt
/// and its escapes, at most `capacity`. Rows are stable (an id keeps its row until it is evicted,
/// least recently added first; the newcomer takes that row; Reconcile alone may move one). Owned
/// by one request; not thread-safe.
class RequestTail {
 public:
  explicit RequestTail(int64_t capacity) : capacity_(capacity) {}

  /// Reconciles, then adds what is neither in `active` nor here; ids already here become recent. Of
  /// more ids than fit, the last ones stay. Ids in [0, active.vocab_size()). Adds nothing to the
  /// full head, which scores every row already, or when capacity is 0.
  void Add(std::span<const TokenId> ids, const ActiveVocab& active);

  /// Drops ids that `active` now holds (the full head: all of them), so that base, shared part and
  /// tail are disjoint within a step. The last row takes the row of a dropped one. Cheap when
  /// `active` is the snapshot seen last.
  void Reconcile(const ActiveVocab& active);

  /// [size] token id of each tail row.
  std::span<const int32_t> ids() const { return ids_; }
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  int64_t capacity() const { return capacity_; }
  bool Contains(TokenId id) const;

 private:
  int64_t capacity_;
  uint64_t clock_ = 0;
  uint64_t active_serial_ = 0;
  std::vector<int32_t> ids_;
  std::vector<uint64_t> last_used_;  // [size]
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_REQUEST_TAIL_H_
