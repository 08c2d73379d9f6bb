#ifndef SHORTLIST_IMAGE_DECODE_H_
#define SHORTLIST_IMAGE_DECODE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "image/picture.h"

namespace shortlist {

/// Of an encoded picture.
inline constexpr int64_t kMaxPictureBytes = int64_t{32} << 20;
/// Of a decoded one: 64 MiB of RGB, or 85 MiB while there is transparency in it.
inline constexpr int64_t kMaxPixels = (int64_t{64} << 20) / 3;
/// What libjpeg takes beside that, at most: all coefficients of a progressive file.
inline constexpr int64_t kMaxJpegBytes = int64_t{192} << 20;
/// What libwebp takes: 4 bytes a pixel of a lossless file, and the tables of its up to 65,536
/// Huffman codes. An honest picture has few; who makes one that has all of them does not get twice
/// as much by sending two, for they are decoded one after the other.
inline constexpr int64_t kMaxWebpBytes = int64_t{768} << 20;

/// The picture in a JPEG, PNG or WebP file, as transformers' convert_to_rgb makes it of what
/// `PIL.Image.open` and `load` give, bit for bit:
///   - grey and palettes become RGB
///   - behind transparency there is white; a PNG's transparent colour is compared as PIL does it:
///   in
///     the lower 8 bits with what is here, but for the one bit of a pixel that is black or white;
///     it may stand anywhere in the file, and the last one counts
///   - of 16 bits a channel the upper 8 count; but 16-bit grey is cut at 255, which PIL does
///   - CMYK and YCCK JPEGs are inverted ones, as Adobe writes them; ICC profiles and gamma are not
///     applied
///   - the orientation that EXIF tells is not applied: a model sees what PIL's users show it
///   - an animated PNG is the picture that it shows where nothing is animated
/// What a header says is checked before memory is taken for it. A broken file is refused where PIL
/// refuses it (LOAD_TRUNCATED_IMAGES is off): checksums of a PNG's pixels do not count, and after
/// the last pixel a file may end. So are some that PIL reads: a PNG that does not begin with IHDR,
/// that has two of them or lacks its palette, or whose pixels end with a row before the last one.
///
/// InvalidArgument names format and reason: a file that is too long, empty, truncated, broken, of
/// another format (named, where it is a known one), an animated WebP, or one of more than
/// kMaxPixels. ResourceExhausted when memory is out. Any thread.
absl::StatusOr<Picture> DecodePicture(std::string_view bytes);

/// InvalidArgument for a size that no picture here may have; `format` begins the message.
absl::Status CheckPictureSize(const char* format, int64_t width, int64_t height);

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_DECODE_H_
