#include "model/clip_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "kernels/elementwise.h"
#include "kernels/quant.h"
#include "model/checkpoint.h"
#include "model/clip_tower.h"
#include "model/encoder_batch.h"
#include "model/linear_weight.h"

namespace shortlist {
namespace {

/// Tensors that do not contribute to the vectors.
constexpr std::array kOtherTensors = {"logit_scale", "text_model.embeddings.position_ids",
                                      "vision_model.embeddings.position_ids"};

Matrix Rows(int64_t num_rows, int64_t width) { return Matrix(num_rows, width); }

}  // namespace

struct ClipModel::Impl {
  Impl(const ClipConfig& clip_config, ThreadPool& thread_pool)
      : config(clip_config), pool(thread_pool) {}

  absl::Status LoadWeights(const ModelSource& source, std::optional<DType> wanted,
                           std::optional<DType> quantize);
  absl::Status LoadText(Checkpoint& checkpoint);
  absl::Status LoadVision(Checkpoint& checkpoint);
  /// Returns the token of a text whose state becomes the text's vector; `ids` are the text's.
  int64_t PooledToken(std::span<const int32_t> ids) const;
  Matrix EmbedTexts(const Texts& texts);
  Matrix EmbedPictures(std::span<const Pixels> pictures);
  /// Writes the input of the vision tower's layers for one picture: [picture_tokens(), hidden].
  void Embed(const Pixels& picture, float* hidden);
  /// Normalises num_rows pooled states in place, and projects them.
  void Project(const ClipNorm& norm, const PackedLinear& projection, float* states,
               int64_t num_rows, float* out);

  const ClipConfig config;
  ThreadPool& pool;
  DType dtype = DType::kF32;
  DType weight_dtype = DType::kF32;
  std::string warning;  // of the checkpoint
  EncoderPass pass;
  Arena hidden, patches;

  Matrix tokens, text_positions;  // [vocab_size or context_len, text.hidden]
  std::optional<ClipTower> text;
  ClipNorm text_norm;
  PackedLinear text_projection;

  Matrix picture_class;       // [vision.hidden] f32
  Matrix picture_positions;   // [picture_tokens(), vision.hidden]
  PackedLinear patch_weight;  // of the pixels of a patch, by channel, row and column
  ClipNorm patch_norm, picture_norm;
  std::optional<ClipTower> vision;
  PackedLinear picture_projection;
};

absl::Status ClipModel::Impl::LoadText(Checkpoint& checkpoint) {
  const ClipTowerConfig& tower = config.text;
  SHORTLIST_ASSIGN_OR_RETURN(tokens,
                             checkpoint.Load("text_model.embeddings.token_embedding.weight",
                                             {config.vocab_size, tower.hidden}, dtype, pool));
  SHORTLIST_ASSIGN_OR_RETURN(text_positions,
                             checkpoint.Load("text_model.embeddings.position_embedding.weight",
                                             {config.context_len, tower.hidden}, dtype, pool));
  SHORTLIST_ASSIGN_OR_RETURN(text, ClipTower::Load(checkpoint, "text_model.", tower,
                                                   ClipTower::Kind::kText, weight_dtype, pool));
  SHORTLIST_ASSIGN_OR_RETURN(
      text_norm, ClipNorm::Load(checkpoint, "text_model.final_layer_norm", tower, pool));
  SHORTLIST_ASSIGN_OR_RETURN(text_projection,
                             LoadLinear(checkpoint, "text_projection.weight", config.projection,
                                        tower.hidden, weight_dtype, pool));
  return absl::OkStatus();
}

absl::Status ClipModel::Impl::LoadVision(Checkpoint& checkpoint) {
  const ClipTowerConfig& tower = config.vision;
  SHORTLIST_ASSIGN_OR_RETURN(
      picture_class, checkpoint.Load("vision_model.embeddings.class_embedding", {tower.hidden},
                                     DType::kF32, pool));
  SHORTLIST_ASSIGN_OR_RETURN(picture_positions,
                             checkpoint.Load("vision_model.embeddings.position_embedding.weight",
                                             {config.picture_tokens(), tower.hidden}, dtype, pool));
  // A convolution whose stride equals its width: a linear layer over each patch.
  const int64_t patch = config.patch_size;
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix kernel,
                             checkpoint.Load("vision_model.embeddings.patch_embedding.weight",
                                             {tower.hidden, 3, patch, patch}, dtype, pool));
  const MatrixView rows = {kernel.data(), dtype, tower.hidden};
  patch_weight =
      PackedLinear::Pack({&rows, 1}, 3 * patch * patch, dtype, pool, &checkpoint.packed_memory());
  // Every checkpoint spells the name this way.
  SHORTLIST_ASSIGN_OR_RETURN(patch_norm,
                             ClipNorm::Load(checkpoint, "vision_model.pre_layrnorm", tower, pool));
  SHORTLIST_ASSIGN_OR_RETURN(vision, ClipTower::Load(checkpoint, "vision_model.", tower,
                                                     ClipTower::Kind::kVision, weight_dtype, pool));
  SHORTLIST_ASSIGN_OR_RETURN(
      picture_norm, ClipNorm::Load(checkpoint, "vision_model.post_layernorm", tower, pool));
  SHORTLIST_ASSIGN_OR_RETURN(picture_projection,
                             LoadLinear(checkpoint, "visual_projection.weight", config.projection,
                                        tower.hidden, weight_dtype, pool));
  return absl::OkStatus();
}

