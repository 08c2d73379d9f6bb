#include "image/webp.h"

#include <webp/decode.h>

#include <cstdint>
#include <mutex>
#include <string>

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

uint32_t LittleEndian(std::string_view bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 4; i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

/// The file up to the end of the pixels' chunk, for libwebp's decoder reads past it where a broken
/// stream leads there, and PIL's does not; empty where nothing follows that chunk, or none is
/// found.
std::string CutBehindPixels(std::string_view bytes) {
  constexpr size_t kFrame = 8;  // kind and length of a chunk
  for (size_t at = kFrame + 4; at + kFrame <= bytes.size();) {
    const std::string_view kind = bytes.substr(at, 4);
    const size_t length = LittleEndian(bytes, at + 4);
    const size_t end = at + kFrame + length + length % 2;
    if (end >= bytes.size()) return "";
    if (kind == "VP8 " || kind == "VP8L") {
      std::string cut(bytes.substr(0, end));
      for (size_t i = 0; i < 4; ++i) cut[4 + i] = static_cast<char>((end - kFrame) >> (8 * i));
      return cut;
    }
    at = end;
  }
  return "";
}

absl::Status Error(VP8StatusCode status) {
  if (status == VP8_STATUS_OUT_OF_MEMORY) {
    return absl::ResourceExhaustedError("out of memory for a picture");
  }
  return absl::InvalidArgumentError(absl::StrCat("WebP: ", Problem(status)));
}

}  // namespace

absl::StatusOr<Picture> DecodeWebp(std::string_view bytes) {
  const std::string cut = CutBehindPixels(bytes);
  if (!cut.empty()) bytes = cut;
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
