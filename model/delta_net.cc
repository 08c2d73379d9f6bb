#include "model/delta_net.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "model/linear_weight.h"
#include "model/norm_weight.h"

namespace shortlist {

/// Rows of the batch.
struct DeltaNet::Inputs {
  const float* channels = nullptr;  // [num_tokens, num_channels]
  const float* gates = nullptr;     // [num_tokens, 2 * num_value_heads]
  const float* z = nullptr;         // [num_tokens, value_width]
  float* out = nullptr;             // [num_tokens, value_width]
};

absl::Status DeltaNet::LoadSmall(Checkpoint& checkpoint, const std::string& prefix,
                                 const ModelConfig& config, ThreadPool& pool) {
  const DeltaNetShape& shape = config.delta_net;
  const auto load = [&](const char* name, const std::vector<int64_t>& extents) {
    return checkpoint.Load(absl::StrCat(prefix, name), extents, DType::kF32, pool);
  };
  const int64_t num_channels = shape.num_channels();
  std::vector<int64_t> conv_shape = {num_channels, 1, shape.conv_len};
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> stored,
                             checkpoint.StoredShape(prefix + "conv1d.weight"));
  if (stored.size() == 2) conv_shape.erase(conv_shape.begin() + 1);  // GGUF files
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix conv, load("conv1d.weight", conv_shape));
  conv_.resize(shape.conv_len * num_channels);
  for (int64_t channel = 0; channel < num_channels; ++channel) {
    for (int64_t tap = 0; tap < shape.conv_len; ++tap) {
      conv_[tap * num_channels + channel] = conv.floats()[channel * shape.conv_len + tap];
    }
  }
  // GGUF files have the decay -e^A_log itself.
  const bool has_logarithm = !checkpoint.Contains(prefix + "A");
  const char* const name = has_logarithm ? "A_log" : "A";
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix decay, load(name, {shape.num_value_heads}));
  for (int64_t head = 0; head < shape.num_value_heads; ++head) {
    const float value = decay.floats()[head];
    decay_rate_.push_back(has_logarithm ? std::exp(value) : -value);
    if (std::isfinite(decay_rate_.back()) && decay_rate_.back() >= 0.0f) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor ", Excerpt(prefix + name), ": [", head, "] = ", value,
        has_logarithm ? " has an exponential beyond f32" : " is above 0: states would grow"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix bias, load("dt_bias", {shape.num_value_heads}));
  dt_bias_.assign(bias.floats(), bias.floats() + shape.num_value_heads);
  SHORTLIST_ASSIGN_OR_RETURN(
      norm_, LoadNorm(checkpoint, prefix + "norm.weight", shape.value_dim, /*offset=*/0.0, pool));
  return absl::OkStatus();
}

absl::StatusOr<DeltaNet> DeltaNet::Load(Checkpoint& checkpoint, const std::string& prefix,
                                        const ModelConfig& config, DType dtype, ThreadPool& pool) {
  const DeltaNetShape& shape = config.delta_net;
  DeltaNet layer;
  const auto load = [&](const char* name, int64_t out_features, int64_t in_features) {
    return LoadLinear(checkpoint, absl::StrCat(prefix, name), out_features, in_features, dtype,
                      pool);
  };
  SHORTLIST_ASSIGN_OR_RETURN(layer.channels_,
                             load("in_proj_qkv.weight", shape.num_channels(), config.hidden));
  SHORTLIST_ASSIGN_OR_RETURN(layer.z_,
                             load("in_proj_z.weight", shape.value_width(), config.hidden));
  SHORTLIST_ASSIGN_OR_RETURN(layer.output_,
                             load("out_proj.weight", config.hidden, shape.value_width()));
  // Few rows, whose errors add up over a sequence: not quantised.
  std::vector<MatrixView> gates;
  std::vector<SourceWeight> sources;
  const DType gate_dtype = IsQuantized(dtype) ? DType::kF32 : dtype;
  for (const char* name : {"in_proj_a.weight", "in_proj_b.weight"}) {
    SHORTLIST_ASSIGN_OR_RETURN(
        SourceWeight source,
        LoadSource(checkpoint, absl::StrCat(prefix, name), shape.num_value_heads, config.hidden,
                   gate_dtype, pool, /*decode=*/true));
    gates.push_back(source.Rows(0, shape.num_value_heads));
    sources.push_back(std::move(source));
  }
  layer.gates_ = PackRows(checkpoint, gates, config.hidden, gate_dtype, pool);
  SHORTLIST_RETURN_IF_ERROR(layer.LoadSmall(checkpoint, prefix, config, pool));
  return layer;
}

