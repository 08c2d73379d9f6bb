#include "model/decoder.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "kernels/elementwise.h"
#include "kernels/quant.h"
#include "model/checkpoint.h"
#include "model/decoder_layer.h"
#include "model/norm_weight.h"
#include "model/rope.h"
#include "model/state_pass.h"

namespace shortlist {

namespace {

/// Rows of an embedding or a head, in memory of their own or shared.
struct RowTable {
  HeadWeight weight;
  std::shared_ptr<const void> memory;

  bool defined() const { return weight.rows != nullptr; }

  static RowTable Of(const Matrix& matrix) {
    const auto owner = std::make_shared<Matrix>(matrix);
    return {{matrix.data(), matrix.dtype(), matrix.rows(), matrix.cols()}, owner};
  }
  static RowTable Of(QuantizedRows rows, DType dtype, int64_t num_rows, int64_t width) {
    const auto owner = std::make_shared<QuantizedRows>(std::move(rows));
    return {{owner->data(), dtype, num_rows, width}, owner};
  }
};

/// Reads tensor `name` as `dtype`, or in the blocks that the checkpoint keeps.
absl::StatusOr<RowTable> LoadRows(Checkpoint& checkpoint, const std::string& name,
                                  const ModelConfig& config, DType dtype, ThreadPool& pool) {
  const int64_t num_rows = config.vocab_size, width = config.hidden;
  if (const std::optional<DType> blocks = checkpoint.StoredBlocks(name, num_rows, width, pool)) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::shared_ptr<const void> stored,
                               checkpoint.LoadBlocks(name, num_rows, width, pool));
    return RowTable::Of(QuantizedRows::OfBlocks(stored.get(), num_rows, width, *blocks, pool),
                        *blocks, num_rows, width);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix rows,
                             checkpoint.Load(name, {num_rows, width}, dtype, pool));
  return RowTable::Of(rows);
}

/// Copies the states [num_tokens, width] at boundary `index` to their places in `taps`.
void CopyTaps(const float* states, int64_t num_tokens, int64_t width, int64_t index,
              StateTaps& taps) {
  for (size_t i = 0; i < taps.boundaries.size(); ++i) {
    if (taps.boundaries[i] != index) continue;
    float* const out = taps.states.floats() + static_cast<int64_t>(i) * width;
    for (int64_t t = 0; t < num_tokens; ++t) {
      std::copy_n(states + t * width, width, out + t * taps.states.cols());
    }
  }
}

class DecoderExecutor final : public Executor {
 public:
  DecoderExecutor(Decoder& decoder, KvCache cache, int64_t max_prefix_states)
      : decoder_(decoder), cache_(std::move(cache)), prefixes_(max_prefix_states) {}

  int64_t num_slots() const override { return cache_.num_slots(); }
  absl::StatusOr<Matrix> Forward(const ForwardBatch& batch, StateTaps* taps) override {
    return decoder_.Forward(batch, cache_, taps, &prefixes_);
  }

  std::unique_ptr<SequenceState> NewState(std::span<const int32_t> slots) override {
    if (!IsRecurrent()) return nullptr;
    if (slots.empty()) return std::make_unique<SequenceState>(decoder_.config());
    const SequenceState* const found = prefixes_.Find(slots);
    return found == nullptr ? nullptr : std::make_unique<SequenceState>(*found);
  }
  int64_t ResumableLen(std::span<const int32_t> slots) const override {
    return IsRecurrent() ? prefixes_.LongestLen(slots) : std::ssize(slots);
  }
  void Keep(std::unique_ptr<SequenceState> state, std::span<const int32_t> slots) override {
    if (state == nullptr || slots.empty() || prefixes_.max_states() == 0) return;
    decoder_.Commit(*state, std::ssize(slots));
    prefixes_.Add(slots.back(), std::move(state));
  }

 private:
  bool IsRecurrent() const { return decoder_.config().num_recurrent_layers() > 0; }

