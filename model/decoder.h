#ifndef SHORTLIST_MODEL_DECODER_H_
#define SHORTLIST_MODEL_DECODER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "model/config.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"

namespace shortlist {

/// A Llama decoder on the CPU: embeddings, layers, final norm. It stops at hidden states; logits
/// are asked for where they are needed (draft/lm_head.h scores head_weight()).
///
/// Forward uses scratch memory and the pool: one call at a time. Everything else is immutable.
class Decoder {
 public:
  /// Loads config.json and the safetensors weights of `dir`. `dtype` is what weights and KV cache
  /// are kept in; nullopt keeps the checkpoint's. `pool` must outlive the decoder. Errors as
  /// ReadModelConfig and Checkpoint, and InvalidArgument for a shape that disagrees with the config
  /// or a weight that is not finite (names the tensor).
  static absl::StatusOr<std::unique_ptr<Decoder>> Load(const std::string& dir,
                                                       std::optional<DType> dtype,
                                                       ThreadPool& pool);
  ~Decoder();

  const ModelConfig& config() const;
  DType dtype() const;

  /// Runs the layers over `batch`, writes its keys and values into `cache` (created from config()
  /// and dtype()), and returns the hidden states after the final norm: [num_tokens, hidden] f32, a
  /// tensor of its own. Token ids are below vocab_size, positions below context_len, slots below
  /// cache.num_slots() (checked invariants). Row t does not depend on the rest of the batch, bit
  /// for bit.
  absl::StatusOr<at::Tensor> Forward(const ForwardBatch& batch, KvCache& cache);

  /// [vocab_size, hidden] in dtype(), row-major, contiguous. head_weight() is the same tensor when
  /// the checkpoint ties them.
  const at::Tensor& embedding() const;
  const at::Tensor& head_weight() const;

 private:
  struct Impl;
  explicit Decoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_DECODER_H_
