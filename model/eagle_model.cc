#include "model/eagle_model.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/dtype.h"
#include "base/status_macros.h"
#include "kernels/elementwise.h"
#include "model/checkpoint.h"
#include "model/decoder_layer.h"
#include "model/linear_weight.h"
#include "model/rope.h"
#include "model/shared_head.h"

namespace shortlist {
namespace {

bool IsPadding(int64_t num_rows, int64_t others) {
  return std::abs(num_rows - others) <= EagleModel::kMaxPaddingRows;
}

/// True if a row differs by more than the rounding of conversions between weight types.
bool IsForeignRow(const Matrix& own, const HeadWeight& targets, int64_t row) {
  constexpr double kMaxRelativeError = 0.02;
  const int64_t hidden = own.cols();
  double difference = 0.0, norm = 0.0;
  for (int64_t i = row * hidden; i < (row + 1) * hidden; ++i) {
    const double a = LoadAsFloat(own.data(), own.dtype(), i);
    const double b = LoadAsFloat(targets.rows, targets.dtype, i);
    difference += (a - b) * (a - b);
    norm += b * b;
  }
  return difference > kMaxRelativeError * kMaxRelativeError * norm;
}

}  // namespace

struct EagleModel::Impl {
  Impl(const ModelConfig& model_config, const Decoder& target_model, ThreadPool& thread_pool)
      : config(model_config),
        target(target_model),
        pool(thread_pool),
        weight_dtype(target_model.weight_dtype()),
        rope(model_config) {}

  absl::Status LoadWeights(const ModelSource& source);
  /// Counts foreign rows. EAGLE-1 trains with the target's embedding frozen, and published files
  /// carry a copy of it.
  absl::Status CompareEmbedding(Checkpoint& checkpoint);
  /// Returns [num_tokens, 2 * hidden]: each token's embedding, then its feature.
  const float* JoinInputs(const ForwardBatch& batch, const float* features);
  Matrix Forward(const ForwardBatch& batch, const float* features, KvCache& cache);

  ModelConfig config;
  int64_t num_foreign_embeddings = 0;
  std::string warning;  // of the checkpoint
  const Decoder& target;
  ThreadPool& pool;
  DType weight_dtype;  // of the linear layers and the head
  SharedHead head;
  PackedLinear fc;  // 2 * hidden -> hidden
  Matrix fc_bias;   // [hidden] f32; undefined without a bias
  std::vector<DecoderLayer> layers;
  RopeTable rope;
  LayerScratch scratch;
  Arena embedded, joined;  // of JoinInputs
};

absl::Status EagleModel::Impl::LoadWeights(const ModelSource& source) {
  SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(source, config.packing));
  config.qk_norm = checkpoint.Contains("layers.0.self_attn.q_norm.weight");
  SHORTLIST_ASSIGN_OR_RETURN(fc, LoadLinear(checkpoint, "fc.weight", config.hidden,
                                            2 * config.hidden, weight_dtype, pool));
  if (config.fc_bias) {
    if (!checkpoint.Contains("fc.bias")) {
      return absl::InvalidArgumentError(
          "no tensor fc.bias; a head without it needs \"bias\": false in its config.json");
    }
    SHORTLIST_ASSIGN_OR_RETURN(fc_bias,
                               checkpoint.Load("fc.bias", {config.hidden}, DType::kF32, pool));
  }
  for (int64_t i = 0; i < config.num_layers; ++i) {
    SHORTLIST_ASSIGN_OR_RETURN(
        DecoderLayer layer,
        DecoderLayer::Load(checkpoint, absl::StrCat("layers.", i, "."), config, i,
                           i > 0 ? AttentionInput::kNormed : AttentionInput::kPlain, weight_dtype,
                           pool));
    layers.push_back(std::move(layer));
  }
  SHORTLIST_RETURN_IF_ERROR(CompareEmbedding(checkpoint));
  head = SharedHead(target.head_weight(), weight_dtype, pool);
  warning = checkpoint.warning();
  return checkpoint.CheckNothingUnknown();
}

absl::Status EagleModel::Impl::CompareEmbedding(Checkpoint& checkpoint) {
  const std::string name = "embed_tokens.weight";
  if (!checkpoint.Contains(name)) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, checkpoint.StoredShape(name));
  const int64_t num_rows =
      !shape.empty() && IsPadding(shape[0], config.vocab_size) ? shape[0] : config.vocab_size;
  SHORTLIST_ASSIGN_OR_RETURN(
      const Matrix own, checkpoint.Load(name, {num_rows, config.hidden}, target.dtype(), pool));
  const HeadWeight targets = target.embedding_weight();
  // Rows in blocks differ from what they were made of.
  if (IsBlocked(targets.dtype)) return absl::OkStatus();
  std::atomic<int64_t> count = 0;
  pool.ParallelFor(std::min(num_rows, targets.vocab_size), /*grain=*/64,
                   [&](int64_t first, int64_t last) {
                     for (int64_t row = first; row < last; ++row) {
                       if (IsForeignRow(own, targets, row)) ++count;
                     }
                   });
  num_foreign_embeddings = count;
  return absl::OkStatus();
}

