#include "model/eagle3_model.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/dtype.h"
#include "base/status_macros.h"
#include "kernels/elementwise.h"
#include "kernels/quant.h"
#include "model/checkpoint.h"
#include "model/decoder_layer.h"
#include "model/linear_weight.h"
#include "model/norm_weight.h"
#include "model/rope.h"

namespace shortlist {
namespace {

/// Returns the rows of `stored` in ascending order of their tokens `ids`.
Matrix SortRows(const Matrix& stored, const std::vector<int32_t>& ids) {
  std::vector<int64_t> order(ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&ids](int64_t row) { return ids[row]; });
  if (std::ranges::is_sorted(order)) return stored;
  const int64_t row_bytes = stored.cols() * DTypeBytes(stored.dtype());
  const auto memory = std::make_shared<Arena>(stored.bytes());
  char* out = static_cast<char*>(memory->data());
  for (const int64_t row : order) {
    std::memcpy(out, static_cast<const char*>(stored.data()) + row * row_bytes, row_bytes);
    out += row_bytes;
  }
  return Matrix(std::shared_ptr<void>(memory, memory->data()), stored.rows(), stored.cols(),
                stored.dtype());
}

HeadWeight RowsOf(const Matrix& matrix) {
  return {matrix.data(), matrix.dtype(), matrix.rows(), matrix.cols()};
}

}  // namespace

struct Eagle3Model::Impl {
  Impl(const Eagle3Config& eagle3_config, const Decoder& target_model, ThreadPool& thread_pool,
       DType type)
      : config(eagle3_config),
        target(target_model),
        pool(thread_pool),
        weight_dtype(type),
        rope(eagle3_config.layers) {}

  absl::Status LoadWeights(const ModelSource& source);
  absl::Status LoadFusion(Checkpoint& checkpoint);
  absl::Status LoadLayers(Checkpoint& checkpoint);
  absl::Status LoadEmbedding(Checkpoint& checkpoint);
  absl::Status LoadHead(Checkpoint& checkpoint);
  HeadWeight embedding_weight() const {
    return embedding.defined() ? RowsOf(embedding) : target.embedding_weight();
  }
  Matrix Fuse(const Matrix& states);
  Prediction Forward(const ForwardBatch& batch, const Matrix& features, KvCache& cache);
  /// y = RMS norm of x, both [num_tokens, hidden].
  void Normalise(const float* x, const Matrix& weight, int64_t num_tokens, float* y) {
    RmsNormCpu(x, weight.floats(), epsilon(), num_tokens, weight.rows(), y, pool);
  }
  float epsilon() const { return static_cast<float>(config.layers.rms_norm_eps); }

  const Eagle3Config config;
  std::string warning;  // of the checkpoint
  const Decoder& target;
  ThreadPool& pool;
  const DType weight_dtype;                        // of the linear layers and the head
  PackedLinear fc;                                 // num_taps * target_hidden -> hidden
  Matrix fc_bias;                                  // [hidden] f32; undefined without a bias
  std::vector<Matrix> feature_norms;               // f32, as config.feature_norms
  Matrix embedding_norm, hidden_norm, final_norm;  // [hidden] f32
  std::vector<DecoderLayer> layers;
  Matrix embedding;              // [vocab_size, hidden]; undefined: the target's
  Matrix head;                   // [num_head_rows, hidden], by token; undefined: see LoadHead
  QuantizedRows quantized_head;  // in place of it
  HeadWeight head_weight;
  RopeTable rope;
  LayerScratch scratch;
  Arena embedded, joined;
};

absl::Status Eagle3Model::Impl::LoadWeights(const ModelSource& source) {
  SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint,
                             Checkpoint::Open(source, config.layers.packing));
  SHORTLIST_RETURN_IF_ERROR(LoadFusion(checkpoint));
  SHORTLIST_RETURN_IF_ERROR(LoadLayers(checkpoint));
  SHORTLIST_RETURN_IF_ERROR(LoadEmbedding(checkpoint));
  SHORTLIST_RETURN_IF_ERROR(LoadHead(checkpoint));
  warning = checkpoint.warning();
  std::vector<std::string> read_before;
  // Without rows of its own, the head has no tokens to map.
  if (!config.head_ids.empty()) read_before = {"d2t", "t2d"};
  return checkpoint.CheckNothingUnknown(read_before);
}

absl::Status Eagle3Model::Impl::LoadFusion(Checkpoint& checkpoint) {
  if (config.reads_output()) return absl::OkStatus();
  const int64_t width = config.feature_width(), hidden = config.layers.hidden;
  SHORTLIST_ASSIGN_OR_RETURN(
      fc, LoadLinear(checkpoint, "fc.weight", hidden, width, weight_dtype, pool));
  if (config.fc_bias) {
    SHORTLIST_ASSIGN_OR_RETURN(fc_bias, checkpoint.Load("fc.bias", {hidden}, DType::kF32, pool));
  }
  const int64_t norm_width = config.feature_norms.size() == 1 ? width : config.target_hidden;
  for (const std::string& name : config.feature_norms) {
    SHORTLIST_ASSIGN_OR_RETURN(
        Matrix norm, LoadNorm(checkpoint, name, norm_width, config.layers.norm_offset, pool));
    feature_norms.push_back(std::move(norm));
  }
  return absl::OkStatus();
}

