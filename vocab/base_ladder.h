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

/// Bases to choose a size from. Of a ranked list: each has the ids of those before it and about 1.4
/// times as many; the last may be the full head. Without a list: none, for a sketch to choose all
/// rows, or the full head. Immutable; any thread.
class BaseLadder {
 public:
  static constexpr int64_t kDefaultMinRows = 256;

  /// Of `list`, which fits `target`, as `options` say (VocabOptions::auto_size and its bounds).
  /// Errors of SelectVocabBase; InvalidArgument for a list without ranks, or whose ids are fewer
  /// than the least rows asked for.
  static absl::StatusOr<std::shared_ptr<const BaseLadder>> Create(VocabOptions options,
                                                                  VocabList list,
                                                                  const VocabTarget& target);

  /// No base, and the full head.
  static absl::StatusOr<std::shared_ptr<const BaseLadder>> WithoutList(int64_t vocab_size);

  /// Rows of each size, rising; those of the full head are the target's vocabulary.
  std::span<const int64_t> rows() const { return rows_; }
  /// The size to begin with: the last, with which nothing is lost before anything is known.
  size_t start() const { return rows_.size() - 1; }
  bool ends_with_full_head() const { return ends_with_full_head_; }
  bool has_list() const { return rows_.front() > 0; }

  /// The base of a size.
  absl::StatusOr<std::shared_ptr<const VocabBase>> Base(size_t size) const;

  /// The first size with which a draft could propose `id` behind `last`, rows().size() for none.
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
  std::shared_ptr<const VocabBase> least_;  // of the first size: it has the most successors
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_BASE_LADDER_H_
