#include "image/webp.h"

#include <webp/decode.h>

#include <mutex>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "image/decode.h"
#include "image/over_white.h"

namespace shortlist {
namespace {

const char* Problem(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return "truncated";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "has a feature that libwebp does not support";
    default:
      return "broken";
  }
}

absl::Status Error(VP8StatusCode status) {
  if (status == VP8_STATUS_OUT_OF_MEMORY) {
    return absl::ResourceExhaustedError("out of memory for a picture");
  }
  return absl::InvalidArgumentError(absl::StrCat("WebP: ", Problem(status)));
}

}  // namespace

absl::StatusOr<Picture> DecodeWebp(std::string_view bytes) {
  const auto* const data = reinterpret_cast<const uint8_t*>(bytes.data());
  WebPDecoderConfig config;
  SHORTLIST_CHECK(WebPInitDecoderConfig(&config) != 0);
  if (const auto status = WebPGetFeatures(data, bytes.size(), &config.input);
      status != VP8_STATUS_OK) {
    return Error(status);
  }
  if (config.input.has_animation != 0) {
    return absl::InvalidArgumentError("WebP: animated, where one picture is wanted");
  }
  Picture picture{.width = config.input.width, .height = config.input.height, .rgb = {}};
  SHORTLIST_RETURN_IF_ERROR(CheckPictureSize("WebP", picture.width, picture.height));
  const bool has_alpha = config.input.has_alpha != 0;
  const int64_t stride = picture.width * (has_alpha ? 4 : 3);
  picture.rgb.resize(static_cast<size_t>(stride * picture.height));
  config.output.colorspace = has_alpha ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {
      .rgba = picture.rgb.data(), .stride = static_cast<int>(stride), .size = picture.rgb.size()};
  // One at a time, for the sake of kMaxWebpBytes.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const VP8StatusCode status = WebPDecode(data, bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) return Error(status);
  if (has_alpha) PutOverWhite(picture.rgb);
  return picture;
}

}  // namespace shortlist
