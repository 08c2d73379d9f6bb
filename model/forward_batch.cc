#include "model/forward_batch.h"

#include <limits>
#include <numeric>

#include "base/check.h"

namespace shortlist {
namespace {

int32_t ToInt32(size_t value) {
  SHORTLIST_CHECK(value <= static_cast<size_t>(std::numeric_limits<int32_t>::max()));
  return static_cast<int32_t>(value);
}

}  // namespace

void ForwardBatch::Clear() {
  for (auto* list : {&token_ids_, &positions_, &out_slots_, &seq_of_token_, &context_len_,
                     &kv_slots_, &tail_slots_}) {
    list->clear();
  }
  kv_indptr_.assign(1, 0);
  tail_indptr_.assign(1, 0);
  chains_.clear();
  shares_slots_ = false;
}

void ForwardBatch::AddChain(std::span<const TokenId> tokens, int64_t first_position,
                            std::span<const int32_t> kv_slots, const ChainState& state) {
  SHORTLIST_CHECK(!tokens.empty());
  SHORTLIST_CHECK(first_position >= 0);
  SHORTLIST_CHECK(kv_slots.size() == static_cast<size_t>(first_position) + tokens.size());
  const int32_t seq = ToInt32(kv_indptr_.size() - 1);
  kv_slots_.insert(kv_slots_.end(), kv_slots.begin(), kv_slots.end());
  kv_indptr_.push_back(ToInt32(kv_slots_.size()));
  chains_.push_back({num_tokens(), std::ssize(tokens), state});
  for (size_t i = 0; i < tokens.size(); ++i) {
    const size_t position = static_cast<size_t>(first_position) + i;
    token_ids_.push_back(Raw(tokens[i]));
    positions_.push_back(ToInt32(position));
    out_slots_.push_back(kv_slots[position]);
    seq_of_token_.push_back(seq);
    context_len_.push_back(ToInt32(position + 1));
    tail_indptr_.push_back(tail_indptr_.back());
  }
}

void ForwardBatch::AddMadeUp(int64_t num_chains, int64_t len) {
  SHORTLIST_CHECK(num_chains >= 1 && len >= 1);
  const std::vector<TokenId> tokens(len, TokenId{0});
  std::vector<int32_t> slots(num_chains * len);
  std::iota(slots.begin(), slots.end(), 0);
  for (int64_t chain = 0; chain < num_chains; ++chain) {
    AddChain(tokens, /*first_position=*/0, std::span(slots).subspan(chain * len, len));
  }
}

void ForwardBatch::AddTree(std::span<const TokenId> tokens, std::span<const int32_t> parents,
                           std::span<const int32_t> prefix_slots,
                           std::span<const int32_t> node_slots) {
  SHORTLIST_CHECK(!tokens.empty());
  SHORTLIST_CHECK(parents.size() == tokens.size() && node_slots.size() == tokens.size());
  chains_.clear();
  const int32_t seq = ToInt32(kv_indptr_.size() - 1);
  const int32_t prefix_len = ToInt32(prefix_slots.size());
  kv_slots_.insert(kv_slots_.end(), prefix_slots.begin(), prefix_slots.end());
  kv_indptr_.push_back(ToInt32(kv_slots_.size()));
  const size_t first_token = token_ids_.size();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int32_t parent = parents[i];
    SHORTLIST_CHECK(parent >= -1 && parent < static_cast<int32_t>(i));
    // A node's tail is its parent's tail and itself.
    if (parent >= 0) {
      const size_t parent_token = first_token + static_cast<size_t>(parent);
      for (int32_t p = tail_indptr_[parent_token]; p < tail_indptr_[parent_token + 1]; ++p) {
        tail_slots_.push_back(tail_slots_[static_cast<size_t>(p)]);
      }
    }
    tail_slots_.push_back(node_slots[i]);
    const int32_t tail_len = ToInt32(tail_slots_.size()) - tail_indptr_.back();
    tail_indptr_.push_back(ToInt32(tail_slots_.size()));
    token_ids_.push_back(Raw(tokens[i]));
    positions_.push_back(prefix_len + tail_len - 1);
    out_slots_.push_back(node_slots[i]);
    seq_of_token_.push_back(seq);
    context_len_.push_back(prefix_len);
  }
}

AttentionLayout ForwardBatch::layout() const {
  AttentionLayout layout;
  layout.num_tokens = num_tokens();
  layout.seq_of_token = seq_of_token_.data();
  layout.kv_indptr = kv_indptr_.data();
  layout.kv_slots = kv_slots_.data();
  layout.context_len = context_len_.data();
  layout.tail_indptr = tail_slots_.empty() ? nullptr : tail_indptr_.data();
  layout.tail_slots = tail_slots_.data();
  layout.shares_slots = shares_slots_;
  return layout;
}

}  // namespace shortlist
