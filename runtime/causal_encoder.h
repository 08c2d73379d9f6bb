#ifndef SHORTLIST_RUNTIME_CAUSAL_ENCODER_H_
#define SHORTLIST_RUNTIME_CAUSAL_ENCODER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "model/decoder.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "router/kv_pool.h"
#include "router/radix_cache.h"

namespace shortlist {

/// A decoder that is used as an encoder: hidden states of texts, in which no token sees those
/// behind it. Where the states of last tokens alone are asked for, a prefix that texts share, in
/// one call or in several, is computed once: an instruction and a query before a hundred documents,
/// say. A state has the same bits whatever was shared.
///
/// One call at a time, and none of the decoder's beside it.
class CausalEncoder {
 public:
  struct Options {
    int64_t kept_tokens = 8192;  // keys and values that stay behind a call, latest used; at least 0
    int64_t pass_tokens = 512;   // of a pass through the layers; at least 1
  };
  /// Of texts whose last states were asked for.
  struct Stats {
    int64_t num_tokens = 0;    // of all texts
    int64_t num_computed = 0;  // of these, what was not shared
  };

  /// `decoder`, whose head is not used, must outlive this.
  explicit CausalEncoder(Decoder& decoder) : CausalEncoder(decoder, Options()) {}
  CausalEncoder(Decoder& decoder, const Options& options);

  using Text = std::span<const TokenId>;
  /// The hidden state after the final norm behind each text's last token, [texts.size(), hidden];
  /// or those of all texts' tokens, one text behind the other, [num_tokens, hidden]. f32.
  enum class Wanted { kLast, kAll };

  /// Begins on `texts`, whose tokens must stay until the last Advance; what was begun before is
  /// forgotten. InvalidArgument names a text whose length is not in [1, context_len], or an id that
  /// has no row.
  absl::Status Begin(std::span<const Text> texts, Wanted wanted);
  /// One pass through the layers. The states, a tensor of its own, when there is nothing more to
  /// do; nullopt before. ResourceExhausted without memory for keys and values, of which there are
  /// kept_tokens and as many as the longest text needs. After an error there is nothing begun.
  absl::StatusOr<std::optional<at::Tensor>> Advance();
  /// Both in one.
  absl::StatusOr<at::Tensor> States(std::span<const Text> texts, Wanted wanted);

  /// Makes room for keys and values of texts that are not long, which would come with the first
  /// call otherwise. ResourceExhausted as above.
  absl::Status Reserve() { return Reserve(NumSlots(/*text_len=*/0)); }

  const Stats& stats() const { return stats_; }

 private:
  /// A text that is being computed.
  struct Placed {
    size_t index;                // of the text
    std::vector<int32_t> slots;  // by position
    int64_t first_own = 0;       // slots before are those of others
    int64_t end_own = 0;         // slots before, from first_own on, are in nobody's prefix
    int32_t node = -1;           // locked, its path is the text; -1: the tree does not know it
  };
  /// Rows of a pass that are asked for, and where they go.
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

  Decoder& decoder_;
  const Options options_;
  // All four are made together, by Reserve.
  std::optional<KvCache> kv_;
  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<RadixCache> prefixes_;
  int32_t root_ = -1;

  // What was begun.
  std::vector<Text> texts_;
  Wanted wanted_ = Wanted::kLast;
  std::vector<int64_t> row_of_;  // [texts_.size()] where each one's states go
  at::Tensor states_;
  size_t next_ = 0;             // text to be placed
  std::vector<Placed> placed_;  // in this order
  size_t at_ = 0;               // of these, the one that is next in a pass,
  int64_t begin_ = 0;           // and its token
  ForwardBatch pass_;
  std::vector<Rows> rows_;  // of the pass
  Stats stats_;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_CAUSAL_ENCODER_H_
