#ifndef SHORTLIST_MODEL_DECODER_LAYER_H_
#define SHORTLIST_MODEL_DECODER_LAYER_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/matrix.h"
#include "model/attention.h"
#include "model/checkpoint.h"
#include "model/checkpoint/config.h"
#include "model/delta_net.h"
#include "model/experts.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "model/layer_scratch.h"
#include "model/mlp.h"
#include "model/rope.h"

namespace shortlist {

/// What a layer's attention projects to queries, keys and values.
enum class AttentionInput {
  kNormed,  // norm(x), with a norm of the layer
  kPlain,   // x: the first layer of an EAGLE-1 draft
  kJoined,  // rows of 2 * hidden that the caller joins: the first layer of an EAGLE-3 draft
};

/// One layer: x += scale * norm(mixer(norm(x))), x += scale * norm(mlp(norm(x))), with the norms
/// that config.norms names, and config.residual_scale. The mixer is attention or a gated delta net;
/// experts may take the MLP's place. Immutable after Load.
class DecoderLayer {
 public:
  /// Reads the tensors of layer `index`, named `prefix` + "self_attn.q_proj.weight" and so on.
  /// `dtype` may be a quantised type. Errors and exceptions are those of Checkpoint::Load.
  static absl::StatusOr<DecoderLayer> Load(Checkpoint& checkpoint, const std::string& prefix,
                                           const ModelConfig& config, int64_t index,
                                           AttentionInput input, DType dtype, ThreadPool& pool);

  /// Updates the residual stream hidden: [batch.num_tokens(), hidden] in place, and stores the
  /// batch's keys and values in `cache`. `rope` (the table of this layer) and `scratch` have room
  /// for the batch. joined: [batch.num_tokens(), 2 * hidden] for AttentionInput::kJoined, else
  /// null. steps: of a recurrent layer, those of all sequences (DeltaNet::Forward).
  void Forward(const ModelConfig& config, const ForwardBatch& batch, const KvLayer& cache,
               const RopeTable& rope, float* hidden, LayerScratch& scratch, ThreadPool& pool,
               const float* joined = nullptr, std::span<const StateStep> steps = {}) const;

  /// Of a recurrent layer: DeltaNet::Replay. Of another one: nothing.
  void Replay(const ModelConfig& config, const StateStep& step, ThreadPool& pool) const;

 private:
  using Mixer = std::variant<Attention, DeltaNet>;
  using FeedForward = std::variant<Mlp, Experts>;
  DecoderLayer(int64_t index, Mixer mixer, FeedForward mlp)
      : index_(index), mixer_(std::move(mixer)), mlp_(std::move(mlp)) {}
  absl::Status LoadNorms(Checkpoint& checkpoint, const std::string& prefix,
                         const ModelConfig& config, bool has_input_norm, ThreadPool& pool);

  int64_t index_;
  Mixer mixer_;
  FeedForward mlp_;
  // [hidden] f32; undefined where the layer has no such norm.
  Matrix input_norm_, mixer_norm_, mlp_input_norm_, mlp_norm_;
};

/// Aborts unless `batch` and `cache` fit a model of `config` and `dtype`, with all ids, positions
/// and slots in range.
void CheckBatch(const ModelConfig& config, DType dtype, const ForwardBatch& batch,
                const KvCache& cache);

/// Largest position of `batch`, plus 1; 0 for an empty batch.
int64_t PositionsNeeded(const ForwardBatch& batch);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_DECODER_LAYER_H_
