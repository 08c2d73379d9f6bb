#include "image/picture_text.h"

#include <string>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "image/decode.h"
#include "tests/image/golden_pictures.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  const auto bytes = ReadPictureText(text);
  EXPECT_EQ(bytes.status().code(), absl::StatusCode::kInvalidArgument) << bytes.status();
  return std::string(bytes.status().message());
}

TEST(PictureTextTest, ReadsBase64AndDataUris) {
  const std::string bytes = GoldenPictureFile("rgb.png");
  const std::string base64 = absl::Base64Escape(bytes);
  for (const char* before : {"", "data:image/png;base64,", "data:;base64,",
                             "DATA:IMAGE/JPEG;Base64,", "data:image/webp;name=a.webp;base64,"}) {
    const auto read = ReadPictureText(before + base64);
    ASSERT_TRUE(read.ok()) << before << read.status();
    EXPECT_EQ(*read, bytes);
  }
}

TEST(PictureTextTest, RejectsEverythingElseByName) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("an empty picture"));
  EXPECT_THAT(ErrorOf("not base64!"), HasSubstr("neither base64 nor a data: URI"));
  EXPECT_THAT(ErrorOf("/etc/passwd.png"), HasSubstr("neither base64"));
  EXPECT_THAT(ErrorOf("https://example.com/a.png"), HasSubstr("an address (https:)"));
  EXPECT_THAT(ErrorOf("HTTP://10.0.0.1/"), HasSubstr("an address (http:)"));
  EXPECT_THAT(ErrorOf("file:///etc/passwd"), HasSubstr("an address (file:)"));
  EXPECT_THAT(ErrorOf("data:video/mp4;base64,AAAA"), HasSubstr("a data: URI of video/mp4"));
  EXPECT_THAT(ErrorOf("data:audio/wav;base64,AAAA"), HasSubstr("a data: URI of audio/wav"));
  EXPECT_THAT(ErrorOf("data:image/png,AAAA"), HasSubstr("not in base64"));
  EXPECT_THAT(ErrorOf("data:image/png;base64"), HasSubstr("without a comma"));
  EXPECT_THAT(ErrorOf("data:image/png;base64,"), HasSubstr("an empty picture"));
  EXPECT_THAT(ErrorOf(std::string(50 << 20, 'A')), HasSubstr("52428800 characters of base64"));
}

}  // namespace
}  // namespace shortlist
