#ifndef SHORTLIST_RUNTIME_PREFIX_ENCODER_H_
#define SHORTLIST_RUNTIME_PREFIX_ENCODER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
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

/// A decoder that is asked for the state behind a text's last token alone, as last-token pooling
/// and rerankers are. No token sees those behind it, so a prefix that texts share, in one call or
/// in several, is computed once: an instruction and a query before a hundred documents, say. A
/// state has the same bits whatever was shared.
///
/// One call at a time, and none of the decoder's beside it.
class PrefixEncoder {
 public:
  struct Options {
    int64_t kept_tokens = 8192;  // keys and values that stay behind a call, latest used; at least 0
    int64_t pass_tokens = 1024;  // of a pass through the layers; at least 1
  };
  struct Stats {
    int64_t num_tokens = 0;    // of all texts
    int64_t num_computed = 0;  // of these, what was not shared
  };

  /// `decoder`, whose head is not used, must outlive this.
  explicit PrefixEncoder(Decoder& decoder) : PrefixEncoder(decoder, Options()) {}
  PrefixEncoder(Decoder& decoder, const Options& options);

  using Text = std::span<const TokenId>;
  /// The hidden state after the final norm behind each text's last token: [texts.size(), hidden]
  /// f32, a tensor of its own. InvalidArgument names a text whose length is not in
  /// [1, context_len], or an id that has no row; ResourceExhausted without memory for keys and
  /// values.
  absl::StatusOr<at::Tensor> LastStates(std::span<const Text> texts);

  const Stats& stats() const { return stats_; }

 private:
  /// A text that is being computed.
  struct Placed {
    size_t index;                // of the text
    std::vector<int32_t> slots;  // by position
    int64_t first_own = 0;       // slots before are those of others
    int64_t end_own = 0;         // slots before, from first_own on, are in nobody's prefix
    int32_t node = -1;           // locked; its path is the text
  };

  absl::Status Check(std::span<const Text> texts) const;
  absl::Status Reserve(int64_t num_slots);
  bool Place(size_t index, Text text);
  absl::Status Compute(std::span<const Text> texts, float* states);
  absl::Status RunPass(float* states);
  void Release();

  Decoder& decoder_;
  const Options options_;
  // All four are made together, by Reserve.
  std::optional<KvCache> kv_;
  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<RadixCache> prefixes_;
  int32_t root_ = -1;

  std::vector<Placed> placed_;
  ForwardBatch pass_;
  std::vector<std::pair<int64_t, size_t>> ends_;  // in the pass: a last token, and of which text
  Stats stats_;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_PREFIX_ENCODER_H_
