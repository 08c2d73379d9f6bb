#include "image/decode.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/image/golden_pictures.h"

namespace shortlist {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string ErrorOf(const std::string& bytes) {
  const auto picture = DecodePicture(bytes);
  EXPECT_EQ(picture.status().code(), absl::StatusCode::kInvalidArgument) << picture.status();
  return std::string(picture.status().message());
}

std::string BigEndian(uint32_t number, int num_bytes) {
  std::string bytes;
  for (int i = num_bytes - 1; i >= 0; --i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

/// As much as this process has ever held at once.
int64_t PeakKiB() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(DecodePictureTest, PixelsMatchPil) {
  const auto pictures = GoldenPictures();
  ASSERT_GE(pictures.size(), 24u);
  for (const GoldenPicture& golden : pictures) {
    SCOPED_TRACE(golden.name);
    const auto picture = DecodePicture(golden.bytes);
    ASSERT_TRUE(picture.ok()) << picture.status();
    EXPECT_EQ(picture->width, golden.width);
    EXPECT_EQ(picture->height, golden.height);
    ASSERT_EQ(picture->rgb.size(), golden.rgb.size());
    int largest = 0;
    for (size_t i = 0; i < golden.rgb.size(); ++i) {
      largest = std::max(largest, std::abs(picture->rgb[i] - golden.rgb[i]));
    }
    EXPECT_EQ(largest, 0);
  }
}

TEST(DecodePictureTest, ChunksCountLikePil) {
  const auto pictures = OddPictures();
  ASSERT_GE(pictures.size(), 300u);
  for (const OddPicture& odd : pictures) {
    SCOPED_TRACE(odd.name);
    const auto picture = DecodePicture(odd.bytes);
    EXPECT_EQ(picture.ok(), odd.rgb.has_value()) << picture.status();
    if (picture.ok() && odd.rgb) {
      EXPECT_TRUE(picture->rgb == *odd.rgb);
    }
  }
}

TEST(DecodePictureTest, OtherFormatsAreNamed) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("0 bytes that are not a JPEG, PNG or WebP file"));
  EXPECT_THAT(ErrorOf("a red bicycle"), HasSubstr("13 bytes that are not a"));
  EXPECT_THAT(ErrorOf("GIF89a......"), HasSubstr("a GIF file"));
  EXPECT_THAT(ErrorOf(std::string("\0\0\0\x20"
                                  "ftypisom....",
                                  16)),
              HasSubstr("a video file"));
  EXPECT_THAT(ErrorOf(std::string("\0\0\0\x20"
                                  "ftypavif....",
                                  16)),
              HasSubstr("an AVIF file"));
  EXPECT_THAT(ErrorOf("BM.............."), HasSubstr("a BMP file"));
}

TEST(DecodePictureTest, AnimatedWebpIsRejectedByName) {
  EXPECT_THAT(ErrorOf(GoldenPictureFile("animated.webp")), HasSubstr("WebP: animated"));
}

TEST(DecodePictureTest, HugeSizeIsRejectedBeforeAllocation) {
  const int64_t before = PeakKiB();
  // 60,000 x 60,000 pixels would take 10.8 GB.
  std::string png = GoldenPictureFile("rgb.png");
  png.replace(16, 8, BigEndian(60'000, 4) + BigEndian(60'000, 4));
  EXPECT_THAT(ErrorOf(png), HasSubstr("PNG: 60000 x 60000 pixels, not in [1, 22369621]"));
  png.replace(16, 8, BigEndian(0xffff'ffff, 4) + BigEndian(0xffff'ffff, 4));
  EXPECT_THAT(ErrorOf(png), HasSubstr("PNG: 4294967295 rows of pixels"));
  png.replace(16, 8, BigEndian(0, 4) + BigEndian(5, 4));
  EXPECT_THAT(ErrorOf(png), HasSubstr("PNG: 0 x 5 pixels"));
  png.replace(16, 8, BigEndian(1, 4) + BigEndian(65'536, 4));
  EXPECT_THAT(ErrorOf(png), HasSubstr("PNG: 65536 rows of pixels, more than 65535"));
  png.replace(16, 8, BigEndian(1, 4) + BigEndian(65'535, 4));
  EXPECT_THAT(ErrorOf(png), Not(HasSubstr("rows of pixels")));  // too few rows are in the file

  for (const char* name : {"rgb.jpg", "progressive.jpg", "cmyk.jpg"}) {
    std::string jpeg = GoldenPictureFile(name);
    const size_t frame = std::min(jpeg.find("\xff\xc0"), jpeg.find("\xff\xc2"));
    ASSERT_NE(frame, std::string::npos);
    jpeg.replace(frame + 5, 4, BigEndian(60'000, 2) + BigEndian(60'001, 2));
    EXPECT_THAT(ErrorOf(jpeg), HasSubstr("JPEG: 60001 x 60000 pixels, not in")) << name;
  }

  std::string webp = GoldenPictureFile("lossy.webp");
  ASSERT_EQ(webp.substr(12, 4), "VP8 ");
  webp.replace(26, 4, "\xff\x3f\xff\x3f");  // 14 bits each
  EXPECT_THAT(ErrorOf(webp), HasSubstr("WebP: 16383 x 16383 pixels, not in"));
  EXPECT_LT(PeakKiB() - before, 64 << 10);
}

TEST(DecodePictureTest, TruncatedFileIsRejected) {
  for (const GoldenPicture& golden : GoldenPictures()) {
    SCOPED_TRACE(golden.name);
    if (golden.name == "animated.png") continue;  // half of it is the second frame
    // Bytes after the last pixel are optional.
    const size_t most = golden.name.ends_with(".webp")  ? golden.bytes.size() - 2
                        : golden.name.ends_with(".jpg") ? golden.bytes.size() - 8
                                                        : golden.bytes.size() - 24;
    for (size_t size = 0; size < most; size += 1 + size / 40) {
      ErrorOf(golden.bytes.substr(0, size));
    }
  }
  const std::string jpeg = GoldenPictureFile("rgb.jpg");
  EXPECT_THAT(ErrorOf(jpeg.substr(0, jpeg.size() / 2 + 300)),
              HasSubstr("JPEG: Premature end of JPEG file"));
  const std::string png = GoldenPictureFile("rgb.png");
  EXPECT_THAT(ErrorOf(png.substr(0, png.size() / 2)), HasSubstr("PNG: Not enough image data"));
  const std::string webp = GoldenPictureFile("lossy.webp");
  EXPECT_THAT(ErrorOf(webp.substr(0, webp.size() / 2)), HasSubstr("WebP: truncated"));
}

TEST(DecodePictureTest, OversizedFileIsRejected) {
  const std::string bytes(static_cast<size_t>(kMaxPictureBytes) + 1, '\xff');
  EXPECT_THAT(ErrorOf(bytes), HasSubstr("33554433 bytes, more than 33554432"));
}

TEST(DecodePictureTest, JpegWithTooManyScansIsRejected) {
  // Its first scan a thousand times.
  std::string jpeg = GoldenPictureFile("progressive.jpg");
  const size_t begin = jpeg.find("\xff\xda");
  size_t end = jpeg.find('\xff', begin + 2);
  while (jpeg[end + 1] == '\0') end = jpeg.find('\xff', end + 1);
  const std::string scan = jpeg.substr(begin, end - begin);
  std::string scans;
  for (int i = 0; i < 1000; ++i) scans += scan;
  jpeg.insert(begin, scans);
  EXPECT_THAT(ErrorOf(jpeg), HasSubstr("JPEG: more than 64 scans"));
}

TEST(DecodePictureTest, LargeJpegMayHaveFewerScans) {
  // The header makes the picture 4,700 x 4,700, of which a pass over all coefficients takes long.
  std::string jpeg = GoldenPictureFile("progressive.jpg");
  const size_t frame = jpeg.find("\xff\xc2");
  ASSERT_NE(frame, std::string::npos);
  for (const size_t at : {frame + 5, frame + 7}) jpeg.replace(at, 2, "\x12\x5c");
  const size_t begin = jpeg.find("\xff\xda");
  size_t end = jpeg.find('\xff', begin + 2);
  while (jpeg[end + 1] == '\0') end = jpeg.find('\xff', end + 1);
  const std::string scan = jpeg.substr(begin, end - begin);
  for (int i = 0; i < 16; ++i) jpeg.insert(begin, scan);
  EXPECT_THAT(ErrorOf(jpeg), HasSubstr("JPEG: more than 16 scans"));
}

TEST(DecodePictureTest, ChunkBeforeSizeIsRejected) {
  // A tEXt chunk whose text reads as a size of 1 x 1, before an IHDR of 8 x 8.
  constexpr unsigned char kFile[] = {
      0x89, 'P',  'N',  'G',  0x0d, 0x0a, 0x1a, 0x0a, 0,    0,   0,    0x11, 't',  'E', 'X', 't',
      0,    0,    0,    1,    0,    0,    0,    1,    'a',  'b', 'c',  'd',  0,    'f', 'g', 'h',
      'i',  0x5b, 0x3e, 0x45, 0xe1, 0,    0,    0,    0x0d, 'I', 'H',  'D',  'R',  0,   0,   0,
      8,    0,    0,    0,    8,    8,    2,    0,    0,    0,   0x4b, 0x6d, 0x29, 0xdc};
  const auto picture =
      DecodePicture(std::string_view(reinterpret_cast<const char*>(kFile), sizeof(kFile)));
  EXPECT_EQ(picture.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(picture.status().message()),
              testing::HasSubstr("first chunk is not IHDR"));
}

TEST(DecodePictureTest, HugeTextChunkIsSkipped) {
  const std::string png = GoldenPictureFile("one_pixel.png");
  // A zTXt chunk with an invalid stream: a decoder that unpacks it reports an error.
  const std::string chunk =
      BigEndian(8, 4) + std::string("zTXtkey\0\0xyz", 12) + BigEndian(0x16aeb5ea, 4);
  const size_t header_end = 8 + 25;
  const auto picture = DecodePicture(png.substr(0, header_end) + chunk + png.substr(header_end));
  EXPECT_TRUE(picture.ok()) << picture.status();
}

}  // namespace
}  // namespace shortlist
