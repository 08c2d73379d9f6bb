#ifndef SHORTLIST_MODEL_DELTA_NET_H_
#define SHORTLIST_MODEL_DELTA_NET_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/delta_net.h"
#include "kernels/linear.h"
#include "kernels/matrix.h"
#include "model/checkpoint.h"
#include "model/checkpoint/config.h"
#include "model/layer_scratch.h"
#include "model/sequence_state.h"

namespace shortlist {

/// What a pass does to the state of one of its sequences.
struct StateStep {
  SequenceState* state = nullptr;
  int64_t first_row = 0;     // of the sequence's new tokens in the batch
  int64_t num_new = 0;       // tokens of the batch, which follow the replayed ones
  int64_t num_replayed = 0;  // pending tokens that go before the new ones; the others are dropped
  // Leading tokens, replayed or new, that enter the state; the others become pending.
  int64_t num_final = 0;
  // Copies of the state after some of these tokens, at most num_final, in ascending order.
  struct Kept {
    int64_t num_tokens;
    SequenceState* copy;
  };
  std::vector<Kept> kept;

  int64_t num_tokens() const { return num_replayed + num_new; }
};

/// The gated delta net of one decoder layer, in place of attention. Immutable after Load.
class DeltaNet {
 public:
  /// Reads `prefix` + "in_proj_qkv.weight" and so on. `dtype` may be a quantised type. Errors and
  /// exceptions are those of Checkpoint::Load; InvalidArgument for a decay that is not finite.
  static absl::StatusOr<DeltaNet> Load(Checkpoint& checkpoint, const std::string& prefix,
                                       const ModelConfig& config, DType dtype, ThreadPool& pool);

  /// Runs the steps of all sequences of a batch of `num_tokens` on the states of layer `index`, and
  /// returns [num_tokens, value_width], valid until the next use of `scratch`, which has room for
  /// the batch. The caller sets the lengths of the states afterwards.
  const float* Forward(const ModelConfig& config, int64_t index, std::span<const StateStep> steps,
                       int64_t num_tokens, const LinearInput& input, LayerScratch& scratch,
                       ThreadPool& pool) const;

  /// Brings the state of layer `index` to the end of `step`, which has no new tokens.
  void Replay(const ModelConfig& config, int64_t index, const StateStep& step,
              ThreadPool& pool) const;

  const PackedLinear& output() const { return output_; }  // to [hidden]

 private:
  struct Inputs;
  DeltaNet() = default;
  absl::Status LoadSmall(Checkpoint& checkpoint, const std::string& prefix,
                         const ModelConfig& config, ThreadPool& pool);
  void Run(const ModelConfig& config, int64_t index, std::span<const StateStep> steps,
           const Inputs& inputs, ThreadPool& pool) const;

  PackedLinear channels_;  // queries, keys, values
  PackedLinear z_;         // gates of the output
  PackedLinear gates_;     // a, then b
  PackedLinear output_;
  std::vector<float> conv_;        // [conv_len, num_channels]
  std::vector<float> decay_rate_;  // [num_value_heads]
  std::vector<float> dt_bias_;     // [num_value_heads]
  Matrix norm_;                    // [value_dim]
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_DELTA_NET_H_