const float* EagleModel::Impl::JoinInputs(const ForwardBatch& batch, const float* features) {
  const int64_t num_tokens = batch.num_tokens();
  const int64_t hidden = config.hidden;
  float* const embeddings = ReserveFloats(embedded, num_tokens * hidden);
  float* const rows = ReserveFloats(joined, num_tokens * 2 * hidden);
  const HeadWeight table = target.embedding_weight();
  EmbeddingCpu(table.rows, table.dtype, hidden, batch.token_ids().data(), num_tokens, embeddings,
               pool);
  for (int64_t t = 0; t < num_tokens; ++t) {
    std::copy_n(embeddings + t * hidden, hidden, rows + t * 2 * hidden);
    std::copy_n(features + t * hidden, hidden, rows + t * 2 * hidden + hidden);
  }
  return rows;
}

Matrix EagleModel::Impl::Forward(const ForwardBatch& batch, const float* features, KvCache& cache) {
  const int64_t num_tokens = batch.num_tokens();
  Matrix out = Matrix(num_tokens, config.hidden);
  if (num_tokens == 0) return out;
  rope.Reserve(PositionsNeeded(batch));
  scratch.Reserve(config, num_tokens);
  float* const hidden = out.floats();
  LinearCpu(fc, {JoinInputs(batch, features)}, num_tokens, hidden, /*accumulate=*/false, pool);
  if (fc_bias.defined()) {
    AddBiasCpu(hidden, fc_bias.floats(), num_tokens, config.hidden, pool);
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i].Forward(config, batch, cache.layer(static_cast<int64_t>(i)), rope, hidden, scratch,
                      pool);
  }
  return out;
}

EagleModel::EagleModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EagleModel::~EagleModel() = default;

absl::StatusOr<std::unique_ptr<EagleModel>> EagleModel::Load(const ModelSource& source,
                                                             const Decoder& target,
                                                             ThreadPool& pool,
                                                             std::optional<DType> quantize) {
  SHORTLIST_CHECK(!quantize || IsQuantized(*quantize));
  SHORTLIST_ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(source));
  if (!config.is_eagle) {
    return absl::InvalidArgumentError(
        absl::StrCat(source.path(),
                     ": no EAGLE draft; need LlamaForCausalLMEagle, Qwen2ForCausalLMEagle or "
                     "Qwen3ForCausalLMEagle"));
  }
  if (config.hidden != target.config().hidden) {
    return absl::FailedPreconditionError(absl::StrCat(source.path(), ": hidden_size ",
                                                      config.hidden, " does not fit the target's ",
                                                      target.config().hidden));
  }
  const int64_t vocab_size = target.config().vocab_size;
  if (!IsPadding(config.vocab_size, vocab_size)) {
    return absl::FailedPreconditionError(absl::StrCat(source.path(), ": vocab_size ",
                                                      config.vocab_size,
                                                      " does not fit the target's ", vocab_size));
  }
  config.vocab_size = vocab_size;
  if (quantize && IsQuantized(target.weight_dtype()) && *quantize != target.weight_dtype()) {
    return absl::FailedPreconditionError(
        absl::StrCat(source.path(), ": ", DTypeName(*quantize), " for the draft with a target in ",
                     DTypeName(target.weight_dtype()), ", whose head they share"));
  }
  std::unique_ptr<Impl> impl;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc(source.path(), [&] {
    impl = std::make_unique<Impl>(config, target, pool);
    impl->weight_dtype = quantize.value_or(target.weight_dtype());
    return impl->LoadWeights(source);
  }));
  return std::unique_ptr<EagleModel>(new EagleModel(std::move(impl)));
}

const ModelConfig& EagleModel::config() const { return impl_->config; }

int64_t EagleModel::num_foreign_embeddings() const { return impl_->num_foreign_embeddings; }
DType EagleModel::kv_dtype() const { return impl_->target.dtype(); }

std::vector<std::string> EagleModel::warnings() const {
  std::vector<std::string> warnings;
  if (!impl_->warning.empty()) warnings.push_back(impl_->warning);
  if (impl_->num_foreign_embeddings > 0) {
    warnings.push_back(absl::StrCat(impl_->num_foreign_embeddings,
                                    " of its embeddings differ from those of its target, which are "
                                    "used: few drafts stand if it was trained with another one"));
  }
  return warnings;
}

HeadWeight EagleModel::head_weight() const { return impl_->head.weight(); }

absl::StatusOr<EagleNetwork::Prediction> EagleModel::Forward(const ForwardBatch& batch,
                                                             const Matrix& features,
                                                             KvCache& cache) {
  SHORTLIST_CHECK(features.rows() == batch.num_tokens() && features.cols() == impl_->config.hidden);
  CheckBatch(impl_->config, impl_->target.dtype(), batch, cache);
  Matrix out;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("EAGLE forward pass", [&] {
    out = impl_->Forward(batch, features.floats(), cache);
    return absl::OkStatus();
  }));
  return Prediction{.scored = out, .features = out};
}

}  // namespace shortlist
