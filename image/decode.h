#ifndef SHORTLIST_IMAGE_DECODE_H_
#define SHORTLIST_IMAGE_DECODE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "image/picture.h"

namespace shortlist {

/// Maximum size of an encoded picture.
inline constexpr int64_t kMaxPictureBytes = int64_t{32} << 20;
/// Maximum size of a decoded picture: 64 MiB of RGB, or 85 MiB while it has an alpha channel.
inline constexpr int64_t kMaxPixels = (int64_t{64} << 20) / 3;
/// Maximum height: each row of a PNG has a cost of its own, and one column of kMaxPixels rows takes
/// ten times as long as a square. A JPEG cannot have more.
inline constexpr int64_t kMaxRows = 65'535;
/// Maximum additional memory of libjpeg: all coefficients of a progressive file.
inline constexpr int64_t kMaxJpegBytes = int64_t{192} << 20;
/// Maximum memory of libwebp: 4 bytes a pixel of a lossless file, and the tables of its up to
/// 65,536 Huffman codes. Ordinary pictures have few. Two malicious pictures do not take twice as
/// much, because WebP pictures are decoded one at a time.
inline constexpr int64_t kMaxWebpBytes = int64_t{768} << 20;

/// Decodes a JPEG, PNG or WebP file. The result equals that of transformers' convert_to_rgb on
/// `PIL.Image.open` and `load`, bit for bit:
///   - grey and palettes become RGB
///   - transparency is composed over white; a PNG's transparent colour is compared as in PIL: by
///     its lower 8 bits, but in 1-bit grey 0 is black and any other value white; it may be anywhere
///     in the file, and the last one counts
///   - channels of 16 bits keep their upper 8, but 16-bit grey is clamped to 255, as in PIL
///   - CMYK and YCCK JPEGs are read as inverted, as Adobe writes them; ICC profiles and gamma are
///     ignored
///   - the EXIF orientation is ignored: a model sees the picture as PIL shows it
///   - an animated PNG is the picture shown by programs without animation
/// Sizes in a header are checked before memory is allocated. A broken file is rejected if PIL
/// rejects it (LOAD_TRUNCATED_IMAGES is off): checksums of a PNG's pixels are not checked, and a
/// file may end after the last pixel. Some files that PIL reads are rejected, too: a PNG that does
/// not begin with IHDR, has two of them or no palette, or whose pixels end after a complete row
/// before the last one.
///
/// InvalidArgument names format and reason: a file that is too long, empty, truncated, broken, of
/// another format (named if known), an animated WebP, or one of more than kMaxPixels or
/// kMaxRows.
/// ResourceExhausted if memory is exhausted. Any thread.
absl::StatusOr<Picture> DecodePicture(std::string_view bytes);

/// InvalidArgument for a size that is not admitted; `format` begins the message.
absl::Status CheckPictureSize(const char* format, int64_t width, int64_t height);

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_DECODE_H_
