#include "model/decoder_layer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "kernels/elementwise.h"
#include "model/norm_weight.h"

namespace shortlist {

absl::Status DecoderLayer::LoadNorms(Checkpoint& checkpoint, const std::string& prefix,
                                     const ModelConfig& config, bool has_input_norm,
                                     ThreadPool& pool) {
  const auto load = [&](const char* name, Matrix& norm) -> absl::Status {
    if (name == nullptr) return absl::OkStatus();
    SHORTLIST_ASSIGN_OR_RETURN(norm, LoadNorm(checkpoint, absl::StrCat(prefix, name, ".weight"),
                                              config.hidden, config.norm_offset, pool));
    return absl::OkStatus();
  };
  const NormNames& names = config.norms;
  if (has_input_norm) SHORTLIST_RETURN_IF_ERROR(load(names.mixer_input, input_norm_));
  SHORTLIST_RETURN_IF_ERROR(load(names.mixer_output, mixer_norm_));
  SHORTLIST_RETURN_IF_ERROR(load(names.mlp_input, mlp_input_norm_));
  return load(names.mlp_output, mlp_norm_);
}

absl::StatusOr<DecoderLayer> DecoderLayer::Load(Checkpoint& checkpoint, const std::string& prefix,
                                                const ModelConfig& config, int64_t index,
                                                AttentionInput input, DType dtype,
                                                ThreadPool& pool) {
  std::optional<Mixer> mixer;
  if (config.IsRecurrent(index)) {
    SHORTLIST_ASSIGN_OR_RETURN(
        mixer,
        DeltaNet::Load(checkpoint, absl::StrCat(prefix, "linear_attn."), config, dtype, pool));
  } else {
    const int64_t input_width = (input == AttentionInput::kJoined ? 2 : 1) * config.hidden;
    SHORTLIST_ASSIGN_OR_RETURN(
        mixer, Attention::Load(checkpoint, absl::StrCat(prefix, "self_attn."), config, index,
                               input_width, dtype, pool));
  }
  std::optional<FeedForward> mlp;
  const std::string mlp_prefix = absl::StrCat(prefix, config.mlp.prefix);
  if (config.HasExperts(index)) {
    SHORTLIST_ASSIGN_OR_RETURN(mlp, Experts::Load(checkpoint, mlp_prefix, config, dtype, pool));
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(
        mlp, Mlp::Load(checkpoint, mlp_prefix, config, config.intermediate, dtype, pool));
  }
  DecoderLayer layer(index, *std::move(mixer), *std::move(mlp));
  const bool has_input_norm = input == AttentionInput::kNormed;
  SHORTLIST_RETURN_IF_ERROR(layer.LoadNorms(checkpoint, prefix, config, has_input_norm, pool));
  return layer;
}

void DecoderLayer::Forward(const ModelConfig& config, const ForwardBatch& batch,
                           const KvLayer& cache, const RopeTable& rope, float* hidden,
                           LayerScratch& scratch, ThreadPool& pool, const float* joined,
                           std::span<const StateStep> steps) const {
  const int64_t num_tokens = batch.num_tokens();
  const float epsilon = static_cast<float>(config.rms_norm_eps);
  const auto normed = [&](const Matrix& weight) -> LinearInput {
    return {hidden, weight.defined() ? weight.floats() : nullptr, epsilon};
  };
  const float scale = static_cast<float>(config.residual_scale);
  // Adds rows of scratch.branch to the residual stream, after a norm if there is one.
  const auto add_branch = [&](const Matrix& norm) {
    float* const branch = FloatsOf(scratch.branch);
    if (norm.defined() && scale == 1.0f) {
      AddRmsNormCpu(branch, norm.floats(), epsilon, num_tokens, config.hidden, hidden, pool);
      return;
    }
    if (norm.defined()) {
      RmsNormCpu(branch, norm.floats(), epsilon, num_tokens, config.hidden, branch, pool);
    }
    AddScaledCpu(branch, scale, num_tokens, config.hidden, hidden, pool);
  };
  // Adds a part's output likewise.
  const auto add = [&](const PackedLinear& weight, const Matrix& bias, const float* input,
                       const Matrix& norm) {
    const bool at_once = !norm.defined() && scale == 1.0f;
    float* const sum = at_once ? hidden : FloatsOf(scratch.branch);
    LinearCpu(weight, {input}, num_tokens, sum, /*accumulate=*/at_once, pool);
    if (bias.defined()) AddBiasCpu(sum, bias.floats(), num_tokens, config.hidden, pool);
    if (!at_once) add_branch(norm);
  };
  const LinearInput input = joined != nullptr ? LinearInput{joined} : normed(input_norm_);
  if (const Attention* const attention = std::get_if<Attention>(&mixer_)) {
    const float* const attended =
        attention->Forward(config, batch, cache, rope, input, scratch, pool);
    add(attention->output(), attention->output_bias(), attended, mixer_norm_);
  } else {
    const DeltaNet& delta_net = std::get<DeltaNet>(mixer_);
    const float* const mixed =
        delta_net.Forward(config, index_, steps, num_tokens, input, scratch, pool);
    add(delta_net.output(), /*bias=*/Matrix(), mixed, mixer_norm_);
  }
  const LinearInput mlp_input = normed(mlp_input_norm_);
  if (const Mlp* const mlp = std::get_if<Mlp>(&mlp_)) {
    const float* const gated = mlp->Forward(config, mlp_input, num_tokens, scratch, pool);
    add(mlp->down(), mlp->down_bias(), gated, mlp_norm_);
  } else {
    std::get<Experts>(mlp_).Forward(config, mlp_input, num_tokens, scratch, pool);
    add_branch(mlp_norm_);
  }
}

void DecoderLayer::Replay(const ModelConfig& config, const StateStep& step,
                          ThreadPool& pool) const {
  const DeltaNet* const delta_net = std::get_if<DeltaNet>(&mixer_);
  if (delta_net != nullptr) delta_net->Replay(config, index_, step, pool);
}

void CheckBatch(const ModelConfig& config, DType dtype, const ForwardBatch& batch,
                const KvCache& cache) {
  SHORTLIST_CHECK(cache.num_layers() == config.num_layers);
  const KvLayer& kv = cache.layer(0);
  SHORTLIST_CHECK(kv.dtype == dtype);
  SHORTLIST_CHECK(kv.num_kv_heads == config.num_kv_heads && kv.head_dim == config.head_dim);
  const auto all_below = [](std::span<const int32_t> values, int64_t bound) {
    return std::all_of(values.begin(), values.end(),
                       [bound](int32_t value) { return value >= 0 && value < bound; });
  };
  SHORTLIST_CHECK(all_below(batch.token_ids(), config.vocab_size));
  SHORTLIST_CHECK(all_below(batch.positions(), config.context_len));
  SHORTLIST_CHECK(all_below(batch.out_slots(), cache.num_slots()));
  if (batch.num_tokens() == 0) return;
  if (config.num_recurrent_layers() > 0) {
    SHORTLIST_CHECK(!batch.chains().empty() && !batch.shares_slots());
  }
  const AttentionLayout layout = batch.layout();
  const int32_t num_seqs = layout.seq_of_token[layout.num_tokens - 1] + 1;
  const size_t num_kv_slots = static_cast<size_t>(layout.kv_indptr[num_seqs]);
  SHORTLIST_CHECK(all_below({layout.kv_slots, num_kv_slots}, cache.num_slots()));
}

int64_t PositionsNeeded(const ForwardBatch& batch) {
  int64_t needed = 0;
  for (const int32_t position : batch.positions()) needed = std::max<int64_t>(needed, position + 1);
  return needed;
}

}  // namespace shortlist
