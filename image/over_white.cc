#include "image/over_white.h"

#include <algorithm>
#include <cstddef>

namespace shortlist {

void PutOverWhite(std::vector<uint8_t>& pixels) {
  constexpr uint32_t kWhite = 255;
  const size_t num_pixels = pixels.size() / 4;
  const uint8_t* from = pixels.data();
  uint8_t* to = pixels.data();
  for (size_t i = 0; i < num_pixels; ++i, from += 4, to += 3) {
    const uint32_t alpha = from[3];
    for (size_t c = 0; c < 3; ++c) {
      // Divides at most 65,025 = 255 * 255 by 255, rounded.
      const uint32_t sum = from[c] * alpha + kWhite * (kWhite - alpha) + 128;
      to[c] = static_cast<uint8_t>((sum + (sum >> 8)) >> 8);
    }
  }
  pixels.resize(num_pixels * 3);
}

void WhitenColor(const std::array<uint8_t, 3>& color, std::vector<uint8_t>& rgb) {
  for (uint8_t *pixel = rgb.data(), *end = pixel + rgb.size(); pixel != end; pixel += 3) {
    if (std::equal(color.begin(), color.end(), pixel)) std::fill_n(pixel, 3, uint8_t{255});
  }
}

}  // namespace shortlist