absl::Status Eagle3Model::Impl::LoadLayers(Checkpoint& checkpoint) {
  const auto load_norm = [&](const std::string& name) {
    return LoadNorm(checkpoint, name, config.layers.hidden, config.layers.norm_offset, pool);
  };
  SHORTLIST_ASSIGN_OR_RETURN(embedding_norm,
                             load_norm(config.first_layer + "input_layernorm.weight"));
  SHORTLIST_ASSIGN_OR_RETURN(hidden_norm, load_norm(config.first_layer + "hidden_norm.weight"));
  SHORTLIST_ASSIGN_OR_RETURN(final_norm, load_norm("norm.weight"));
  for (int64_t i = 0; i < config.layers.num_layers; ++i) {
    SHORTLIST_ASSIGN_OR_RETURN(
        DecoderLayer layer,
        DecoderLayer::Load(
            checkpoint, i == 0 ? config.first_layer : absl::StrCat("layers.", i, "."),
            config.layers, i, i == 0 ? AttentionInput::kJoined : AttentionInput::kNormed,
            weight_dtype, pool));
    layers.push_back(std::move(layer));
  }
  return absl::OkStatus();
}

absl::Status Eagle3Model::Impl::LoadEmbedding(Checkpoint& checkpoint) {
  if (!config.has_embedding) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(
      embedding,
      checkpoint.Load("embed_tokens.weight", {config.layers.vocab_size, config.layers.hidden},
                      target.dtype(), pool));
  const HeadWeight targets = target.embedding_weight();
  const bool is_targets =
      targets.dtype == embedding.dtype() && targets.vocab_size == embedding.rows() &&
      targets.hidden == embedding.cols() && !config.head_is_embedding &&
      std::memcmp(targets.rows, embedding.data(), static_cast<size_t>(embedding.bytes())) == 0;
  if (is_targets) embedding = Matrix();
  return absl::OkStatus();
}

absl::Status Eagle3Model::Impl::LoadHead(Checkpoint& checkpoint) {
  if (config.num_head_rows > 0) {
    SHORTLIST_ASSIGN_OR_RETURN(
        head, checkpoint.Load("lm_head.weight", {config.num_head_rows, config.layers.hidden},
                              target.dtype(), pool));
    if (!config.head_ids.empty()) head = SortRows(head, config.head_ids);
    head_weight = RowsOf(head);
  } else {
    head_weight = config.head_is_embedding ? RowsOf(embedding) : target.head_weight();
  }
  if (!IsQuantized(weight_dtype) || head_weight.dtype == weight_dtype) return absl::OkStatus();
  quantized_head =
      QuantizedRows::Quantize(head_weight.rows, head_weight.dtype, head_weight.vocab_size,
                              head_weight.hidden, weight_dtype, pool);
  head_weight.rows = quantized_head.data();
  head_weight.dtype = weight_dtype;
  head = Matrix();
  return absl::OkStatus();
}

Matrix Eagle3Model::Impl::Fuse(const Matrix& states) {
  if (config.reads_output()) return states;
  const int64_t num_tokens = states.rows(), hidden = config.layers.hidden;
  Matrix out(num_tokens, hidden);
  LinearInput input{states.floats()};
  Matrix normed;
  if (feature_norms.size() == 1) {
    input.norm_weight = feature_norms[0].floats();
    input.norm_epsilon = epsilon();
  } else if (!feature_norms.empty()) {
    // Each row holds a state of each tap; a norm is over one state.
    const int64_t width = config.target_hidden, num_taps = config.num_taps;
    normed = Matrix(num_tokens, states.cols());
    std::vector<float> of_tap(num_tokens * width);
    for (int64_t tap = 0; tap < num_taps; ++tap) {
      for (int64_t t = 0; t < num_tokens; ++t) {
        std::copy_n(states.floats() + (t * num_taps + tap) * width, width, &of_tap[t * width]);
      }
      Normalise(of_tap.data(), feature_norms[tap], num_tokens, of_tap.data());
      for (int64_t t = 0; t < num_tokens; ++t) {
        std::copy_n(&of_tap[t * width], width, normed.floats() + (t * num_taps + tap) * width);
      }
    }
    input.x = normed.floats();
  }
  LinearCpu(fc, input, num_tokens, out.floats(), /*accumulate=*/false, pool);
  if (fc_bias.defined()) AddBiasCpu(out.floats(), fc_bias.floats(), num_tokens, hidden, pool);
  return out;
}

