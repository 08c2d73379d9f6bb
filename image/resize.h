#ifndef SHORTLIST_IMAGE_RESIZE_H_
#define SHORTLIST_IMAGE_RESIZE_H_

#include <cstdint>
#include <vector>

#include "image/picture.h"

namespace shortlist {

/// How source pixels are weighed by their distance, which is widened where a picture shrinks. The
/// cubic is Keys' (1981) with a = -0.5.
enum class Resampling { kBilinear, kBicubic };

/// Pixels of a picture.
struct PixelWindow {
  int64_t left = 0;
  int64_t top = 0;
  int64_t width = 0;
  int64_t height = 0;
};

/// The `window` of `picture` resized to width x height, as PIL.Image.resize of Pillow 13 computes
/// it, bit for bit: each row of pixels to its new width, then each column to its new height, or
/// columns first where a picture loses more than twice as many rows as columns; of 8 bits after
/// either, by weights of 22 bits behind the point. Only what the window needs is computed, so that
/// a picture of one pixel by a million takes no more than another. width, height >= 1; the window
/// lies inside and is not empty. [window.height, window.width, 3]
std::vector<uint8_t> ResizeWindow(const Picture& picture, int64_t width, int64_t height,
                                  Resampling resampling, const PixelWindow& window);

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_RESIZE_H_
