#ifndef SHORTLIST_IMAGE_OVER_WHITE_H_
#define SHORTLIST_IMAGE_OVER_WHITE_H_

#include <array>
#include <cstdint>
#include <vector>

namespace shortlist {

/// Composes pixels with alpha over white, as PIL.Image.alpha_composite does. pixels: [num_pixels,
/// 4]; becomes [num_pixels, 3].
void PutOverWhite(std::vector<uint8_t>& pixels);

/// Makes pixels of `color` white. rgb: [num_pixels, 3].
void WhitenColor(const std::array<uint8_t, 3>& color, std::vector<uint8_t>& rgb);

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_OVER_WHITE_H_
