#ifndef SHORTLIST_MODEL_CLIP_MODEL_H_
#define SHORTLIST_MODEL_CLIP_MODEL_H_

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
#include "kernels/matrix.h"
#include "model/checkpoint/clip_config.h"

namespace shortlist {

/// A CLIPModel on the CPU (Radford et al. 2021): turns texts and pictures into comparable vectors.
/// This class normalises neither.
///
/// EmbedTexts and EmbedPictures use scratch memory and the pool: at most one call of either at a
/// time. Everything else is immutable.
class ClipModel {
 public:
  /// Loads config.json and the weights of `source`. `dtype`, `quantize` and `pool` are those of
  /// Encoder::Load (embeddings of positions, patches and classes stay in `dtype`). Errors are those
  /// of Encoder::Load.
  static absl::StatusOr<std::unique_ptr<ClipModel>> Load(
      const ModelSource& source, std::optional<DType> dtype, ThreadPool& pool,
      std::optional<DType> quantize = std::nullopt);
  ~ClipModel();

  const ClipConfig& config() const;
  DType dtype() const;
  DType weight_dtype() const;
  /// Checkpoint::warning() of the weights.
  const std::string& warning() const;

  /// Whole sequences, concatenated, including the tokenizer's special tokens.
  struct Texts {
    std::span<const int32_t> token_ids;  // [num_tokens]
    std::span<const int32_t> seq_begin;  // [num_texts + 1] indptr, first 0, last num_tokens
  };
  /// Returns [num_texts, projection] f32. A text's vector is that of its EOS
  /// (ClipConfig::eos_token_id), or of its first token if it has no EOS, as in transformers.
  /// InvalidArgument names the first length or id out of bounds; ResourceExhausted without memory.
  /// A row has the same bits in any batch.
  absl::StatusOr<Matrix> EmbedTexts(const Texts& texts);

  /// The pixels of one picture.
  struct Pixels {
    std::span<const uint8_t> rgb;  // [picture_size, picture_size, 3]
    // For each channel, the number that each byte value becomes.
    const std::array<std::array<float, 256>, 3>* values = nullptr;
  };
  /// Returns [pictures.size(), projection] f32. ResourceExhausted without memory. A row has the
  /// same bits in any batch.
  absl::StatusOr<Matrix> EmbedPictures(std::span<const Pixels> pictures);

  /// Sequences pass through the layers together, up to this many tokens at a time.
  static constexpr int64_t kPassTokens = 1024;

 private:
  struct Impl;
  explicit ClipModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CLIP_MODEL_H_
