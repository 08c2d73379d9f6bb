#ifndef SHORTLIST_MODEL_DECODER_H_
#define SHORTLIST_MODEL_DECODER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "io/model_source.h"
#include "kernels/head.h"
#include "model/checkpoint/config.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"

namespace shortlist {

/// A decoder of any ModelConfig but an EAGLE draft's, on the CPU: embeddings, layers, final norm.
/// It stops at hidden states; logits are asked for where they are needed (head/lm_head.h scores
/// head_weight()).
///
/// Forward uses scratch memory and the pool: one call at a time. Everything else is immutable.
class Decoder {
 public:
  /// Loads config.json and the safetensors weights of `source`. `dtype` is what weights and KV
  /// cache are kept in; nullopt keeps the checkpoint's. `quantize` (kInt8, kInt4) quantises the
  /// linear layers and the head instead (kernels/quant.h); embeddings and KV cache stay in `dtype`,
  /// so a head that is tied to the embeddings becomes a quantised copy of them. `pool` must outlive
  /// the decoder. Errors as ReadModelConfig and Checkpoint, and InvalidArgument for a shape that
  /// disagrees with the config or a weight that is not finite (names the tensor).
  static absl::StatusOr<std::unique_ptr<Decoder>> Load(
      const ModelSource& source, std::optional<DType> dtype, ThreadPool& pool,
      std::optional<DType> quantize = std::nullopt);
  ~Decoder();

  const ModelConfig& config() const;
  /// Of the embeddings and the KV cache.
  DType dtype() const;
  /// Of the linear layers and the head: dtype(), or what they are quantised to.
  DType weight_dtype() const;

  /// Runs the layers over `batch`, writes its keys and values into `cache` (created from config()
  /// and dtype()), and returns the hidden states after the final norm: [num_tokens, hidden] f32, a
  /// tensor of its own. Token ids are below vocab_size, positions below context_len, slots below
  /// cache.num_slots() (checked invariants). Row t does not depend on the rest of the batch, bit
  /// for bit.
  absl::StatusOr<at::Tensor> Forward(const ForwardBatch& batch, KvCache& cache);

  /// [vocab_size, hidden] in dtype(), row-major, contiguous.
  const at::Tensor& embedding() const;
  /// False for a body alone, whose hidden states make embeddings.
  bool has_head() const;
  /// Precondition: has_head(). The head's rows in weight_dtype(); the embedding's memory when the
  /// checkpoint ties them and they are not quantised.
  HeadWeight head_weight() const;

 private:
  struct Impl;
  explicit Decoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_DECODER_H_
