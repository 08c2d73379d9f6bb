#ifndef SHORTLIST_MODEL_FORWARD_BATCH_H_
#define SHORTLIST_MODEL_FORWARD_BATCH_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kernels/attention.h"

namespace shortlist {

class SequenceState;

/// The state of a sequence in a model with recurrent layers.
struct ChainState {
  SequenceState* state = nullptr;  // null: no such model, or a sequence that is not continued
  // Tokens at positions below this are never taken back; by default, all of the chain.
  int64_t final_len = std::numeric_limits<int64_t>::max();
  bool ends_prompt = false;  // another sequence with this prompt may go on before its last token
};

/// The flat batch of one forward pass: new tokens of several sequences, concatenated. Each token
/// has a position, a KV slot that receives it, and the slots that it attends to. Extend, decode and
/// verify are all chains; a tree adds branches. Owned by one thread and reused (Clear keeps the
/// memory).
class ForwardBatch {
 public:
  void Clear();

  /// Appends `tokens` at positions first_position, first_position + 1, ... of one sequence.
  /// kv_slots: [first_position + tokens.size()], the sequence's slots by position. Its last
  /// tokens.size() entries receive the new keys and values. `tokens` is not empty. With recurrent
  /// layers, state.state must contain the tokens before first_position, the last of them perhaps as
  /// pending ones.
  void AddChain(std::span<const TokenId> tokens, int64_t first_position,
                std::span<const int32_t> kv_slots, const ChainState& state = {});

  /// Appends the nodes of one draft tree below the prefix whose slots are `prefix_slots`, in
  /// position order. parents[i] < i is the parent node of node i, -1 for a child of the prefix's
  /// last token. Node i has position prefix_slots.size() + depth(i), attends to the prefix, its
  /// ancestors in depth order and itself, and is stored in node_slots[i]. tokens, parents,
  /// node_slots: [num_nodes], not empty.
  void AddTree(std::span<const TokenId> tokens, std::span<const int32_t> parents,
               std::span<const int32_t> prefix_slots, std::span<const int32_t> node_slots);

  /// Appends `num_chains` chains of `len` times token 0, in slots 0 .. num_chains * len - 1. For
  /// measuring the time of a pass before these slots are in use.
  void AddMadeUp(int64_t num_chains, int64_t len);

  /// Lets chains see slots that other chains of this batch store, from now until Clear. A prefix
  /// that several chains share is computed by one chain, which comes first.
  void ShareSlots() { shares_slots_ = true; }

  int64_t num_tokens() const { return static_cast<int64_t>(token_ids_.size()); }
  std::span<const int32_t> token_ids() const { return token_ids_; }  // [num_tokens]
  std::span<const int32_t> positions() const { return positions_; }  // [num_tokens]
  std::span<const int32_t> out_slots() const { return out_slots_; }  // [num_tokens] distinct
  /// A chain's part of the batch.
  struct Chain {
    int64_t first_token;
    int64_t num_tokens;
    ChainState state;
  };
  std::span<const Chain> chains() const { return chains_; }  // empty if there is a tree
  bool shares_slots() const { return shares_slots_; }
  /// Points into this batch: valid until the next Add or Clear.
  AttentionLayout layout() const;

 private:
  std::vector<int32_t> token_ids_, positions_, out_slots_;
  std::vector<int32_t> seq_of_token_, context_len_;
  std::vector<int32_t> kv_indptr_ = {0};
  std::vector<int32_t> kv_slots_;
  std::vector<int32_t> tail_indptr_ = {0};
  std::vector<int32_t> tail_slots_;
  std::vector<Chain> chains_;
  bool shares_slots_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_FORWARD_BATCH_H_
