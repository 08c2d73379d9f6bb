#ifndef SHORTLIST_IMAGE_PICTURE_H_
#define SHORTLIST_IMAGE_PICTURE_H_

#include <cstdint>
#include <vector>

namespace shortlist {

/// A decoded picture, 8 bits a channel.
struct Picture {
  int64_t width = 0;         // at least 1
  int64_t height = 0;        // at least 1
  std::vector<uint8_t> rgb;  // [height, width, 3]
};

}  // namespace shortlist

#endif  // SHORTLIST_IMAGE_PICTURE_H_
