// WebP files: decoding gives a picture of the stated size, or an error. The library itself is not
// instrumented: our own code around it guides the search.
//
//   fuzz_webp -max_len=4096 CORPUS, seeded with tests/reference/golden/pictures

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "image/webp.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto picture = shortlist::DecodeWebp({reinterpret_cast<const char*>(data), size});
  if (!picture.ok()) return 0;
  SHORTLIST_CHECK(std::ssize(picture->rgb) == picture->width * picture->height * 3);
  return 0;
}
