#ifndef SHORTLIST_MODEL_DECODER_H_
#define SHORTLIST_MODEL_DECODER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "io/model_source.h"
#include "kernels/head.h"
#include "kernels/matrix.h"
#include "model/checkpoint/config.h"
#include "model/executor.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "model/prefix_states.h"
#include "model/sequence_state.h"

namespace shortlist {

/// A decoder of any ModelConfig except an EAGLE draft's, on the CPU: embeddings, layers, final
/// norm. Returns hidden states; head/pruned_head.h computes logits from head_weight() where needed.
///
/// Forward uses scratch memory and the pool: one call at a time. Everything else is immutable.
class Decoder final : public CausalModel {
 public:
  /// Loads config.json and the weights of `source`. `dtype` is the type of weights and KV cache;
  /// nullopt keeps the checkpoint's type. `quantize` (kInt8, kInt4) quantises the linear layers and
  /// the head (kernels/quant.h). Embeddings and KV cache stay in `dtype`, so a head tied to the
  /// embeddings becomes a quantised copy of them. Without either, the blocks of a GGUF file are
  /// kept value for value (kernels/blocks.h), and the rest is bf16 or the type of an embedding that
  /// is not in blocks. `pool` must outlive the decoder. Errors are those of ReadModelConfig and
  /// Checkpoint, and InvalidArgument, naming the tensor, for a shape that disagrees with the config
  /// or a weight that is not finite.
  static absl::StatusOr<std::unique_ptr<Decoder>> Load(
      const ModelSource& source, std::optional<DType> dtype, ThreadPool& pool,
      std::optional<DType> quantize = std::nullopt);
  ~Decoder() override;

  const ModelConfig& config() const override;
  /// Type of the embeddings and the KV cache.
  DType dtype() const;
  /// Type of the linear layers and the head: dtype(), or the type they are quantised to. Layers and
  /// rows that are kept in blocks have types of their own.
  DType weight_dtype() const;
  /// Checkpoint::warning() of the weights.
  const std::string& warning() const;
  /// The names of all types of the linear layers and the head: "bf16", "Q4_K+Q6_K".
  std::string weight_types() const;

  int64_t slot_bytes() const override { return KvCache::SlotBytes(config(), dtype()); }
  int64_t state_bytes() const override { return SequenceState::Bytes(config()); }
  absl::StatusOr<std::unique_ptr<Executor>> NewExecutor(int64_t num_slots) override;

  /// Executor::Forward with a cache that was created from config() and dtype(). With recurrent
  /// layers, prompts leave states in `prefixes` unless it is null.
  absl::StatusOr<Matrix> Forward(const ForwardBatch& batch, KvCache& cache,
                                 StateTaps* taps = nullptr, PrefixStates* prefixes = nullptr);

  /// Brings `state` to its first `len` tokens, the last of which may be pending; without further
  /// pending ones.
  void Commit(SequenceState& state, int64_t len);

  /// [vocab_size, hidden] in dtype() or in blocks.
  HeadWeight embedding_weight() const;
  /// False for a body without a head, whose hidden states serve as embeddings.
  bool has_head() const;
  /// The head's rows in weight_dtype() or in blocks. They are the embedding's memory if the
  /// checkpoint ties them and they have the embedding's type. Precondition: has_head().
  HeadWeight head_weight() const override;

 private:
  struct Impl;
  explicit Decoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_DECODER_H_
