#ifndef SHORTLIST_IMAGE_PICTURE_PROCESSOR_H_
#define SHORTLIST_IMAGE_PICTURE_PROCESSOR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "image/picture.h"
#include "image/resize.h"
#include "io/model_source.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// From a picture to what a vision model reads, as transformers' CLIPImageProcessor does it with
/// PIL: the shorter edge is resized to a length, the middle cut out; then a channel's values are
/// scaled and normalised. Immutable.
class PictureProcessor {
 public:
  /// What each value of a channel becomes, by channel and value.
  using Values = std::array<std::array<float, 256>, 3>;

  /// What preprocessor_config.json says, or "image_processor" in processor_config.json, which
  /// newer exports have. NotFound where neither is there; InvalidArgument names file, field, value
  /// and bound; Unimplemented, by its name, what would change the result and is not supported.
  static absl::StatusOr<PictureProcessor> Read(const ModelSource& source);
  static absl::StatusOr<PictureProcessor> Parse(const nlohmann::json& object,
                                                const std::string& where);

  int64_t width() const { return crop_width_; }
  int64_t height() const { return crop_height_; }
  const std::shared_ptr<const Values>& values() const { return values_; }

  /// [height(), width(), 3], each value as values() takes it.
  std::vector<uint8_t> Apply(const Picture& picture) const;

 private:
  PictureProcessor() = default;

  int64_t shortest_edge_ = 0;       // 0: to width_ x height_, whatever the picture's shape
  int64_t width_ = 0, height_ = 0;  // of a resized picture
  int64_t crop_width_ = 0, crop_height_ = 0;
  Resampling resampling_ = Resampling::kBicubic;
  std::shared_ptr<const Values> values_;
};

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_PICTURE_PROCESSOR_H_
