#include "image/webp.h"

#include <webp/decode.h>
#include <webp/demux.h>

#include <cstdint>
#include <memory>
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

/// The parts of a file. The file must outlive it.
using Demuxer = std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)>;

/// One picture of a file, with all of its chunks.
class Frame {
 public:
  Frame() = default;
  ~Frame() { WebPDemuxReleaseIterator(&iterator_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  bool Find(const Demuxer& demuxer) { return WebPDemuxGetFrame(demuxer.get(), 1, &iterator_) != 0; }
  const WebPIterator& operator*() const { return iterator_; }

 private:
  WebPIterator iterator_ = {};
};

absl::Status Error(VP8StatusCode status) {
  if (status == VP8_STATUS_OUT_OF_MEMORY) {
    return absl::ResourceExhaustedError("out of memory for a picture");
  }
  return absl::InvalidArgumentError(absl::StrCat("WebP: ", Problem(status)));
}

}  // namespace

absl::StatusOr<Picture> DecodeWebp(std::string_view bytes) {
  // Versions of libwebp differ in whether VP8X may be longer.
  constexpr size_t kKindAt = 12, kSizeAt = 16, kExtendedBytes = 10;
  if (bytes.size() > kSizeAt && bytes.substr(kKindAt, 4) == "VP8X" &&
      bytes[kSizeAt] != kExtendedBytes) {
    return absl::InvalidArgumentError("WebP: VP8X: not 10 bytes");
  }
  const WebPData file = {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  const Demuxer demuxer(WebPDemuxPartial(&file, &state), WebPDemuxDelete);
  if (state != WEBP_DEMUX_DONE) {
    return Error(state == WEBP_DEMUX_PARSE_ERROR ? VP8_STATUS_BITSTREAM_ERROR
                                                 : VP8_STATUS_NOT_ENOUGH_DATA);
  }
  if (demuxer == nullptr) return Error(VP8_STATUS_OUT_OF_MEMORY);
  if ((WebPDemuxGetI(demuxer.get(), WEBP_FF_FORMAT_FLAGS) & ANIMATION_FLAG) != 0) {
    return absl::InvalidArgumentError("WebP: animated, where one picture is wanted");
  }
  Frame frame;
  if (!frame.Find(demuxer)) return Error(VP8_STATUS_BITSTREAM_ERROR);
  // Only the chunks of pixels and alpha: in a broken stream, libwebp's decoder may read past them,
  // and PIL's does not. The alpha flag of VP8X is ignored.
  const WebPData& pixels = (*frame).fragment;
  WebPDecoderConfig config;
  SHORTLIST_CHECK(WebPInitDecoderConfig(&config) != 0);
  if (const auto status = WebPGetFeatures(pixels.bytes, pixels.size, &config.input);
      status != VP8_STATUS_OK) {
    return Error(status);
  }
  Picture picture{.width = config.input.width, .height = config.input.height, .rgb = {}};
  SHORTLIST_RETURN_IF_ERROR(CheckPictureSize("WebP", picture.width, picture.height));
  const bool has_alpha = (*frame).has_alpha != 0;
  const int64_t stride = picture.width * (has_alpha ? 4 : 3);
  picture.rgb.resize(static_cast<size_t>(stride * picture.height));
  config.output.colorspace = has_alpha ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {
      .rgba = picture.rgb.data(), .stride = static_cast<int>(stride), .size = picture.rgb.size()};
  // One at a time, to keep kMaxWebpBytes.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const VP8StatusCode status = WebPDecode(pixels.bytes, pixels.size, &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) return Error(status);
  if (has_alpha) PutOverWhite(picture.rgb);
  return picture;
}

}  // namespace shortlist
