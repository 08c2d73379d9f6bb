#ifndef SHORTLIST_VOCAB_HEAD_ROWS_H_
#define SHORTLIST_VOCAB_HEAD_ROWS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"

namespace shortlist {

/// The tokens that have a row in a draft's head which lacks rows for the others. EAGLE-3 heads are
/// such: trained with rows for the most frequent tokens alone. Row i is that of token ids()[i].
/// Immutable; any thread.
class HeadRows {
 public:
  /// `ids` ascend. InvalidArgument names the index, the id and the bound if they do not, if one is
  /// not in [0, vocab_size), if there is none, or for a vocab_size outside [1, 2^31).
  static absl::StatusOr<std::shared_ptr<const HeadRows>> Create(std::vector<int32_t> ids,
                                                                int64_t vocab_size);

  int64_t size() const { return std::ssize(ids_); }
  int64_t vocab_size() const { return std::ssize(row_of_); }
  std::span<const int32_t> ids() const { return ids_; }  // [size] ascending
  /// Returns the row of `id`, -1 if it has none. `id` in [0, vocab_size).
  int32_t RowOf(TokenId id) const { return row_of_[Raw(id)]; }
  /// Number of rows of tokens below `end`: the first ones.
  int64_t NumBelow(int64_t end) const;

 private:
  HeadRows(std::vector<int32_t> ids, std::vector<int32_t> row_of)
      : ids_(std::move(ids)), row_of_(std::move(row_of)) {}

  std::vector<int32_t> ids_;
  std::vector<int32_t> row_of_;  // [vocab_size]
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_HEAD_ROWS_H_
