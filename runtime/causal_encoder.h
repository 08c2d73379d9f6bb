#ifndef SHORTLIST_RUNTIME_CAUSAL_ENCODER_H_
#define SHORTLIST_RUNTIME_CAUSAL_ENCODER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "kernels/matrix.h"
#include "model/executor.h"
#include "model/forward_batch.h"
#include "router/kv_pool.h"
#include "router/radix_cache.h"

namespace shortlist {

/// Uses a causal model as an encoder: computes hidden states of texts, in which each token sees
/// only earlier ones. If only last states are requested, a prefix that texts share, within one call
/// or across calls, is computed once (for example an instruction and a query before a hundred
/// documents). A state has the same bits regardless of sharing.
///
/// One call at a time, and no other pass of the model at the same time.
class CausalEncoder {
 public:
  struct Options {
    // tokens whose KV is kept after a call, most recently used; at least 0
    int64_t kept_tokens = 8192;
    int64_t pass_tokens = 512;  // per pass through the layers; at least 1
  };
  /// Counts texts whose last states were requested.
  struct Stats {
    int64_t num_tokens = 0;    // of all texts
    int64_t num_computed = 0;  // tokens of those that were not shared
  };

  /// `model` must outlive this object; its head is not used.
  explicit CausalEncoder(CausalModel& model) : CausalEncoder(model, Options()) {}
  CausalEncoder(CausalModel& model, const Options& options);

  using Text = std::span<const TokenId>;
  /// kLast: the hidden state after the final norm of each text's last token, [texts.size(),
  /// hidden]. kAll: those of all tokens, texts concatenated, [num_tokens, hidden]. f32.
  enum class Wanted { kLast, kAll };

  /// Begins on `texts`, whose tokens must live until the last Advance(), and discards unfinished
  /// work. Returns InvalidArgument with a text whose length is not in [1, context_len], or an id
  /// without a row.
  absl::Status Begin(std::span<const Text> texts, Wanted wanted);
  /// Runs one pass through the layers. Returns the states (a new tensor) after the last pass,
  /// nullopt before. Returns ResourceExhausted if there is no memory for the KV slots: kept_tokens
  /// plus those of the longest text. An error discards all unfinished work.
  absl::StatusOr<std::optional<Matrix>> Advance();
  /// Calls Begin(), then Advance() until done.
  absl::StatusOr<Matrix> States(std::span<const Text> texts, Wanted wanted);

  /// Allocates KV slots for short texts in advance; otherwise the first call does. Returns
  /// ResourceExhausted as Advance() does.
  absl::Status Reserve() { return Reserve(NumSlots(/*text_len=*/0)); }

  const Stats& stats() const { return stats_; }

 private:
  /// A text being computed.
  struct Placed {
    size_t index;                // of the text
    std::vector<int32_t> slots;  // by position
    int64_t first_own = 0;       // earlier slots are shared with other texts
    int64_t end_own = 0;         // slots [first_own, end_own) are not in the tree
    int32_t node = -1;           // locked, its path is the text; -1: the text is not in the tree
    std::unique_ptr<SequenceState> state = nullptr;  // of recurrent layers; null: there are none
  };
  /// Requested rows of a pass, and their destination in `states_`.
  struct Rows {
    int64_t first = 0, count = 0;
    int64_t to = 0;
  };

  int64_t NumSlots(int64_t text_len) const;
  absl::Status Check(std::span<const Text> texts) const;
  absl::Status Reserve(int64_t num_slots);
  void MakeTree(int64_t num_slots);
  void Drop();
  bool PlaceSome();
  bool Place(size_t index, Text text);
  bool PlaceAlone(size_t index, Text text);
  void FillPass();
  absl::Status RunPass();
  void Release();

  CausalModel& model_;
  const Options options_;
  // All four are created together, by Reserve().
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<RadixCache> prefixes_;
  int32_t root_ = -1;

  // The work that was begun.
  std::vector<Text> texts_;
  Wanted wanted_ = Wanted::kLast;
  std::vector<int64_t> row_of_;  // [texts_.size()] first row of each text in `states_`
  Matrix states_;
  size_t next_ = 0;             // next text to place
  std::vector<Placed> placed_;  // in order of computation
  size_t at_ = 0;               // index in `placed_` of the next text to compute
  int64_t begin_ = 0;           // next token of that text
  ForwardBatch pass_;
  std::vector<Rows> rows_;  // of the current pass
  Stats stats_;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_CAUSAL_ENCODER_H_