absl::Status ClipModel::Impl::LoadWeights(const ModelSource& source, std::optional<DType> wanted,
                                          std::optional<DType> quantize) {
  SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(source, WeightPacking{}));
  SHORTLIST_ASSIGN_OR_RETURN(
      const DType stored, checkpoint.StoredDType("text_model.embeddings.token_embedding.weight"));
  dtype = wanted.value_or(stored);
  weight_dtype = quantize.value_or(dtype);
  SHORTLIST_RETURN_IF_ERROR(LoadText(checkpoint));
  SHORTLIST_RETURN_IF_ERROR(LoadVision(checkpoint));
  warning = checkpoint.warning();
  const std::vector<std::string> others(kOtherTensors.begin(), kOtherTensors.end());
  return checkpoint.CheckNothingUnknown(others);
}

int64_t ClipModel::Impl::PooledToken(std::span<const int32_t> ids) const {
  if (!config.eos_token_id) return std::ranges::max_element(ids) - ids.begin();
  const auto eos = std::ranges::find(ids, *config.eos_token_id);
  return eos == ids.end() ? 0 : eos - ids.begin();
}

void ClipModel::Impl::Project(const ClipNorm& norm, const PackedLinear& projection, float* states,
                              int64_t num_rows, float* out) {
  norm.Run(states, num_rows, states, pool);
  LinearCpu(projection, {states}, num_rows, out, /*accumulate=*/false, pool);
}

Matrix ClipModel::Impl::EmbedTexts(const Texts& texts) {
  const std::span<const int32_t> begin = texts.seq_begin;
  const int64_t width = config.text.hidden;
  Matrix pooled = Rows(std::ssize(begin) - 1, width);
  for (size_t first = 0, last = 0; first + 1 < begin.size(); first = last) {
    // At least one text, and the following texts that fit.
    for (last = first + 1; last + 1 < begin.size(); ++last) {
      if (begin[last + 1] - begin[first] > kPassTokens) break;
    }
    pass.Assign(begin.subspan(first, last - first + 1));
    const int32_t* const ids = texts.token_ids.data() + begin[first];
    float* const states = ReserveFloats(hidden, pass.num_tokens() * width);
    EmbeddingCpu(tokens.data(), dtype, width, ids, pass.num_tokens(), states, pool);
    AddEmbeddingCpu(text_positions.data(), dtype, width, pass.positions(), pass.num_tokens(),
                    states, pool);
    text->Forward(pass, states, pool);
    for (size_t s = first; s < last; ++s) {
      const int64_t token = begin[s] - begin[first] +
                            PooledToken({texts.token_ids.data() + begin[s],
                                         static_cast<size_t>(begin[s + 1] - begin[s])});
      std::copy_n(states + token * width, width, pooled.floats() + static_cast<int64_t>(s) * width);
    }
  }
  Matrix out = Rows(pooled.rows(), config.projection);
  Project(text_norm, text_projection, pooled.floats(), pooled.rows(), out.floats());
  return out;
}

