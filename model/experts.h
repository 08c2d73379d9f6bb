#ifndef SHORTLIST_MODEL_EXPERTS_H_
#define SHORTLIST_MODEL_EXPERTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/linear.h"
#include "model/checkpoint.h"
#include "model/checkpoint/config.h"
#include "model/layer_scratch.h"
#include "model/mlp.h"

namespace shortlist {

/// The experts that a pass uses, and the tokens of each.
struct Routing {
  /// An expert with at least one token: entries [first, first + num_tokens) of `tokens` and
  /// `weights`. In ascending order of ids.
  struct Group {
    int64_t expert;
    int64_t first;
    int64_t num_tokens;
  };
  std::vector<Group> groups;
  std::vector<int32_t> tokens;  // [num_tokens * num_used], ascending in a group
  std::vector<float> weights;   // [num_tokens * num_used], of the expert's output
};

/// Chooses shape.num_used experts for each token: those with the largest logits, and of equal ones
/// those with the lowest ids. NaN counts as less than every number. A weight is the softmax over
/// all experts, and with shape.normalises divided by the sum of the chosen ones. logits:
/// [num_tokens, shape.num_experts]. A token's choice and weights depend on its own logits only.
Routing Route(const ExpertShape& shape, const float* logits, int64_t num_tokens);

/// The mixture of experts of one decoder layer, in place of its MLP: the sum of the chosen experts'
/// outputs, each multiplied by its weight, and of a shared expert's output if there is one.
/// Immutable after Load.
class Experts {
 public:
  /// Reads the router and the experts (ExpertNames) in one of the layouts that Hugging Face's files
  /// have: `prefix` + "experts.3.gate_proj.weight" and so on, or stacked "experts.gate_up_proj"
  /// [num_experts, 2 * intermediate, hidden] and "experts.down_proj". GGUF files stack
  /// "experts.gate_proj.weight" and "experts.up_proj.weight" too. `dtype` may be a
  /// quantised type; the router keeps its stored type then. Errors and exceptions are those of
  /// Checkpoint::Load and Checkpoint::Split.
  static absl::StatusOr<Experts> Load(Checkpoint& checkpoint, const std::string& prefix,
                                      const ModelConfig& config, DType dtype, ThreadPool& pool);

  /// Writes [num_tokens, hidden] to scratch.branch. Reads only the weights of the experts in use. A
  /// token's sum runs over its experts in the order of their ids, the shared expert last, so that
  /// it has the same bits in any batch.
  void Forward(const ModelConfig& config, const LinearInput& input, int64_t num_tokens,
               LayerScratch& scratch, ThreadPool& pool) const;

 private:
  Experts() = default;

  PackedLinear router_;  // to [num_experts]
  std::vector<Mlp> experts_;
  std::optional<Mlp> shared_;
  PackedLinear shared_gate_;  // to [1]; empty without a shared expert
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_EXPERTS_H_
