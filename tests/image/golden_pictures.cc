#include "tests/image/golden_pictures.h"

#include "absl/strings/escaping.h"
#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

constexpr char kDir[] = "tests/reference/golden/pictures/";

std::vector<uint8_t> Bytes(const nlohmann::json& base64) {
  std::string bytes;
  SHORTLIST_CHECK(absl::Base64Unescape(base64.get<std::string>(), &bytes));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::string GoldenPictureFile(const std::string& name) {
  auto bytes = ReadFile(kDir + name, /*max_bytes=*/1 << 20);
  SHORTLIST_CHECK(bytes.ok());
  return *std::move(bytes);
}

std::vector<GoldenPicture> GoldenPictures() {
  const auto expected = ReadJsonFile(std::string(kDir) + "expected.json", /*max_bytes=*/1 << 20);
  SHORTLIST_CHECK(expected.ok());
  std::vector<GoldenPicture> pictures;
  for (const auto& [name, picture] : expected->items()) {
    pictures.push_back({.name = name,
                        .bytes = GoldenPictureFile(name),
                        .width = picture["width"],
                        .height = picture["height"],
                        .rgb = Bytes(picture["rgb"]),
                        .bicubic = Bytes(picture["bicubic"]),
                        .bilinear = Bytes(picture["bilinear"])});
  }
  return pictures;
}

std::vector<OddPicture> OddPictures() {
  const auto cases = ReadJsonFile(std::string(kDir) + "chunks.json", /*max_bytes=*/1 << 20);
  SHORTLIST_CHECK(cases.ok());
  std::vector<OddPicture> pictures;
  for (const auto& [name, odd] : cases->items()) {
    const std::vector<uint8_t> file = Bytes(odd["file"]);
    pictures.push_back({.name = name, .bytes = {file.begin(), file.end()}, .rgb = std::nullopt});
    if (!odd["rgb"].is_null()) pictures.back().rgb = Bytes(odd["rgb"]);
  }
  return pictures;
}

}  // namespace shortlist
