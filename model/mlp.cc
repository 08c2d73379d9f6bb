#include "model/mlp.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/elementwise.h"
#include "model/linear_weight.h"

namespace shortlist {

absl::StatusOr<Mlp> Mlp::Load(Checkpoint& checkpoint, const std::string& prefix,
                              const ModelConfig& config, int64_t intermediate, DType dtype,
                              ThreadPool& pool) {
  Mlp mlp;
  // GatedLinearCpu gives both weights the same inputs.
  const std::string gate = absl::StrCat(prefix, "gate_proj.weight");
  const std::string up = absl::StrCat(prefix, "up_proj.weight");
  if (config.mlp.gate_up != nullptr) {
    const WeightFiles::Rows parts[] = {{gate, intermediate}, {up, intermediate}};
    SHORTLIST_RETURN_IF_ERROR(checkpoint.Split(absl::StrCat(prefix, config.mlp.gate_up, ".weight"),
                                               {2 * intermediate, config.hidden}, parts));
  }
  const auto in_blocks = [&](const std::string& name) {
    return checkpoint.StoredBlocks(name, intermediate, config.hidden, pool).has_value();
  };
  const bool decode = in_blocks(gate) != in_blocks(up);
  SHORTLIST_ASSIGN_OR_RETURN(
      mlp.gate_, LoadLinear(checkpoint, gate, intermediate, config.hidden, dtype, pool, decode));
  SHORTLIST_ASSIGN_OR_RETURN(
      mlp.up_, LoadLinear(checkpoint, up, intermediate, config.hidden, dtype, pool, decode));
  SHORTLIST_ASSIGN_OR_RETURN(
      mlp.down_, LoadLinear(checkpoint, absl::StrCat(prefix, config.mlp.down, ".weight"),
                            config.hidden, intermediate, dtype, pool));
  if (!config.mlp_bias) return mlp;
  const auto load_bias = [&](const char* name, int64_t size) {
    return checkpoint.Load(absl::StrCat(prefix, name, ".bias"), {size}, DType::kF32, pool);
  };
  SHORTLIST_ASSIGN_OR_RETURN(mlp.gate_bias_, load_bias("gate_proj", intermediate));
  SHORTLIST_ASSIGN_OR_RETURN(mlp.up_bias_, load_bias("up_proj", intermediate));
  SHORTLIST_ASSIGN_OR_RETURN(mlp.down_bias_, load_bias("down_proj", config.hidden));
  return mlp;
}

const float* Mlp::Forward(const ModelConfig& config, const LinearInput& input, int64_t num_tokens,
                          LayerScratch& scratch, ThreadPool& pool) const {
  float* const gated = FloatsOf(scratch.gated);
  if (!config.mlp_bias) {
    GatedLinearCpu(gate_, up_, input, num_tokens, config.activation, gated, pool);
    return gated;
  }
  const int64_t width = gate_.out_features();
  float* const gate = FloatsOf(scratch.mlp_gate);
  LinearCpu(gate_, input, num_tokens, gate, /*accumulate=*/false, pool);
  AddBiasCpu(gate, gate_bias_.floats(), num_tokens, width, pool);
  LinearCpu(up_, input, num_tokens, gated, /*accumulate=*/false, pool);
  AddBiasCpu(gated, up_bias_.floats(), num_tokens, width, pool);
  GateCpu(config.activation, gate, num_tokens, width, gated, pool);
  return gated;
}

}  // namespace shortlist