  Decoder& decoder_;
  KvCache cache_;
  PrefixStates prefixes_;
};

// Of the text model's tensors, in models of texts and pictures: as the first of them were saved,
// and as transformers 5 saves them.
constexpr char kOuterPrefix[] = "language_model.model.";
constexpr char kInnerPrefix[] = "model.language_model.";

/// Returns the prefix of names of tensors, such as "model.". A body's may be those of a whole model
/// or have no prefix.
std::string TextPrefix(const Checkpoint& checkpoint, const ModelConfig& config) {
  std::vector<const char*> prefixes = {""};
  if (config.has_pictures) prefixes = {kOuterPrefix, kInnerPrefix};
  for (const char* const prefix : prefixes) {
    if (checkpoint.Contains(absl::StrCat(prefix, "embed_tokens.weight"))) return prefix;
  }
  return "model.";
}

}  // namespace

struct Decoder::Impl {
  Impl(const ModelConfig& model_config, ThreadPool& thread_pool)
      : config(model_config), pool(thread_pool), rope(model_config) {
    if (config.window_rope_theta == 0.0) return;
    ModelConfig of_window = config;
    of_window.rope_theta = config.window_rope_theta;
    of_window.rope_scaling = RopeScaling();
    window_rope.emplace(of_window);
  }

  absl::Status LoadWeights(const ModelSource& source, std::optional<DType> wanted,
                           std::optional<DType> quantize);
  absl::Status LoadHead(Checkpoint& checkpoint, const std::string& prefix);
  Matrix Forward(const ForwardBatch& batch, KvCache& cache, StateTaps* taps,
                 PrefixStates* prefixes);

  const ModelConfig config;
  ThreadPool& pool;
  DType dtype = DType::kF32;
  DType weight_dtype = DType::kF32;
  std::set<DType> block_types;  // of what is kept in blocks
  std::string warning;          // of the checkpoint
  RowTable embedding;           // [vocab_size, hidden]
  RowTable head;                // [vocab_size, hidden]; not defined for a body
  std::vector<DecoderLayer> layers;
  Matrix norm;  // [hidden] f32
  RopeTable rope;
  std::optional<RopeTable> window_rope;  // of layers with a window; nullopt: they use `rope`
  LayerScratch scratch;
};

absl::Status Decoder::Impl::LoadWeights(const ModelSource& source, std::optional<DType> wanted,
                                        std::optional<DType> quantize) {
  SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(source, config.packing));
  const std::string prefix = TextPrefix(checkpoint, config);
  const std::string embedding_name = prefix + "embed_tokens.weight";
  SHORTLIST_ASSIGN_OR_RETURN(const DType stored, checkpoint.StoredDType(embedding_name));
  dtype = wanted.value_or(stored);
  weight_dtype = quantize.value_or(dtype);
  if (!wanted && !quantize) checkpoint.KeepBlocks();
  SHORTLIST_ASSIGN_OR_RETURN(embedding, LoadRows(checkpoint, embedding_name, config, dtype, pool));
  for (int64_t i = 0; i < config.num_layers; ++i) {
    SHORTLIST_ASSIGN_OR_RETURN(
        DecoderLayer layer,
        DecoderLayer::Load(checkpoint, absl::StrCat(prefix, "layers.", i, "."), config, i,
                           AttentionInput::kNormed, weight_dtype, pool));
    layers.push_back(std::move(layer));
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      norm, LoadNorm(checkpoint, prefix + "norm.weight", config.hidden, config.norm_offset, pool));
  if (config.logit_scale != 1.0 && !config.is_body) {
    // Logits are linear in the states that the head reads.
    for (int64_t i = 0; i < config.hidden; ++i) {
      norm.floats()[i] *= static_cast<float>(config.logit_scale);
    }
  }
  SHORTLIST_RETURN_IF_ERROR(LoadHead(checkpoint, prefix));
  if (head.defined() && IsQuantized(weight_dtype)) {
    head = RowTable::Of(QuantizedRows::Quantize(head.weight.rows, dtype, config.vocab_size,
                                                config.hidden, weight_dtype, pool),
                        weight_dtype, config.vocab_size, config.hidden);
  }
  block_types = checkpoint.loaded_blocks();
  warning = checkpoint.warning();
  // Tensors of others: model/mtp_model.cc loads MTP layers, embed/classifier_head.cc classifiers.
  std::vector<std::string> others = {"mtp."};
  if (config.is_classifier) others.emplace_back("score.");
  if (config.has_pictures) {
    for (const char* const part : {"vision_tower.", "multi_modal_projector.", "visual."}) {
      others.insert(others.end(), {part, absl::StrCat("model.", part)});
    }
  }
  return checkpoint.CheckNothingUnknown(others);
}