void ClipModel::Impl::Embed(const Pixels& picture, float* states) {
  const int64_t size = config.picture_size, patch = config.patch_size, width = config.vision.hidden;
  const int64_t per_row = size / patch, patch_pixels = patch * patch;
  float* const unfolded = ReserveFloats(patches, config.num_patches() * 3 * patch_pixels);
  pool.ParallelFor(per_row, /*grain=*/1, [&](int64_t first, int64_t last) {
    for (int64_t y = first * patch; y < last * patch; ++y) {
      for (int64_t x = 0; x < size; ++x) {
        float* const out = unfolded + (y / patch * per_row + x / patch) * 3 * patch_pixels +
                           y % patch * patch + x % patch;
        const uint8_t* const pixel = picture.rgb.data() + (y * size + x) * 3;
        for (int64_t c = 0; c < 3; ++c) {
          out[c * patch_pixels] = (*picture.values)[static_cast<size_t>(c)][pixel[c]];
        }
      }
    }
  });
  std::copy_n(picture_class.floats(), width, states);
  LinearCpu(patch_weight, {unfolded}, config.num_patches(), states + width, /*accumulate=*/false,
            pool);
}

Matrix ClipModel::Impl::EmbedPictures(std::span<const Pixels> pictures) {
  const int64_t width = config.vision.hidden, num_tokens = config.picture_tokens();
  const int64_t most = std::max<int64_t>(kPassTokens / num_tokens, 1);
  const auto num_pictures = std::ssize(pictures);
  Matrix pooled = Rows(num_pictures, width);
  for (int64_t first = 0; first < num_pictures; first += most) {
    const int64_t count = std::min(most, num_pictures - first);
    std::vector<int32_t> begin;
    for (int64_t i = 0; i <= count; ++i) begin.push_back(static_cast<int32_t>(i * num_tokens));
    pass.Assign(begin);
    float* const states = ReserveFloats(hidden, pass.num_tokens() * width);
    for (int64_t i = 0; i < count; ++i) {
      Embed(pictures[static_cast<size_t>(first + i)], states + i * num_tokens * width);
    }
    AddEmbeddingCpu(picture_positions.data(), dtype, width, pass.positions(), pass.num_tokens(),
                    states, pool);
    patch_norm.Run(states, pass.num_tokens(), states, pool);
    vision->Forward(pass, states, pool);
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(states + i * num_tokens * width, width, pooled.floats() + (first + i) * width);
    }
  }
  Matrix out = Rows(num_pictures, config.projection);
  Project(picture_norm, picture_projection, pooled.floats(), num_pictures, out.floats());
  return out;
}

ClipModel::ClipModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClipModel::~ClipModel() = default;

absl::StatusOr<std::unique_ptr<ClipModel>> ClipModel::Load(const ModelSource& source,
                                                           std::optional<DType> dtype,
                                                           ThreadPool& pool,
                                                           std::optional<DType> quantize) {
  SHORTLIST_CHECK(!quantize || IsQuantized(*quantize));
  SHORTLIST_ASSIGN_OR_RETURN(const ClipConfig config, ReadClipConfig(source));
  std::unique_ptr<Impl> impl;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc(source.path(), [&] {
    impl = std::make_unique<Impl>(config, pool);
    return impl->LoadWeights(source, dtype, quantize);
  }));
  return std::unique_ptr<ClipModel>(new ClipModel(std::move(impl)));
}

const ClipConfig& ClipModel::config() const { return impl_->config; }
DType ClipModel::dtype() const { return impl_->dtype; }
DType ClipModel::weight_dtype() const { return impl_->weight_dtype; }
const std::string& ClipModel::warning() const { return impl_->warning; }

absl::StatusOr<Matrix> ClipModel::EmbedTexts(const Texts& texts) {
  // The same bounds and messages as those of an encoder.
  EncoderConfig bounds;
  bounds.vocab_size = impl_->config.vocab_size;
  bounds.context_len = impl_->config.context_len;
  SHORTLIST_RETURN_IF_ERROR(CheckEncoderBatch(
      bounds, {.token_ids = texts.token_ids, .token_type_ids = {}, .seq_begin = texts.seq_begin}));
  Matrix out;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("forward pass", [&] {
    out = impl_->EmbedTexts(texts);
    return absl::OkStatus();
  }));
  return out;
}

absl::StatusOr<Matrix> ClipModel::EmbedPictures(std::span<const Pixels> pictures) {
  const int64_t size = impl_->config.picture_size;
  for (const Pixels& picture : pictures) {
    SHORTLIST_CHECK(picture.values != nullptr && std::ssize(picture.rgb) == size * size * 3);
  }
  Matrix out;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("forward pass", [&] {
    out = impl_->EmbedPictures(pictures);
    return absl::OkStatus();
  }));
  return out;
}

}  // namespace shortlist