void DeltaNet::Run(const ModelConfig& config, int64_t index, std::span<const StateStep> steps,
                   const Inputs& inputs, ThreadPool& pool) const {
  const DeltaNetShape& shape = config.delta_net;
  const DeltaNetWeights weights = {conv_.data(), decay_rate_.data(), dt_bias_.data(),
                                   norm_.floats(), static_cast<float>(config.rms_norm_eps)};
  const int64_t num_channels = shape.num_channels(), tail = shape.conv_len - 1;
  const int64_t num_gates = 2 * shape.num_value_heads, width = shape.value_width();
  // What each sequence's tokens read: the last rows before them, then their own.
  struct Source {
    std::vector<const float*> rows, gates;
  };
  std::vector<Source> sources(steps.size());
  size_t num_rounds = 1;
  for (size_t i = 0; i < steps.size(); ++i) {
    const StateStep& step = steps[i];
    const SequenceState::Layer& layer = step.state->layer(index);
    for (int64_t t = 0; t < tail + step.num_replayed; ++t) {
      sources[i].rows.push_back(layer.rows.data() + t * num_channels);
    }
    for (int64_t t = 0; t < step.num_replayed; ++t) {
      sources[i].gates.push_back(layer.gates.data() + t * num_gates);
    }
    for (int64_t row = step.first_row; row < step.first_row + step.num_new; ++row) {
      sources[i].rows.push_back(inputs.channels + row * num_channels);
      sources[i].gates.push_back(inputs.gates + row * num_gates);
    }
    num_rounds = std::max(num_rounds, step.kept.size() + 1);
  }
  // Gives `to` the last rows before token `begin`, and num_pending tokens from there on.
  const auto copy_rows = [&](const Source& source, int64_t begin, int64_t num_pending,
                             SequenceState::Layer& to) {
    std::vector<float> rows, gates;  // `source` may point into those of `to`
    for (int64_t t = begin; t < begin + tail + num_pending; ++t) {
      rows.insert(rows.end(), source.rows[t], source.rows[t] + num_channels);
    }
    for (int64_t t = begin; t < begin + num_pending; ++t) {
      gates.insert(gates.end(), source.gates[t], source.gates[t] + num_gates);
    }
    to.rows = std::move(rows);
    to.gates = std::move(gates);
  };
  std::vector<DeltaNetChain> chains;
  for (size_t round = 0; round < num_rounds; ++round) {
    chains.clear();
    for (size_t i = 0; i < steps.size(); ++i) {
      const StateStep& step = steps[i];
      if (round > step.kept.size()) continue;
      const int64_t begin = round == 0 ? 0 : step.kept[round - 1].num_tokens;
      const int64_t end =
          round == step.kept.size() ? step.num_tokens() : step.kept[round].num_tokens;
      const int64_t out_row =
          step.first_row + std::max<int64_t>(begin, step.num_replayed) - step.num_replayed;
      const std::span rows(sources[i].rows), gates(sources[i].gates);
      chains.push_back(
          {.state = step.state->layer(index).state.data(),
           .rows = rows.subspan(begin, tail + end - begin),
           .gates = gates.subspan(begin, end - begin),
           .num_final = std::clamp<int64_t>(step.num_final - begin, 0, end - begin),
           .num_replayed = std::clamp<int64_t>(step.num_replayed - begin, 0, end - begin),
           .output_gates = inputs.z + out_row * width,
           .out = inputs.out + out_row * width});
    }
    DeltaNetCpu(shape, weights, chains, pool);
    for (size_t i = 0; i < steps.size(); ++i) {
      if (round >= steps[i].kept.size()) continue;
      const auto& [num_tokens, copy] = steps[i].kept[round];
      copy->layer(index).state = steps[i].state->layer(index).state;
      copy_rows(sources[i], num_tokens, /*num_pending=*/0, copy->layer(index));
    }
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    copy_rows(sources[i], steps[i].num_final, steps[i].num_tokens() - steps[i].num_final,
              steps[i].state->layer(index));
  }
}

const float* DeltaNet::Forward(const ModelConfig& config, int64_t index,
                               std::span<const StateStep> steps, int64_t num_tokens,
                               const LinearInput& input, LayerScratch& scratch,
                               ThreadPool& pool) const {
  const auto project = [&](const PackedLinear& weight, Arena& rows) {
    LinearCpu(weight, input, num_tokens, FloatsOf(rows), /*accumulate=*/false, pool);
    return FloatsOf(rows);
  };
  const Inputs inputs = {.channels = project(channels_, scratch.qkv),
                         .gates = project(gates_, scratch.step_gates),
                         .z = project(z_, scratch.gate),
                         .out = FloatsOf(scratch.attended)};
  Run(config, index, steps, inputs, pool);
  return inputs.out;
}

void DeltaNet::Replay(const ModelConfig& config, int64_t index, const StateStep& step,
                      ThreadPool& pool) const {
  Run(config, index, {&step, 1}, Inputs(), pool);
}

}  // namespace shortlist