absl::Status Decoder::Impl::LoadHead(Checkpoint& checkpoint, const std::string& prefix) {
  if (config.is_body || prefix.empty()) return absl::OkStatus();
  const std::string name =
      prefix == kOuterPrefix ? "language_model.lm_head.weight" : "lm_head.weight";
  if (config.tie_word_embeddings && !checkpoint.Contains(name)) {
    head = embedding;
    return absl::OkStatus();
  }
  SHORTLIST_ASSIGN_OR_RETURN(head, LoadRows(checkpoint, name, config, dtype, pool));
  if (!config.tie_word_embeddings) return absl::OkStatus();
  // Some exports also write the tied head. A copy is dropped; a different head contradicts the
  // config.
  const DType type = embedding.weight.dtype;
  const int64_t bytes = config.vocab_size * RowBytes(type, config.hidden);
  if (head.weight.dtype != type ||
      std::memcmp(head.weight.rows, embedding.weight.rows, static_cast<size_t>(bytes)) != 0) {
    if (config.has_pictures) return absl::OkStatus();  // only a part of the configuration ties
    return absl::InvalidArgumentError(absl::StrCat(
        name, " differs from ", prefix, "embed_tokens.weight, but tie_word_embeddings is true"));
  }
  head = embedding;
  return absl::OkStatus();
}

Matrix Decoder::Impl::Forward(const ForwardBatch& batch, KvCache& cache, StateTaps* taps,
                              PrefixStates* prefixes) {
  const int64_t num_tokens = batch.num_tokens();
  Matrix out = Matrix(num_tokens, config.hidden);
  if (taps != nullptr) {
    for (const int64_t boundary : taps->boundaries) {
      SHORTLIST_CHECK(boundary >= 0 && boundary <= config.num_layers);
    }
    taps->states = Matrix(num_tokens, std::ssize(taps->boundaries) * config.hidden);
  }
  if (num_tokens == 0) return out;
  rope.Reserve(PositionsNeeded(batch));
  if (window_rope) window_rope->Reserve(PositionsNeeded(batch));
  scratch.Reserve(config, num_tokens);
  std::optional<StatePass> states;
  if (config.num_recurrent_layers() > 0) {
    if (prefixes != nullptr) prefixes->Overwritten(batch.out_slots());
    states.emplace(config, batch, prefixes);
  }
  float* const hidden = out.floats();
  EmbeddingCpu(embedding.weight.rows, embedding.weight.dtype, config.hidden,
               batch.token_ids().data(), num_tokens, hidden, pool);
  if (config.embedding_scale != 1.0) {
    float scale = static_cast<float>(config.embedding_scale);
    if (config.rounds_embedding_scale) {
      StoreFromFloat(&scale, dtype, 0, scale);
      scale = LoadAsFloat(&scale, dtype, 0);
    }
    for (int64_t i = 0; i < num_tokens * config.hidden; ++i) hidden[i] *= scale;
  }
  const auto copy_taps = [&](int64_t boundary) {
    if (taps != nullptr) CopyTaps(hidden, num_tokens, config.hidden, boundary, *taps);
  };
  for (size_t i = 0; i < layers.size(); ++i) {
    copy_taps(static_cast<int64_t>(i));
    const bool has_window = !config.windows.empty() && config.windows[i] > 0;
    const RopeTable& table = has_window && window_rope ? *window_rope : rope;
    layers[i].Forward(config, batch, cache.layer(static_cast<int64_t>(i)), table, hidden, scratch,
                      pool, /*joined=*/nullptr,
                      states ? states->steps() : std::span<const StateStep>());
  }
  if (states) states->Finish();
  copy_taps(config.num_layers);
  RmsNormCpu(hidden, norm.floats(), static_cast<float>(config.rms_norm_eps), num_tokens,
             config.hidden, hidden, pool);
  return out;
}

