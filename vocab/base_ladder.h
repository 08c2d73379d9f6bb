#ifndef SHORTLIST_VOCAB_BASE_LADDER_H_
#define SHORTLIST_VOCAB_BASE_LADDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "vocab/active_vocab.h"
#include "vocab/vocab_list.h"
#include "vocab/vocab_options.h"

namespace shortlist {

/// Bases of rising size to choose from. With a ranked list, each base contains the ids of the
/// smaller ones and has about 1.4 times as many; the last may be the full head. Without a list
/// there are two: the empty base, where a sketch chooses all rows, and the full head. Immutable;
/// any thread.
class BaseLadder {
 public:
  static constexpr int64_t kDefaultMinRows = 256;

  /// Makes the bases of `list`, which fits `target`, as `options` say (VocabOptions::auto_size and
  /// its bounds). Errors of SelectVocabBase; InvalidArgument for a list without ranks, or if the
  /// smallest base would exceed the list or the largest base.
  static absl::StatusOr<std::shared_ptr<const BaseLadder>> Create(VocabOptions options,
                                                                  VocabList list,
                                                                  const VocabTarget& target);

  /// Returns a ladder of the empty base and the full head.
  static absl::StatusOr<std::shared_ptr<const BaseLadder>> WithoutList(int64_t vocab_size);

  /// Rows of each size, rising; of the full head, all that it has. Ids without a row in the head
  /// (VocabTarget::head_rows) do not count.
  std::span<const int64_t> rows() const { return rows_; }
  /// Index of the initial size: the largest, which loses nothing before there are measurements.
  size_t start() const { return rows_.size() - 1; }
  bool ends_with_full_head() const { return ends_with_full_head_; }
  bool has_list() const { return rows_.front() > 0; }

  /// Returns the base of a size.
  absl::StatusOr<std::shared_ptr<const VocabBase>> Base(size_t size) const;

  /// Returns the first size at which a draft could propose `id` after `last`, rows().size() if
  /// none.
  size_t FirstSize(TokenId last, TokenId id) const;

 private:
  BaseLadder(VocabOptions options, VocabList list, const VocabTarget& target)
      : options_(std::move(options)), list_(std::move(list)), target_(target) {}

  const VocabOptions options_;
  const VocabList list_;
  const VocabTarget target_;
  std::vector<int64_t> rows_;
  bool ends_with_full_head_ = false;
  std::vector<uint8_t> first_size_;         // [vocab_size]
  std::shared_ptr<const VocabBase> least_;  // base of the first size, which has the most successors
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_BASE_LADDER_H_
