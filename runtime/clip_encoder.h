#ifndef SHORTLIST_RUNTIME_CLIP_ENCODER_H_
#define SHORTLIST_RUNTIME_CLIP_ENCODER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "embed/embedding_config.h"
#include "io/model_source.h"
#include "model/checkpoint/encoder_config.h"
#include "model/clip_model.h"
#include "runtime/encoding_body.h"

namespace shortlist {

/// A CLIPModel: encodes texts and pictures in one pass. Each input yields one state, which becomes
/// a vector by normalisation.
class ClipEncoder final : public EncodingBody {
 public:
  /// True if config.json is that of a CLIPModel; false if there is none.
  static bool Fits(const ModelSource& source);
  /// `pool` must outlive the result. Errors as for ClipModel::Load.
  static absl::StatusOr<std::unique_ptr<ClipEncoder>> Load(const ModelSource& source,
                                                           std::optional<DType> dtype,
                                                           std::optional<DType> quantize,
                                                           ThreadPool& pool);

  /// Only the fields that a CLIP model has; `hidden` is the size of a state.
  const EncoderConfig& config() const override { return config_; }
  DType dtype() const override { return model_->dtype(); }
  DType weight_dtype() const override { return model_->weight_dtype(); }
  std::string warning() const override { return model_->warning(); }
  const ClipConfig* clip() const override { return &model_->config(); }
  /// How a state becomes a vector: it is normalised.
  EmbeddingConfig embedding(const ModelSource& source) const;

  /// Returns a state for each item, with the same bits as for that item alone.
  absl::StatusOr<std::optional<EncodedStates>> Run(EncodingItems items, bool last_alone,
                                                   bool goes_on) override;

 private:
  ClipEncoder() = default;

  std::unique_ptr<ClipModel> model_;
  EncoderConfig config_;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_CLIP_ENCODER_H_
