#include "image/decode.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "image/jpeg.h"
#include "image/png.h"
#include "image/webp.h"

namespace shortlist {
namespace {

/// The first bytes of a file format.
struct Signature {
  std::string_view bytes;
  size_t at;
  const char* format;
};
using namespace std::string_view_literals;
constexpr Signature kOtherFormats[] = {
    {"GIF8"sv, 0, "a GIF"},       {"BM"sv, 0, "a BMP"},
    {"II*\0"sv, 0, "a TIFF"},     {"MM\0*"sv, 0, "a TIFF"},
    {"ftypavif"sv, 4, "an AVIF"}, {"ftypheic"sv, 4, "a HEIC"},
    {"ftyp"sv, 4, "a video"},     {"\x1a\x45\xdf\xa3"sv, 0, "a video"},
    {"<svg"sv, 0, "an SVG"},      {"\xff\x0a"sv, 0, "a JPEG XL"},
    {"%PDF"sv, 0, "a PDF"},       {"\0\0\0\x0cJXL "sv, 0, "a JPEG XL"},
};

bool HasAt(std::string_view bytes, size_t at, std::string_view what) {
  return bytes.size() >= at && bytes.substr(at).starts_with(what);
}

absl::StatusOr<Picture> Decode(std::string_view bytes) {
  if (HasAt(bytes, 0, "\xff\xd8\xff"sv)) return DecodeJpeg(bytes);
  if (HasAt(bytes, 0, "\x89PNG\r\n\x1a\n"sv)) return DecodePng(bytes);
  if (HasAt(bytes, 0, "RIFF"sv) && HasAt(bytes, 8, "WEBP"sv)) return DecodeWebp(bytes);
  for (const Signature& other : kOtherFormats) {
    if (!HasAt(bytes, other.at, other.bytes)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(other.format, " file, where JPEG, PNG and WebP pictures are read"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(bytes.size(), " bytes that are not a JPEG, PNG or WebP file"));
}

}  // namespace

absl::Status CheckPictureSize(const char* format, int64_t width, int64_t height) {
  if (height > kMaxRows) {
    return absl::InvalidArgumentError(
        absl::StrCat(format, ": ", height, " rows of pixels, more than ", kMaxRows));
  }
  // Neither is above 2^32, so an admitted width times any height does not overflow.
  if (width >= 1 && height >= 1 && width <= kMaxPixels && width * height <= kMaxPixels) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(format, ": ", width, " x ", height, " pixels, not in [1, ", kMaxPixels, "]"));
}

absl::StatusOr<Picture> DecodePicture(std::string_view bytes) {
  if (bytes.size() > static_cast<size_t>(kMaxPictureBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a picture of ", bytes.size(), " bytes, more than ", kMaxPictureBytes));
  }
  try {
    return Decode(bytes);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory for a picture");
  }
}

}  // namespace shortlist
