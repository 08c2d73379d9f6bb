#include "model/mtp_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "io/weight_files.h"
#include "kernels/arena.h"
#include "kernels/elementwise.h"
#include "model/checkpoint.h"
#include "model/decoder_layer.h"
#include "model/linear_weight.h"
#include "model/norm_weight.h"
#include "model/rope.h"
#include "model/shared_head.h"

namespace shortlist {
namespace {

constexpr char kFc[] = "mtp.fc.weight";
constexpr char kLayer[] = "mtp.layers.0.";

/// One attention layer of the target's shape.
ModelConfig LayerConfig(const ModelConfig& target) {
  ModelConfig config = target;
  config.num_layers = 1;
  config.recurrent.clear();
  config.windows.clear();
  config.unrotated.clear();
  const bool has_experts = !config.experts.layers.empty() && config.experts.layers.back();
  config.experts.layers.assign(has_experts ? 1 : 0, true);
  return config;
}

}  // namespace

struct MtpModel::Impl {
  Impl(const Decoder& target_model, DType dtype, ThreadPool& thread_pool)
      : config(LayerConfig(target_model.config())),
        target(target_model),
        pool(thread_pool),
        weight_dtype(dtype),
        rope(config) {}

  absl::Status LoadWeights(const ModelSource& source);
  Matrix Forward(const ForwardBatch& batch, const float* features, KvCache& cache);
  /// y = RMS norm of x, both [num_tokens, hidden].
  void Normalise(const float* x, const Matrix& weight, int64_t num_tokens, float* y) {
    RmsNormCpu(x, weight.floats(), static_cast<float>(config.rms_norm_eps), num_tokens,
               config.hidden, y, pool);
  }

  const ModelConfig config;
  std::string warning;  // of the checkpoint
  const Decoder& target;
  ThreadPool& pool;
  const DType weight_dtype;  // of the linear layers and the head
  SharedHead head;
  PackedLinear fc;                                  // 2 * hidden -> hidden
  Matrix embedding_norm, feature_norm, final_norm;  // [hidden] f32
  std::optional<DecoderLayer> layer;
  RopeTable rope;
  LayerScratch scratch;
  Arena embedded, normed, joined;
};

absl::Status MtpModel::Impl::LoadWeights(const ModelSource& source) {
  SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(source, config.packing));
  if (!checkpoint.Contains(kFc)) {
    return absl::NotFoundError(absl::StrCat(source.path(), ": no MTP layer (tensor ", kFc, ")"));
  }
  constexpr char kSecond[] = "mtp.layers.1.input_layernorm.weight";
  if (checkpoint.Contains(kSecond)) {
    return absl::UnimplementedError(absl::StrCat(source.path(), ": several MTP layers (tensor ",
                                                 kSecond, "); only one is supported"));
  }
  const int64_t hidden = config.hidden;
  if (!IsQuantized(weight_dtype) && weight_dtype == target.dtype()) checkpoint.KeepBlocks();
  SHORTLIST_ASSIGN_OR_RETURN(fc,
                             LoadLinear(checkpoint, kFc, hidden, 2 * hidden, weight_dtype, pool));
  const auto load_norm = [&](const char* name) {
    return LoadNorm(checkpoint, name, hidden, config.norm_offset, pool);
  };
  SHORTLIST_ASSIGN_OR_RETURN(embedding_norm, load_norm("mtp.pre_fc_norm_embedding.weight"));
  SHORTLIST_ASSIGN_OR_RETURN(feature_norm, load_norm("mtp.pre_fc_norm_hidden.weight"));
  SHORTLIST_ASSIGN_OR_RETURN(final_norm, load_norm("mtp.norm.weight"));
  SHORTLIST_ASSIGN_OR_RETURN(
      layer, DecoderLayer::Load(checkpoint, kLayer, config, /*index=*/0, AttentionInput::kNormed,
                                weight_dtype, pool));
  head = SharedHead(target.head_weight(), weight_dtype, pool);
  warning = checkpoint.warning();
  return checkpoint.CheckNothingUnknownBelow("mtp.");
}

Matrix MtpModel::Impl::Forward(const ForwardBatch& batch, const float* features, KvCache& cache) {
  const int64_t num_tokens = batch.num_tokens(), hidden = config.hidden;
  Matrix out = Matrix(num_tokens, hidden);
  if (num_tokens == 0) return out;
  rope.Reserve(PositionsNeeded(batch));
  scratch.Reserve(config, num_tokens);
  float* const embeddings = ReserveFloats(embedded, num_tokens * hidden);
  float* const states = ReserveFloats(normed, num_tokens * hidden);
  float* const rows = ReserveFloats(joined, num_tokens * 2 * hidden);
  const HeadWeight table = target.embedding_weight();
  EmbeddingCpu(table.rows, table.dtype, hidden, batch.token_ids().data(), num_tokens, embeddings,
               pool);
  Normalise(embeddings, embedding_norm, num_tokens, embeddings);
  Normalise(features, feature_norm, num_tokens, states);
  for (int64_t t = 0; t < num_tokens; ++t) {
    std::copy_n(embeddings + t * hidden, hidden, rows + t * 2 * hidden);
    std::copy_n(states + t * hidden, hidden, rows + t * 2 * hidden + hidden);
  }
  float* const stream = out.floats();
  LinearCpu(fc, {rows}, num_tokens, stream, /*accumulate=*/false, pool);
  layer->Forward(config, batch, cache.layer(0), rope, stream, scratch, pool);
  Normalise(stream, final_norm, num_tokens, stream);
  return out;
}

MtpModel::MtpModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MtpModel::~MtpModel() = default;

bool MtpModel::IsIn(const ModelSource& source) {
  const absl::StatusOr<WeightFiles> weights = source.OpenWeights();
  return weights.ok() && weights->tensors().contains(kFc);
}

absl::StatusOr<std::unique_ptr<MtpModel>> MtpModel::Load(const ModelSource& source,
                                                         const Decoder& target, ThreadPool& pool,
                                                         std::optional<DType> quantize) {
  SHORTLIST_CHECK(!quantize || IsQuantized(*quantize));
  std::unique_ptr<Impl> impl;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc(source.path(), [&] {
    impl = std::make_unique<Impl>(target, quantize.value_or(target.weight_dtype()), pool);
    return impl->LoadWeights(source);
  }));
  return std::unique_ptr<MtpModel>(new MtpModel(std::move(impl)));
}

const ModelConfig& MtpModel::config() const { return impl_->config; }
DType MtpModel::kv_dtype() const { return impl_->target.dtype(); }
HeadWeight MtpModel::head_weight() const { return impl_->head.weight(); }

std::vector<std::string> MtpModel::warnings() const {
  return impl_->warning.empty() ? std::vector<std::string>() : std::vector{impl_->warning};
}

absl::StatusOr<EagleNetwork::Prediction> MtpModel::Forward(const ForwardBatch& batch,
                                                           const Matrix& features, KvCache& cache) {
  SHORTLIST_CHECK(features.rows() == batch.num_tokens() && features.cols() == impl_->config.hidden);
  CheckBatch(impl_->config, kv_dtype(), batch, cache);
  Matrix out;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("MTP forward pass", [&] {
    out = impl_->Forward(batch, features.floats(), cache);
    return absl::OkStatus();
  }));
  return Prediction{.scored = out, .features = out};
}

}  // namespace shortlist
