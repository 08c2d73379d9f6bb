#ifndef SHORTLIST_VOCAB_ACTIVE_VOCAB_H_
#define SHORTLIST_VOCAB_ACTIVE_VOCAB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "vocab/head_rows.h"
#include "vocab/row_source.h"

namespace shortlist {

/// The fixed part of an active vocabulary: distinct token ids, sorted, with the inverse map.
/// Immutable and shared by every snapshot made from it (a draft head packs its rows once per
/// VocabBase).
class VocabBase {
 public:
  /// `ids` are in any order and may be empty. InvalidArgument names the id, index and bound for an
  /// id outside [0, vocab_size) or a repeated one, and a vocab_size outside [1, 2^31).
  ///
  /// `successors`: [vocab_size], or empty: for each token the tokens that follow it, most likely
  /// first, distinct and in range (else InvalidArgument). The first `max_successors` of each that
  /// are not in `ids` are kept.
  ///
  /// `head_rows`: the tokens that have a row in the head; null: all. Ids and successors without a
  /// row are left out. InvalidArgument for head rows of another vocab_size.
  static absl::StatusOr<std::shared_ptr<const VocabBase>> Create(
      std::span<const TokenId> ids, int64_t vocab_size,
      std::span<const std::vector<TokenId>> successors = {}, int64_t max_successors = 0,
      std::shared_ptr<const HeadRows> head_rows = nullptr);

  /// Returns the base that represents all rows of a head, in ascending order of token ids. Row
  /// numbers are token ids if all tokens have a row. The base has no ids of its own and no dynamic
  /// part. InvalidArgument for a vocab_size outside [1, 2^31), or head rows of another one.
  static absl::StatusOr<std::shared_ptr<const VocabBase>> FullHead(
      int64_t vocab_size, std::shared_ptr<const HeadRows> head_rows = nullptr);

  bool is_full_head() const { return is_full_head_; }
  int64_t vocab_size() const { return vocab_size_; }
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  /// Number of rows that a draft step scores for this base alone: size(), or all of the full head.
  int64_t num_rows() const {
    if (!is_full_head_) return size();
    return head_rows_ != nullptr ? head_rows_->size() : vocab_size_;
  }
  /// Null: every token has a row in the head.
  const std::shared_ptr<const HeadRows>& head_rows() const { return head_rows_; }
  /// True if the head has a row for `id`, in [0, vocab_size): only then can it be active.
  bool HasHeadRow(TokenId id) const { return head_rows_ == nullptr || head_rows_->RowOf(id) >= 0; }
  /// The largest id or successor: a head must have a row for it. -1 if there is none, and for the
  /// full head, which fits any head.
  int32_t largest_id() const { return largest_id_; }
  /// [size] ascending; row s holds ids()[s].
  std::span<const int32_t> ids() const { return ids_; }
  /// Returns the row of `id`, -1 if it has none. `id` in [0, vocab_size).
  int32_t RowOf(TokenId id) const {
    if (!is_full_head_) return row_of_[Raw(id)];
    return head_rows_ != nullptr ? head_rows_->RowOf(id) : Raw(id);
  }

  /// Returns the ids to score after the token `last` in addition to the base: distinct ids outside
  /// the base, most likely first, at most max_successors(). `last` in [0, vocab_size).
  std::span<const int32_t> SuccessorsOf(TokenId last) const;
  bool IsSuccessor(TokenId last, TokenId id) const;
  /// Length of the longest SuccessorsOf().
  int64_t max_successors() const { return max_successors_; }

 private:
  VocabBase() = default;
  absl::Status KeepSuccessors(std::span<const std::vector<TokenId>> successors, int64_t max);

  bool is_full_head_ = false;
  int64_t vocab_size_ = 0;
  std::shared_ptr<const HeadRows> head_rows_;
  std::vector<int32_t> ids_;
  std::vector<int32_t> row_of_;  // [vocab_size]; empty for the full head
  int32_t largest_id_ = -1;
  int64_t max_successors_ = 0;
  std::vector<int64_t> successors_begin_;  // [vocab_size + 1]; empty if there are no successors
  std::vector<int32_t> successors_;
};

/// One version of the active vocabulary: base rows 0 .. base_size - 1 in ascending id order, then
/// the shared dynamic part in stable rows. Immutable; any thread may read it. A speculation step
/// holds one snapshot from its first draft token to its verification, because (snapshot, row -> id,
/// draft probabilities) belong together.
///
/// A request scores more rows after these: its own tail, and the base's successors of its last
/// token.
///
/// The full head is a snapshot too: it has no rows of its own, and all tokens with a row in the
/// head are active (VocabBase::FullHead).
class ActiveVocab {
 public:
  /// Returns the full head of a vocabulary of `vocab_size` in [1, 2^31).
  static std::shared_ptr<const ActiveVocab> FullHead(int64_t vocab_size);

  /// `dynamic`: the shared part in row order; disjoint from `base`, distinct, in range, and with
  /// rows in the head (checked invariants).
  ActiveVocab(uint64_t version, std::shared_ptr<const VocabBase> base,
              std::vector<int32_t> dynamic);

  uint64_t version() const { return version_; }
  /// Differs from the serial of every other snapshot in this process.
  uint64_t serial() const { return serial_; }
  bool is_full_head() const { return base_->is_full_head(); }
  int64_t vocab_size() const { return base_->vocab_size(); }
  int64_t base_size() const { return base_->size(); }
  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  const std::shared_ptr<const VocabBase>& base() const { return base_; }

  /// [size] token id of each row; empty for the full head.
  std::span<const int32_t> rows() const { return rows_; }

  /// `row` in [0, size); for the full head in [0, base()->num_rows()).
  TokenId ToTokenId(DraftId row) const {
    if (!is_full_head()) return TokenId{rows_[Raw(row)]};
    const HeadRows* const head_rows = base_->head_rows().get();
    return TokenId{head_rows != nullptr ? head_rows->ids()[Raw(row)] : Raw(row)};
  }
  /// Returns the row of `id`, nullopt if it is not active. `id` in [0, vocab_size). O(1).
  std::optional<DraftId> Find(TokenId id) const;
  bool Contains(TokenId id) const { return Find(id).has_value(); }
  /// Returns kBase, kShared or kNone.
  RowSource SourceOf(TokenId id) const;

 private:
  uint64_t version_;
  uint64_t serial_;
  std::shared_ptr<const VocabBase> base_;
  std::vector<int32_t> rows_;
  std::unordered_map<int32_t, int32_t> dynamic_row_;  // token id -> row
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_ACTIVE_VOCAB_H_
