#ifndef SHORTLIST_TESTS_IMAGE_GOLDEN_PICTURES_H_
#define SHORTLIST_TESTS_IMAGE_GOLDEN_PICTURES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace shortlist {

/// A file of tests/reference/golden/pictures, and what PIL makes of it (make_picture_golden.py).
struct GoldenPicture {
  std::string name, bytes;
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;       // [height, width, 3]
  std::vector<uint8_t> bicubic;   // [24, 24, 3], cut from the shorter edge at 24
  std::vector<uint8_t> bilinear;  // [18, 11, 3]
};

std::vector<GoldenPicture> GoldenPictures();
/// The bytes of one of the files.
std::string GoldenPictureFile(const std::string& name);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_IMAGE_GOLDEN_PICTURES_H_
