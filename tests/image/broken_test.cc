#include <zlib.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/decode.h"
#include "nlohmann/json.hpp"
#include "tests/image/golden_pictures.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

/// make_broken_picture_golden.py describes each kind of damage.
std::string Damaged(std::string bytes, const nlohmann::json& damage) {
  const auto kind = damage[0].get<std::string>();
  const auto at = damage[1].get<size_t>();
  if (kind == "end") bytes.resize(at);
  if (kind == "flip") bytes[at] = static_cast<char>(bytes[at] ^ (1 << damage[2].get<int>()));
  if (kind == "drop") bytes.erase(at, damage[2].get<size_t>());
  return bytes;
}

TEST(BrokenPictureTest, VerdictsMatchPil) {
  const auto golden =
      ReadJsonFile("tests/reference/golden/pictures/broken.json", /*max_bytes=*/1 << 20);
  ASSERT_TRUE(golden.ok()) << golden.status();
  ASSERT_GE(golden->size(), 30u);
  int num_refused = 0, num_read = 0;
  for (const auto& [name, damages] : golden->items()) {
    const std::string bytes = GoldenPictureFile(name);
    for (const auto& damage : damages["refused"]) {
      EXPECT_FALSE(DecodePicture(Damaged(bytes, damage)).ok()) << name << damage;
      ++num_refused;
    }
    for (const auto& damage : damages["read"]) {
      const auto picture = DecodePicture(Damaged(bytes, damage));
      EXPECT_TRUE(picture.ok()) << name << damage << picture.status();
      ++num_read;
    }
  }
  EXPECT_GT(num_refused, 1000);
  EXPECT_GT(num_read, 200);
}

TEST(BrokenPictureTest, BrokenJpegTrailerIsRejected) {
  // Invalid Huffman tables instead of the end marker.
  std::string jpeg = GoldenPictureFile("rgb.jpg");
  ASSERT_TRUE(jpeg.ends_with("\xff\xd9"));
  jpeg.replace(jpeg.size() - 2, 2, std::string("\xff\xc4\0\x05\xff\xff\xff\xff\xd9", 9));
  EXPECT_FALSE(DecodePicture(jpeg).ok());
}

TEST(BrokenPictureTest, WrongChecksumBeforePixelsIsRejected) {
  std::string png = GoldenPictureFile("one_pixel.png");
  const size_t header_end = 8 + 25;
  const std::string text("\0\0\0\7tEXtkey\0abc", 15);
  const std::string sum("\x53\x50\xbc\xe5", 4);
  EXPECT_TRUE(DecodePicture(std::string(png).insert(header_end, text + sum)).ok());
  const auto broken = DecodePicture(png.insert(header_end, text + "none"));
  EXPECT_THAT(std::string(broken.status().message()), HasSubstr("PNG: tEXt: CRC error"));
}

TEST(BrokenPictureTest, PngMayEndAfterPixels) {
  const std::string png = GoldenPictureFile("rgb.png");
  const auto whole = DecodePicture(png);
  const auto without_end = DecodePicture(png.substr(0, png.size() - 12));
  ASSERT_TRUE(whole.ok() && without_end.ok());
  EXPECT_EQ(without_end->rgb, whole->rgb);
}

std::string PngChunk(const std::string& type, const std::string& data) {
  const auto number = [](uint32_t value) {
    std::string bytes(4, '\0');
    for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(value >> (24 - 8 * i));
    return bytes;
  };
  const std::string body = type + data;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), body.size());
  return number(static_cast<uint32_t>(data.size())) + body + number(static_cast<uint32_t>(sum));
}

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// 64 MB of zeros after the one pixel.
TEST(BrokenPictureTest, SurplusDataIsNotUnpacked) {
  const std::string zeros(64 << 20, '\0');
  uLongf packed_size = compressBound(zeros.size());
  std::string packed(packed_size, '\0');
  ASSERT_EQ(compress2(reinterpret_cast<Bytef*>(packed.data()), &packed_size,
                      reinterpret_cast<const Bytef*>(zeros.data()), zeros.size(), /*level=*/1),
            Z_OK);
  packed.resize(packed_size);
  const std::string header("\0\0\0\1\0\0\0\1\x08\2\0\0\0", 13);
  const std::string png = "\x89PNG\r\n\x1a\n" + PngChunk("IHDR", header) +
                          PngChunk("IDAT", packed) + PngChunk("IEND", "");
  const double begin = ThreadSeconds();
  const auto picture = DecodePicture(png);
  const double decode_seconds = ThreadSeconds() - begin;
  ASSERT_TRUE(picture.ok()) << picture.status();
  EXPECT_EQ(picture->rgb, std::vector<uint8_t>(3, 0));
  std::string unpacked(zeros.size(), '\0');
  uLongf unpacked_size = unpacked.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(unpacked.data()), &unpacked_size,
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  EXPECT_LT(decode_seconds, (ThreadSeconds() - begin - decode_seconds) / 3);
}

TEST(BrokenPictureTest, SideMayExceedLibpngDefaultBound) {
  const auto picture = DecodePicture(GoldenPictureFile("very_wide.png"));
  ASSERT_TRUE(picture.ok()) << picture.status();
  EXPECT_EQ(picture->width, 1'500'000);
  EXPECT_EQ(picture->height, 1);
  EXPECT_EQ(picture->rgb, std::vector<uint8_t>(4'500'000, 0));
}

}  // namespace
}  // namespace shortlist
