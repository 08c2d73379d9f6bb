#ifndef SHORTLIST_IMAGE_PNG_CHUNKS_H_
#define SHORTLIST_IMAGE_PNG_CHUNKS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace shortlist {

/// What PIL takes from the chunks of a PNG file, wherever they stand.
struct PngChunks {
  /// A PNG file of IHDR, PLTE, tRNS, IDAT and IEND, whose checksums are all 0: palette and
  /// transparency (of palettes alone) have an entry for each value of a pixel, and one IDAT holds
  /// all of the pixels.
  std::string file;
  bool has_clear_entries = false;  // of the palette: there is a tRNS
  /// Of grey and RGB, the colour in whose place there is nothing, as PIL compares it.
  std::optional<std::array<uint8_t, 3>> see_through = std::nullopt;
};

/// Reads the chunks of a file that begins with the signature and IHDR, as PIL.PngImagePlugin does:
///   - before the pixels each checksum counts; those of the pixels, and what follows, do not
///   - the pixels end where anything but IDAT follows, or the file does
///   - the last PLTE before the pixels counts, and the last tRNS, also behind the pixels; each tRNS
///     of grey and RGB must be long enough
///   - behind the pixels the last chunk may have no checksum, but must be whole
/// InvalidArgument: what PIL refuses of these, and an IHDR that is not at the start alone. Throws
/// std::bad_alloc.
absl::StatusOr<PngChunks> ReadPngChunks(std::string_view bytes);

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_PNG_CHUNKS_H_
