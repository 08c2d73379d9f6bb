#include "model/mlp.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/linear_weight.h"

namespace shortlist {

absl::StatusOr<Mlp> Mlp::Load(Checkpoint& checkpoint, const std::string& prefix,
                              const ModelConfig& config, DType dtype, ThreadPool& pool) {
  Mlp mlp;
  // GatedLinearCpu gives both weights the same inputs.
  const std::string gate = absl::StrCat(prefix, "gate_proj.weight");
  const std::string up = absl::StrCat(prefix, "up_proj.weight");
  const auto in_blocks = [&](const std::string& name) {
    return checkpoint.StoredBlocks(name, config.intermediate, config.hidden, pool).has_value();
  };
  const bool decode = in_blocks(gate) != in_blocks(up);
  SHORTLIST_ASSIGN_OR_RETURN(mlp.gate_, LoadLinear(checkpoint, gate, config.intermediate,
                                                   config.hidden, dtype, pool, decode));
  SHORTLIST_ASSIGN_OR_RETURN(
      mlp.up_, LoadLinear(checkpoint, up, config.intermediate, config.hidden, dtype, pool, decode));
  SHORTLIST_ASSIGN_OR_RETURN(
      mlp.down_, LoadLinear(checkpoint, absl::StrCat(prefix, "down_proj.weight"), config.hidden,
                            config.intermediate, dtype, pool));
  return mlp;
}

const float* Mlp::Forward(const ModelConfig& config, const LinearInput& input, int64_t num_tokens,
                          LayerScratch& scratch, ThreadPool& pool) const {
  float* const gated = Floats(scratch.gated);
  GatedLinearCpu(gate_, up_, input, num_tokens, config.activation, gated, pool);
  return gated;
}

}  // namespace shortlist
