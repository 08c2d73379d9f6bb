#include "model/encoder.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "kernels/elementwise.h"
#include "kernels/quant.h"
#include "model/checkpoint.h"
#include "model/encoder_layer.h"
#include "model/rope.h"

namespace shortlist {
namespace {

using Family = EncoderConfig::Family;

/// Tensors whose names have these prefixes, with or without the body's prefix, do not belong to the
/// body.
constexpr std::array kHeadTensors = {"pooler.",
                                     "classifier.",
                                     "pre_classifier.",
                                     "cls.",
                                     "lm_head.",
                                     "decoder.",
                                     "head.",
                                     "vocab_transform.",
                                     "vocab_layer_norm.",
                                     "vocab_projector.",
                                     "embeddings.position_ids"};

/// Returns the prefix of the body's tensor names in checkpoints that also have a head.
const char* BodyPrefix(Family family) {
  switch (family) {
    case Family::kBert:
      return "bert.";
    case Family::kDistilBert:
      return "distilbert.";
    case Family::kRoberta:
      return "roberta.";
    case Family::kModernBert:
      return "model.";
  }
  SHORTLIST_CHECK(false);
}

RopeTable MakeRope(const EncoderConfig& config, double theta) {
  ModelConfig rope;
  rope.rotary_dim = config.head_dim;
  rope.context_len = config.context_len;
  rope.rope_theta = theta;
  return RopeTable(rope);
}

}  // namespace

struct Encoder::Impl {
  Impl(const EncoderConfig& encoder_config, ThreadPool& thread_pool)
      : config(encoder_config),
        pool(thread_pool),
        global_rope(MakeRope(config, config.global_rope_theta)),
        local_rope(MakeRope(config, config.local_rope_theta)) {}

  bool is_modern() const { return config.family == Family::kModernBert; }
  absl::Status LoadWeights(const ModelSource& source, std::optional<DType> wanted,
                           std::optional<DType> quantize);
  absl::Status LoadEmbeddings(Checkpoint& checkpoint, std::optional<DType> wanted);
  Matrix Forward(const EncoderBatch& batch);
  /// token_ids, token_type_ids (may be null): [pass.num_tokens()]; hidden: [.., hidden].
  void Embed(const int32_t* token_ids, const int32_t* token_type_ids, float* hidden);
  /// token_ids: [pass.num_tokens()]. Returns the rows of `positions`, [pass.num_tokens()].
  std::vector<int32_t> PositionRows(const int32_t* token_ids) const;
  void RunPass(float* hidden);

  const EncoderConfig config;
  ThreadPool& pool;
  DType dtype = DType::kF32;
  DType weight_dtype = DType::kF32;
  std::string prefix;
  std::string warning;  // of the checkpoint
  Matrix tokens;        // [vocab_size, hidden]
  Matrix positions;     // [num_positions, hidden]; undefined for rotary positions
  Matrix token_types;   // [num_token_types, hidden]; undefined without them
  NormWeight embedding_norm;
  std::vector<EncoderLayer> layers;
  NormWeight final_norm;  // ModernBERT only
  RopeTable global_rope, local_rope;
  EncoderPass pass;
  EncoderScratch scratch;
};

absl::Status Encoder::Impl::LoadEmbeddings(Checkpoint& checkpoint, std::optional<DType> wanted) {
  const std::string name =
      is_modern() ? "embeddings.tok_embeddings.weight" : "embeddings.word_embeddings.weight";
  const char* const body = BodyPrefix(config.family);
  if (checkpoint.Contains(absl::StrCat(body, name))) prefix = body;
  SHORTLIST_ASSIGN_OR_RETURN(const DType stored,
                             checkpoint.StoredDType(absl::StrCat(prefix, name)));
  dtype = wanted.value_or(stored);
  const auto load = [&](std::string_view table, int64_t num_rows) {
    return checkpoint.Load(absl::StrCat(prefix, std::string(table)), {num_rows, config.hidden},
                           dtype, pool);
  };
  SHORTLIST_ASSIGN_OR_RETURN(tokens, load(name, config.vocab_size));
  if (!is_modern()) {
    SHORTLIST_ASSIGN_OR_RETURN(positions,
                               load("embeddings.position_embeddings.weight", config.num_positions));
  }
  if (config.num_token_types > 0) {
    SHORTLIST_ASSIGN_OR_RETURN(
        token_types, load("embeddings.token_type_embeddings.weight", config.num_token_types));
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      embedding_norm,
      NormWeight::Load(checkpoint,
                       absl::StrCat(prefix, "embeddings.", is_modern() ? "norm" : "LayerNorm"),
                       config, pool));
  return absl::OkStatus();
}

absl::Status Encoder::Impl::LoadWeights(const ModelSource& source, std::optional<DType> wanted,
                                        std::optional<DType> quantize) {
  SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(source, WeightPacking{}));
  SHORTLIST_RETURN_IF_ERROR(LoadEmbeddings(checkpoint, wanted));
  weight_dtype = quantize.value_or(dtype);
  for (int64_t i = 0; i < config.num_layers; ++i) {
    SHORTLIST_ASSIGN_OR_RETURN(
        EncoderLayer layer, EncoderLayer::Load(checkpoint, prefix, config, i, weight_dtype, pool));
    layers.push_back(std::move(layer));
  }
  if (is_modern()) {
    SHORTLIST_ASSIGN_OR_RETURN(
        final_norm, NormWeight::Load(checkpoint, absl::StrCat(prefix, "final_norm"), config, pool));
  }
  warning = checkpoint.warning();
  std::vector<std::string> heads;
  for (const char* head : kHeadTensors) {
    heads.emplace_back(head);
    if (!prefix.empty()) heads.push_back(absl::StrCat(prefix, head));
  }
  return checkpoint.CheckNothingUnknown(heads);
}

