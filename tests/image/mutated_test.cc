#include <map>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "image/decode.h"
#include "image/picture_processor.h"
#include "nlohmann/json.hpp"
#include "tests/image/golden_pictures.h"

namespace shortlist {
namespace {

/// Bytes changed, taken out, doubled or put in from elsewhere, at a few places.
std::string Mutated(std::string bytes, std::mt19937& random) {
  const auto below = [&random](size_t bound) { return random() % bound; };
  const size_t num_changes = 1 + below(6);
  for (size_t i = 0; i < num_changes && !bytes.empty(); ++i) {
    // Half of them near the beginning, where headers are.
    const size_t at =
        below(2) == 0 ? below(bytes.size()) : below(std::min<size_t>(bytes.size(), 64));
    const size_t count = std::min(1 + below(16), bytes.size() - at);
    switch (below(6)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes.erase(at, count);
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(bytes.size()), count));
        break;
      case 4:
        bytes.replace(at, count, count, below(2) == 0 ? '\xff' : '\0');
        break;
      default:
        bytes.resize(at);
    }
  }
  return bytes;
}

TEST(MutatedPictureTest, MutatedFileIsPictureOrInvalid) {
  const auto pictures = GoldenPictures();
  const auto processor = PictureProcessor::Parse(nlohmann::json{{"size", 24}, {"crop_size", 24}},
                                                 "preprocessor_config.json");
  ASSERT_TRUE(processor.ok());
  constexpr int kNumFiles = 6000;
  const uint32_t seed = 20261124;
  std::mt19937 random(seed);
  int num_pictures = 0;
  for (int i = 0; i < kNumFiles; ++i) {
    const GoldenPicture& golden = pictures[static_cast<size_t>(i) % pictures.size()];
    const auto picture = DecodePicture(Mutated(golden.bytes, random));
    if (!picture.ok()) {
      ASSERT_EQ(picture.status().code(), absl::StatusCode::kInvalidArgument)
          << golden.name << " " << i << " seed " << seed << ": " << picture.status();
      ASSERT_FALSE(picture.status().message().empty());
      continue;
    }
    ++num_pictures;
    ASSERT_EQ(static_cast<int64_t>(picture->rgb.size()), picture->width * picture->height * 3);
    ASSERT_LE(picture->width * picture->height, kMaxPixels);
    ASSERT_EQ(processor->Apply(*picture).size(), 24u * 24 * 3);
  }
  // Both happen: the mutations are neither harmless nor hopeless.
  EXPECT_GT(num_pictures, kNumFiles / 20);
  EXPECT_LT(num_pictures, kNumFiles * 3 / 4);
}

}  // namespace
}  // namespace shortlist
