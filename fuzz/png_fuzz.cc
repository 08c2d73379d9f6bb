// PNG files: decoding gives a picture of the stated size, or an error. Each input runs as it is and
// with corrected chunk checksums, which no mutation would hit. The library itself is not
// instrumented: our own code around it guides the search.
//
//   fuzz_png -max_len=4096 CORPUS, seeded with tests/reference/golden/pictures and fuzz/seeds/png

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "image/png.h"

namespace shortlist {
namespace {

void Run(std::string_view bytes) {
  const auto picture = DecodePng(bytes);
  if (!picture.ok()) return;
  SHORTLIST_CHECK(std::ssize(picture->rgb) == picture->width * picture->height * 3);
}

/// Rewrites the checksum of each chunk, as far as the chunks' lengths are valid.
std::string WithChecksums(std::string bytes) {
  constexpr size_t kSignature = 8, kFrame = 12;  // length, kind and checksum of a chunk
  const auto byte = [&bytes](size_t at) { return static_cast<uint8_t>(bytes[at]); };
  for (size_t at = kSignature; at + kFrame <= bytes.size();) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | byte(at + i);
    if (length > bytes.size() - at - kFrame) break;
    const auto* const kind = reinterpret_cast<const Bytef*>(bytes.data()) + at + 4;
    const uLong sum = crc32(0, kind, static_cast<uInt>(4 + length));
    for (size_t i = 0; i < 4; ++i) {
      bytes[at + 8 + length + i] = static_cast<char>(sum >> (24 - 8 * i));
    }
    at += kFrame + length;
  }
  return bytes;
}

}  // namespace
}  // namespace shortlist

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  shortlist::Run(bytes);
  shortlist::Run(shortlist::WithChecksums(bytes));
  return 0;
}