Decoder::Decoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decoder::~Decoder() = default;

absl::StatusOr<std::unique_ptr<Decoder>> Decoder::Load(const ModelSource& source,
                                                       std::optional<DType> dtype, ThreadPool& pool,
                                                       std::optional<DType> quantize) {
  SHORTLIST_CHECK(!quantize || IsQuantized(*quantize));
  SHORTLIST_ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(source));
  if (config.is_eagle) {
    return absl::InvalidArgumentError(
        absl::StrCat(source.path(), ": an EAGLE draft, which runs with its target only"));
  }
  std::unique_ptr<Impl> impl;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc(source.path(), [&] {
    impl = std::make_unique<Impl>(config, pool);
    return impl->LoadWeights(source, dtype, quantize);
  }));
  return std::unique_ptr<Decoder>(new Decoder(std::move(impl)));
}

const ModelConfig& Decoder::config() const { return impl_->config; }
DType Decoder::dtype() const { return impl_->dtype; }
DType Decoder::weight_dtype() const { return impl_->weight_dtype; }
HeadWeight Decoder::embedding_weight() const { return impl_->embedding.weight; }

const std::string& Decoder::warning() const { return impl_->warning; }

std::string Decoder::weight_types() const {
  if (impl_->block_types.empty()) return DTypeName(impl_->weight_dtype);
  return absl::StrJoin(impl_->block_types, "+", [](std::string* out, DType dtype) {
    absl::StrAppend(out, DTypeName(dtype));
  });
}

bool Decoder::has_head() const { return impl_->head.defined(); }

HeadWeight Decoder::head_weight() const {
  SHORTLIST_CHECK(has_head());
  return impl_->head.weight;
}

absl::StatusOr<std::unique_ptr<Executor>> Decoder::NewExecutor(int64_t num_slots) {
  SHORTLIST_ASSIGN_OR_RETURN(KvCache cache, KvCache::Create(config(), num_slots, dtype()));
  // As much memory as the keys and values have.
  const int64_t max_states =
      state_bytes() == 0 ? 0 : std::max<int64_t>(num_slots * slot_bytes() / state_bytes(), 1);
  return std::make_unique<DecoderExecutor>(*this, std::move(cache), max_states);
}

void Decoder::Commit(SequenceState& state, int64_t len) {
  const int64_t num_tokens = len - state.len();
  SHORTLIST_CHECK(num_tokens >= 0 && num_tokens <= state.num_pending());
  const StateStep step = {.state = &state, .num_replayed = num_tokens, .num_final = num_tokens};
  for (const DecoderLayer& layer : impl_->layers) layer.Replay(impl_->config, step, impl_->pool);
  state.SetLen(len, /*num_pending=*/0);
}

absl::StatusOr<Matrix> Decoder::Forward(const ForwardBatch& batch, KvCache& cache, StateTaps* taps,
                                        PrefixStates* prefixes) {
  CheckBatch(impl_->config, impl_->dtype, batch, cache);
  Matrix out;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("forward pass", [&] {
    out = impl_->Forward(batch, cache, taps, prefixes);
    return absl::OkStatus();
  }));
  return out;
}

}  // namespace shortlist