EagleNetwork::Prediction Eagle3Model::Impl::Forward(const ForwardBatch& batch,
                                                    const Matrix& features, KvCache& cache) {
  const int64_t num_tokens = batch.num_tokens(), hidden = config.layers.hidden;
  Matrix x(num_tokens, hidden), scored(num_tokens, hidden);
  if (num_tokens == 0) return {scored, x};
  rope.Reserve(PositionsNeeded(batch));
  scratch.Reserve(config.layers, num_tokens);
  float* const embeddings = ReserveFloats(embedded, num_tokens * hidden);
  float* const rows = ReserveFloats(joined, num_tokens * 2 * hidden);
  const HeadWeight table = embedding_weight();
  EmbeddingCpu(table.rows, table.dtype, hidden, batch.token_ids().data(), num_tokens, embeddings,
               pool);
  Normalise(embeddings, embedding_norm, num_tokens, embeddings);
  Normalise(features.floats(), hidden_norm, num_tokens, x.floats());
  for (int64_t t = 0; t < num_tokens; ++t) {
    std::copy_n(embeddings + t * hidden, hidden, rows + t * 2 * hidden);
    std::copy_n(x.floats() + t * hidden, hidden, rows + t * 2 * hidden + hidden);
  }
  if (!config.norm_before_residual) {
    std::copy_n(features.floats(), features.num_elements(), x.floats());
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i].Forward(config.layers, batch, cache.layer(static_cast<int64_t>(i)), rope, x.floats(),
                      scratch, pool, i == 0 ? rows : nullptr);
  }
  Normalise(x.floats(), final_norm, num_tokens, scored.floats());
  if (config.recurs_normed) std::copy_n(scored.floats(), scored.num_elements(), x.floats());
  if (config.logit_scale != 1.0) {
    const float scale = static_cast<float>(config.logit_scale);
    for (int64_t i = 0; i < scored.num_elements(); ++i) scored.floats()[i] *= scale;
  }
  return {std::move(scored), std::move(x)};
}

Eagle3Model::Eagle3Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Eagle3Model::~Eagle3Model() = default;

absl::StatusOr<std::unique_ptr<Eagle3Model>> Eagle3Model::Load(const ModelSource& source,
                                                               const Eagle3Config& config,
                                                               const Decoder& target,
                                                               ThreadPool& pool,
                                                               std::optional<DType> quantize) {
  SHORTLIST_CHECK(!quantize || IsQuantized(*quantize));
  SHORTLIST_CHECK(config.target_hidden == target.config().hidden);
  const bool shares_head = config.num_head_rows == 0 && !config.head_is_embedding;
  const DType target_dtype = target.weight_dtype();
  if (shares_head && quantize && IsQuantized(target_dtype) && *quantize != target_dtype) {
    return absl::FailedPreconditionError(
        absl::StrCat(source.path(), ": ", DTypeName(*quantize), " for the draft with a target in ",
                     DTypeName(target_dtype), ", whose head they share"));
  }
  std::unique_ptr<Impl> impl;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc(source.path(), [&] {
    impl = std::make_unique<Impl>(config, target, pool, quantize.value_or(target_dtype));
    return impl->LoadWeights(source);
  }));
  return std::unique_ptr<Eagle3Model>(new Eagle3Model(std::move(impl)));
}

const Eagle3Config& Eagle3Model::eagle3_config() const { return impl_->config; }
const ModelConfig& Eagle3Model::config() const { return impl_->config.layers; }
DType Eagle3Model::kv_dtype() const { return impl_->target.dtype(); }
std::span<const int64_t> Eagle3Model::taps() const { return impl_->config.taps; }
int64_t Eagle3Model::target_width() const { return impl_->config.feature_width(); }
HeadWeight Eagle3Model::head_weight() const { return impl_->head_weight; }
std::shared_ptr<const HeadRows> Eagle3Model::head_rows() const { return impl_->config.head_rows; }

std::vector<std::string> Eagle3Model::warnings() const {
  if (impl_->warning.empty()) return {};
  return {impl_->warning};
}

absl::StatusOr<Matrix> Eagle3Model::Fuse(const Matrix& states) {
  SHORTLIST_CHECK(states.cols() == target_width());
  Matrix out;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("EAGLE-3 features", [&] {
    out = impl_->Fuse(states);
    return absl::OkStatus();
  }));
  return out;
}

absl::StatusOr<EagleNetwork::Prediction> Eagle3Model::Forward(const ForwardBatch& batch,
                                                              const Matrix& features,
                                                              KvCache& cache) {
  SHORTLIST_CHECK(features.rows() == batch.num_tokens() && features.cols() == config().hidden);
  CheckBatch(config(), kv_dtype(), batch, cache);
  Prediction out;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("EAGLE-3 forward pass", [&] {
    out = impl_->Forward(batch, features, cache);
    return absl::OkStatus();
  }));
  return out;
}

}  // namespace shortlist
