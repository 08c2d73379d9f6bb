#ifndef SHORTLIST_TESTS_IMAGE_GOLDEN_PICTURES_H_
#define SHORTLIST_TESTS_IMAGE_GOLDEN_PICTURES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shortlist {

/// A file of tests/reference/golden/pictures, and its pixels from PIL (make_picture_golden.py).
struct GoldenPicture {
  std::string name, bytes;
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;       // [height, width, 3]
  std::vector<uint8_t> bicubic;   // [24, 24, 3], cut from the shorter edge at 24
  std::vector<uint8_t> bilinear;  // [18, 11, 3]
};

std::vector<GoldenPicture> GoldenPictures();
/// A file whose chunks stand where, or say what, they should not (make_picture_chunks_golden.py).
struct OddPicture {
  std::string name, bytes;
  std::optional<std::vector<uint8_t>> rgb;  // nullopt where PIL refuses it
};

std::vector<OddPicture> OddPictures();
/// The bytes of one of the files.
std::string GoldenPictureFile(const std::string& name);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_IMAGE_GOLDEN_PICTURES_H_
