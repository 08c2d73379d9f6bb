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

/// Converts a picture to the input of a vision model, as transformers' CLIPImageProcessor does with
/// PIL: resizes the shorter edge to a length, crops the centre, then scales and normalises each
/// channel. Immutable.
class PictureProcessor {
 public:
  /// The result of each value of each channel: [channel][value].
  using Values = std::array<std::array<float, 256>, 3>;

  /// Reads "image_processor" in processor_config.json, which newer exports write and transformers 5
  /// prefers, otherwise preprocessor_config.json. NotFound if neither exists. InvalidArgument names
  /// file, field, value and bound. Unimplemented names a field that would change the result and is
  /// not supported.
  static absl::StatusOr<PictureProcessor> Read(const ModelSource& source);
  static absl::StatusOr<PictureProcessor> Parse(const nlohmann::json& object,
                                                const std::string& where);

  int64_t width() const { return crop_width_; }
  int64_t height() const { return crop_height_; }
  const std::shared_ptr<const Values>& values() const { return values_; }

  /// Returns [height(), width(), 3], whose values are indices into values().
  std::vector<uint8_t> Apply(const Picture& picture) const;

 private:
  PictureProcessor() = default;

  int64_t shortest_edge_ = 0;       // 0: resizes to width_ x height_, whatever the picture's shape
  int64_t width_ = 0, height_ = 0;  // of the resized picture
  int64_t crop_width_ = 0, crop_height_ = 0;
  Resampling resampling_ = Resampling::kBicubic;
  std::shared_ptr<const Values> values_;
};

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_PICTURE_PROCESSOR_H_
