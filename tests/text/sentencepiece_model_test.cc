#include "text/sentencepiece_model.h"

#include <cstring>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/test_util.h"

namespace shortlist {
namespace {

using ::testing::HasSubstr;

std::string Problem(const std::string& serialized) {
  const auto loaded = SentencePieceModel::Load(serialized);
  const auto* problem = std::get_if<std::string>(&loaded);
  return problem == nullptr ? "none" : *problem;
}

TEST(SentencePieceModelTest, ReadsPieces) {
  const auto loaded =
      SentencePieceModel::Load(SmallModel(Piece("\u2581a") + Piece("b\u2581\u2581")));
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<SentencePieceModel>>(loaded));
  const auto& model = *std::get<std::unique_ptr<SentencePieceModel>>(loaded);
  EXPECT_EQ(model.size(), 5);
  EXPECT_EQ(model.bytes(0), " \u2047 ");
  EXPECT_TRUE(model.is_control(1));
  EXPECT_EQ(model.name(2), "</s>");
  EXPECT_EQ(model.bytes(2), "");
  EXPECT_EQ(model.bytes(3), " a");
  EXPECT_EQ(model.bytes(4), "b  ");
  EXPECT_TRUE(model.begins_with_space_mark(3));
  EXPECT_EQ(model.bos(), 1);
  EXPECT_EQ(model.eos(), 2);
  EXPECT_EQ(model.FindPiece("</s>"), 2);
  EXPECT_EQ(model.FindPiece("nothing"), std::nullopt);
  EXPECT_TRUE(model.add_dummy_prefix());
  EXPECT_FALSE(model.remove_extra_whitespaces());
}

TEST(SentencePieceModelTest, RefusesWhatIsNoModel) {
  EXPECT_EQ(Problem(""), "empty file");
  EXPECT_THAT(Problem("{\"version\": \"1.0\"}"), HasSubstr("not a SentencePiece model"));
  EXPECT_THAT(Problem(std::string(1000, '\0')), HasSubstr("not a SentencePiece model"));
  EXPECT_THAT(Problem(std::string(1000, '\xFF')), HasSubstr("not a SentencePiece model"));
  EXPECT_THAT(Problem(Piece("a")), HasSubstr("not a SentencePiece model"));
}

TEST(SentencePieceModelTest, RefusesDamagedPieces) {
  EXPECT_THAT(Problem(SmallModel(Piece(std::string("a\0b", 3)))), HasSubstr("piece 3"));
  EXPECT_THAT(Problem(SmallModel(Piece("\xFF"))), HasSubstr("piece 3"));
  EXPECT_THAT(Problem(SmallModel(Piece("a") + Piece("a"))), HasSubstr("not a SentencePiece"));
  EXPECT_THAT(Problem(SmallModel(Piece("<0xG0>", kByte))), HasSubstr("not a SentencePiece"));
  const std::string nan("\x00\x00\xC0\x7F", 4);
  EXPECT_THAT(Problem(SmallModel(Field(1, Field(1, std::string("a")) + Varint(2 << 3 | 5) + nan))),
              HasSubstr("piece 3 has score NaN"));
}

TEST(SentencePieceModelTest, RefusesADenormalizer) {
  EXPECT_THAT(Problem(SmallModel(Piece("a")) + Field(5, Field(2, std::string("x")))),
              HasSubstr("denormalizer_spec is not supported"));
}

std::string Charsmap(const std::vector<uint32_t>& units, const std::string& replacements) {
  std::string bytes(4 + 4 * units.size(), '\0');
  const uint32_t trie_bytes = static_cast<uint32_t>(4 * units.size());
  std::memcpy(bytes.data(), &trie_bytes, 4);
  std::memcpy(bytes.data() + 4, units.data(), trie_bytes);
  return bytes + replacements;
}

TEST(SentencePieceModelTest, RefusesNormalisationTablesThatPointOutside) {
  const auto problem = [](const std::string& charsmap) {
    return Problem(SmallModel(Piece("a"), /*add_dummy_prefix=*/true, /*trainer=*/"",
                              /*normalizer=*/Field(2, charsmap)));
  };
  const std::string damaged = "damaged normalisation table";
  const std::string replacements(4, '\0');
  EXPECT_EQ(problem(Charsmap(std::vector<uint32_t>(256), replacements)), "none");
  EXPECT_EQ(problem("abc"), damaged);
  EXPECT_EQ(problem(std::string("\xFF\xFF\xFF\xFF", 4) + std::string(100, 'x')), damaged);
  EXPECT_EQ(problem(Charsmap(std::vector<uint32_t>(255), replacements)), damaged);
  EXPECT_EQ(problem(Charsmap(std::vector<uint32_t>(256), "")), damaged);
  std::vector<uint32_t> units(256);
  units[97] = 97 | 0x3FFFF << 10;  // 'a' leads outside the array
  EXPECT_EQ(problem(Charsmap(units, replacements)), damaged);
  units[97] = 97 | 1 << 8 | 97 << 10;  // 'a' has a value, at unit 0
  units[0] = 1u << 31 | 4;             // which lies outside the replacements
  EXPECT_EQ(problem(Charsmap(units, replacements)), damaged);
}

/// Truncated and bit-flipped files are refused or load into something that still encodes and has
/// bytes for every id.
TEST(SentencePieceModelTest, DamageNeverCrashes) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const std::string& path : TokenizerModels()) {
    const std::string good = ReadAll(path);
    for (int round = 0; round < 40; ++round) {
      std::string bytes = good;
      if (round % 4 == 0) {
        bytes.resize(random() % good.size());
      } else {
        for (uint32_t flips = 1 + random() % 20; flips > 0; --flips) {
          // The specs, with the normalisation table, stand at the end.
          const size_t from = random() % 2 ? 0 : good.size() - good.size() / 3;
          bytes[from + random() % (good.size() - from)] ^= static_cast<char>(1 << random() % 8);
        }
      }
      const auto loaded = SentencePieceModel::Load(bytes);
      if (std::holds_alternative<std::string>(loaded)) continue;
      const auto& model = *std::get<std::unique_ptr<SentencePieceModel>>(loaded);
      std::string text = "Hello world. \uFF21\u3042\u30AC ";
      for (int i = 0; i < 50; ++i) text += Utf8(RandomCodePoint(random));
      const auto encoded = model.Encode(text);
      if (const auto* ids = std::get_if<std::vector<int32_t>>(&encoded)) {
        for (const int32_t id : *ids) ASSERT_TRUE(id >= 0 && id < model.size());
      }
    }
  }
}

}  // namespace
}  // namespace shortlist
