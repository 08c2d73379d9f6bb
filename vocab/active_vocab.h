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

namespace shortlist {

/// The fixed part of an active vocabulary: distinct token ids, sorted, with the inverse map.
/// Immutable and shared by every snapshot made from it (a draft head packs its rows once per
/// VocabBase).
class VocabBase {
 public:
  /// `ids` in any order. InvalidArgument for an id outside [0, vocab_size) or a repeated one (names
  /// id, index and bound). Empty is fine.
  ///
  /// `successors`: [vocab_size], or empty: for every token the tokens that follow it, likeliest
  /// first, distinct and in range (else InvalidArgument). The first `max_successors` of each that
  /// are not in `ids` are kept.
  static absl::StatusOr<std::shared_ptr<const VocabBase>> Create(
      std::span<const TokenId> ids, int64_t vocab_size,
      std::span<const std::vector<TokenId>> successors = {}, int64_t max_successors = 0);

  int64_t vocab_size() const { return static_cast<int64_t>(slot_of_.size()); }
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  /// The largest of its ids and successors: a head must have a row of it. -1: there is none.
  int32_t largest_id() const { return largest_id_; }
  /// [size] ascending; slot s holds ids()[s].
  std::span<const int32_t> ids() const { return ids_; }
  /// Slot of `id`, or -1. `id` in [0, vocab_size).
  int32_t SlotOf(TokenId id) const { return slot_of_[Raw(id)]; }

  /// What is to be scored behind the token `last` besides the base: distinct ids outside of it,
  /// likeliest first, at most max_successors(). `last` in [0, vocab_size).
  std::span<const int32_t> SuccessorsOf(TokenId last) const;
  bool IsSuccessor(TokenId last, TokenId id) const;
  /// The longest of them.
  int64_t max_successors() const { return max_successors_; }

 private:
  VocabBase() = default;
  absl::Status KeepSuccessors(std::span<const std::vector<TokenId>> successors, int64_t max);

  std::vector<int32_t> ids_;
  std::vector<int32_t> slot_of_;  // [vocab_size]
  int32_t largest_id_ = -1;
  int64_t max_successors_ = 0;
  std::vector<int64_t> successors_begin_;  // [vocab_size + 1], empty where there are none
  std::vector<int32_t> successors_;
};

/// One version of the active vocabulary: base slots 0 .. base_size - 1 in ascending id order, then
/// the shared dynamic part in stable slots. Immutable; any thread may read it. A speculation step
/// holds one snapshot from its first draft token to its verification, because (snapshot, slot ->
/// id, draft probabilities) belong together.
///
/// A request scores more behind these slots: its own tail, and the base's successors of the token
/// that it is at.
///
/// An empty snapshot means: the full head. Slots are then token ids.
class ActiveVocab {
 public:
  /// `dynamic`: the shared part in slot order, disjoint from `base`, distinct, in range (checked
  /// invariants).
  ActiveVocab(uint64_t version, std::shared_ptr<const VocabBase> base,
              std::vector<int32_t> dynamic);

  uint64_t version() const { return version_; }
  bool empty() const { return rows_.empty(); }
  int64_t vocab_size() const { return base_->vocab_size(); }
  int64_t base_size() const { return base_->size(); }
  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  const std::shared_ptr<const VocabBase>& base() const { return base_; }

  /// [size] token id of each slot.
  std::span<const int32_t> rows() const { return rows_; }

  /// `slot` in [0, size).
  TokenId ToTokenId(DraftId slot) const { return TokenId{rows_[Raw(slot)]}; }
  /// The slot of `id`, or nullopt when it is not active. `id` in [0, vocab_size). O(1).
  std::optional<DraftId> Find(TokenId id) const;
  bool Contains(TokenId id) const { return Find(id).has_value(); }

 private:
  uint64_t version_;
  std::shared_ptr<const VocabBase> base_;
  std::vector<int32_t> rows_;
  std::unordered_map<int32_t, int32_t> dynamic_slot_;  // token id -> slot
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_ACTIVE_VOCAB_H_