/// RoBERTa counts the tokens that are not padding. Padding has the row before that of the first
/// such token (create_position_ids_from_input_ids of transformers).
std::vector<int32_t> Encoder::Impl::PositionRows(const int32_t* token_ids) const {
  const auto first = static_cast<int32_t>(config.first_position);
  std::vector<int32_t> rows(pass.positions(), pass.positions() + pass.num_tokens());
  if (config.family != Family::kRoberta) return rows;
  const int32_t pad = first - 1;
  int32_t next = first;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == 0) next = first;
    rows[i] = token_ids[i] == pad ? pad : next++;
  }
  return rows;
}

void Encoder::Impl::Embed(const int32_t* token_ids, const int32_t* token_type_ids, float* hidden) {
  const int64_t num_tokens = pass.num_tokens();
  EmbeddingCpu(tokens.data(), dtype, config.hidden, token_ids, num_tokens, hidden, pool);
  if (token_types.defined()) {
    std::vector<int32_t> zeros;
    if (token_type_ids == nullptr) zeros.resize(static_cast<size_t>(num_tokens));
    AddEmbeddingCpu(token_types.data(), dtype, config.hidden,
                    token_type_ids == nullptr ? zeros.data() : token_type_ids, num_tokens, hidden,
                    pool);
  }
  if (positions.defined()) {
    const std::vector<int32_t> rows = PositionRows(token_ids);
    AddEmbeddingCpu(positions.data(), dtype, config.hidden, rows.data(), num_tokens, hidden, pool);
  }
  LayerNormCpu(hidden, /*addend=*/nullptr, embedding_norm.View(config), num_tokens, config.hidden,
               hidden, pool);
}

void Encoder::Impl::RunPass(float* hidden) {
  scratch.Reserve(config, pass.num_tokens());
  if (is_modern()) {
    global_rope.Reserve(pass.max_seq_len());
    local_rope.Reserve(pass.max_seq_len());
  }
  for (const EncoderLayer& layer : layers) {
    const RopeTable* const rope = !is_modern()       ? nullptr
                                  : layer.is_local() ? &local_rope
                                                     : &global_rope;
    layer.Forward(config, pass, rope, hidden, scratch, pool);
  }
  if (is_modern()) {
    LayerNormCpu(hidden, /*addend=*/nullptr, final_norm.View(config), pass.num_tokens(),
                 config.hidden, hidden, pool);
  }
}

Matrix Encoder::Impl::Forward(const EncoderBatch& batch) {
  const auto num_tokens = static_cast<int64_t>(batch.token_ids.size());
  Matrix out = Matrix(num_tokens, config.hidden);
  const std::span<const int32_t> begin = batch.seq_begin;
  for (size_t first = 0, last = 0; first + 1 < begin.size(); first = last) {
    // At least one sequence, and the following sequences that fit.
    for (last = first + 1; last + 1 < begin.size(); ++last) {
      if (begin[last + 1] - begin[first] > kPassTokens) break;
    }
    pass.Assign(begin.subspan(first, last - first + 1));
    const int32_t* const types =
        batch.token_type_ids.empty() ? nullptr : batch.token_type_ids.data() + begin[first];
    float* const hidden = out.floats() + begin[first] * config.hidden;
    Embed(batch.token_ids.data() + begin[first], types, hidden);
    RunPass(hidden);
  }
  return out;
}

Encoder::Encoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Encoder::~Encoder() = default;

absl::StatusOr<std::unique_ptr<Encoder>> Encoder::Load(const ModelSource& source,
                                                       std::optional<DType> dtype, ThreadPool& pool,
                                                       std::optional<DType> quantize) {
  SHORTLIST_CHECK(!quantize || IsQuantized(*quantize));
  SHORTLIST_ASSIGN_OR_RETURN(const EncoderConfig config, ReadEncoderConfig(source));
  std::unique_ptr<Impl> impl;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc(source.path(), [&] {
    impl = std::make_unique<Impl>(config, pool);
    return impl->LoadWeights(source, dtype, quantize);
  }));
  return std::unique_ptr<Encoder>(new Encoder(std::move(impl)));
}

const EncoderConfig& Encoder::config() const { return impl_->config; }
DType Encoder::dtype() const { return impl_->dtype; }
DType Encoder::weight_dtype() const { return impl_->weight_dtype; }
const std::string& Encoder::tensor_prefix() const { return impl_->prefix; }
const std::string& Encoder::warning() const { return impl_->warning; }

absl::StatusOr<Matrix> Encoder::Forward(const EncoderBatch& batch) {
  SHORTLIST_RETURN_IF_ERROR(CheckEncoderBatch(impl_->config, batch));
  Matrix out;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("forward pass", [&] {
    out = impl_->Forward(batch);
    return absl::OkStatus();
  }));
  return out;
}

}  // namespace shortlist
