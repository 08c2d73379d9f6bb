#ifndef SHORTLIST_MODEL_CLIP_MODEL_H_
#define SHORTLIST_MODEL_CLIP_MODEL_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "io/model_source.h"
#include "model/checkpoint/clip_config.h"

namespace shortlist {

/// A CLIPModel on the CPU (Radford et al. 2021): texts and pictures become vectors that can be
/// compared. Neither is normalised here.
///
/// The two Embed functions use scratch memory and the pool: one call of either at a time.
/// Everything else is immutable.
class ClipModel {
 public:
  /// Loads config.json and the weights of `source`; `dtype`, `quantize` and `pool` as Encoder::Load
  /// takes them (positions, patches and classes stay in `dtype`). Errors as Encoder::Load.
  static absl::StatusOr<std::unique_ptr<ClipModel>> Load(
      const ModelSource& source, std::optional<DType> dtype, ThreadPool& pool,
      std::optional<DType> quantize = std::nullopt);
  ~ClipModel();

  const ClipConfig& config() const;
  DType dtype() const;
  DType weight_dtype() const;

  /// Whole sequences, one after the other, the tokenizer's special ones included.
  struct Texts {
    std::span<const int32_t> token_ids;  // [num_tokens]
    std::span<const int32_t> seq_begin;  // [num_texts + 1] indptr, first 0, last num_tokens
  };
  /// [num_texts, projection] f32. A text's vector is that of its EOS (ClipConfig::eos_token_id),
  /// and of its first token where it has none, as transformers has it. InvalidArgument names the
  /// first length or id that is out of bounds; ResourceExhausted without memory. A row has the same
  /// bits in any batch.
  absl::StatusOr<at::Tensor> EmbedTexts(const Texts& texts);

  /// What is seen of a picture.
  struct Pixels {
    std::span<const uint8_t> rgb;  // [picture_size, picture_size, 3]
    const std::array<std::array<float, 256>, 3>* values = nullptr;  // what a channel's become
  };
  /// [pictures.size(), projection] f32, likewise.
  absl::StatusOr<at::Tensor> EmbedPictures(std::span<const Pixels> pictures);

  /// Sequences go through the layers together up to so many tokens.
  static constexpr int64_t kPassTokens = 1024;

 private:
  struct Impl;
  explicit ClipModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CLIP_MODEL_H_
