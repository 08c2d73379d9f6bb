#ifndef SHORTLIST_IMAGE_PNG_CHUNKS_H_
#define SHORTLIST_IMAGE_PNG_CHUNKS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace shortlist {

/// The parts of a PNG file that PIL uses, in any order of chunks.
struct PngChunks {
  /// A PNG file of IHDR, PLTE, tRNS, IDAT and IEND with checksums 0. PLTE and tRNS (only with a
  /// palette) have an entry for each value of a pixel; one IDAT contains all pixels.
  std::string file;
  bool has_clear_entries = false;  // the palette has a tRNS
  /// The transparent colour of a grey or RGB picture, as PIL compares it.
  std::optional<std::array<uint8_t, 3>> see_through = std::nullopt;
};

/// Reads the chunks of a file that begins with the signature and IHDR, as PIL.PngImagePlugin does:
///   - checksums are checked before the pixels, but not of the pixels and after them
///   - the pixels end at the first chunk that is not IDAT, or at the end of the file
///   - the last PLTE before the pixels counts, and the last tRNS, also after the pixels; each tRNS
///     of grey and RGB must be long enough
///   - after the pixels the last chunk may lack a checksum, but must be complete
/// InvalidArgument for what PIL rejects of these, and unless the only IHDR is at the start. Throws
/// std::bad_alloc.
absl::StatusOr<PngChunks> ReadPngChunks(std::string_view bytes);

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_PNG_CHUNKS_H_
