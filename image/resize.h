#ifndef SHORTLIST_IMAGE_RESIZE_H_
#define SHORTLIST_IMAGE_RESIZE_H_

#include <cstdint>
#include <vector>

#include "image/picture.h"

namespace shortlist {

/// How source pixels are weighted by their distance, which is scaled up when a picture shrinks.
/// Bicubic is the function of Keys (1981) with a = -0.5.
enum class Resampling { kBilinear, kBicubic };

/// A rectangle of pixels.
struct PixelWindow {
  int64_t left = 0;
  int64_t top = 0;
  int64_t width = 0;
  int64_t height = 0;
};

/// Returns the `window` of `picture` resized to width x height: [window.height, window.width, 3].
/// Equals PIL.Image.resize of Pillow 13, bit for bit: first each row is resized to the new width,
/// then each column to the new height. Columns come first if the picture loses more than twice as
/// many rows as columns. Both passes give 8 bits, with weights of 22 fractional bits. Computes only
/// what the window needs, so a picture of 1 x 1,000,000 pixels takes no more than others. width,
/// height >= 1; the window is inside the result and not empty.
std::vector<uint8_t> ResizeWindow(const Picture& picture, int64_t width, int64_t height,
                                  Resampling resampling, const PixelWindow& window);

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_RESIZE_H_
