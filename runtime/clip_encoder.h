#ifndef SHORTLIST_RUNTIME_CLIP_ENCODER_H_
#define SHORTLIST_RUNTIME_CLIP_ENCODER_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "embed/embedding_config.h"
#include "model/checkpoint/encoder_config.h"
#include "model/clip_model.h"
#include "router/encoding_loop.h"

namespace shortlist {

/// A CLIPModel as an EncodingModel runs it: texts and pictures in one pass, each of which becomes a
/// state that is a vector but for its length. One call of Run at a time.
class ClipEncoder {
 public:
  /// Whether `dir`'s config.json is a CLIPModel's; false where there is none.
  static bool Fits(const std::string& dir);
  /// `pool` must outlive it. Errors as ClipModel::Load.
  static absl::StatusOr<ClipEncoder> Load(const std::string& dir, std::optional<DType> dtype,
                                          std::optional<DType> quantize, ThreadPool& pool);

  const ClipModel& model() const { return *model_; }
  /// As far as an encoder's has the field; `hidden` is the size of a state.
  const EncoderConfig& config() const { return config_; }
  /// What becomes of a state: it is normalised.
  EmbeddingConfig embedding(const std::string& dir) const;

  /// [items.size(), config().hidden] f32, a row for each. The same bits as of an item alone.
  absl::StatusOr<at::Tensor> Run(std::span<const EncodingLoop::Item> items);

 private:
  ClipEncoder() = default;

  std::unique_ptr<ClipModel> model_;
  EncoderConfig config_;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_CLIP_ENCODER_H_
