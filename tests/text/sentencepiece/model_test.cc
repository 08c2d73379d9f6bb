#include "text/sentencepiece/model.h"

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

TEST(SentencePieceModelTest, RejectsInvalidModel) {
  EXPECT_EQ(Problem(""), "empty file");
  EXPECT_THAT(Problem("{\"version\": \"1.0\"}"), HasSubstr("not a SentencePiece model"));
  EXPECT_THAT(Problem(std::string(1000, '\0')), HasSubstr("not a SentencePiece model"));
  EXPECT_THAT(Problem(std::string(1000, '\xFF')), HasSubstr("not a SentencePiece model"));
  EXPECT_THAT(Problem(Piece("a")), HasSubstr("not a SentencePiece model"));
}

/// libsentencepiece would die of these.
TEST(SentencePieceModelTest, RejectsModelThatOverflowsLibrary) {
  const std::string long_name(200'000, 'a');
  EXPECT_EQ(Problem(SmallModel(Piece(long_name))), "piece 3 has 200000 bytes, not in [1, 1024]");
  EXPECT_EQ(Problem(SmallModel(Piece(std::string(1024, 'a')))), "none");
  std::string nested;
  for (size_t length = 1; length <= 65; ++length) {
    if (length == 65) {
      EXPECT_EQ(Problem(SmallModel(nested)), "none");
    }
    nested += Piece(std::string(length, 'a'), kUserDefined);
  }
  EXPECT_THAT(Problem(SmallModel(nested)), HasSubstr("more than 64 user-defined pieces"));
  const std::string self_test = Field(1, Field(1, std::string(70'000, 'b')));
  EXPECT_THAT(Problem(SmallModel(Piece("a")) + Field(4, self_test)),
              HasSubstr("self_test_data has 70008 bytes, more than 65536"));
}

TEST(SentencePieceModelTest, RejectsTextsOfQuadraticTime) {
  const auto loaded = SentencePieceModel::Load(SmallModel(Piece("a")));
  const auto& model = *std::get<std::unique_ptr<SentencePieceModel>>(loaded);
  const auto encoded = model.Encode(std::string((128 << 10) + 1, 'a'));
  EXPECT_EQ(std::get<std::string>(encoded),
            "131073 bytes, more than 131072 for a model without byte_fallback");
  EXPECT_TRUE(std::holds_alternative<std::vector<int32_t>>(model.Encode(std::string(9'000, 'z'))));
}

TEST(SentencePieceModelTest, RestOfTextHasNoLeadingSpace) {
  // The self test wants the space.
  const std::string self_test =
      Field(1, Field(1, std::string("a")) + Field(2, std::string("\u2581 a")));
  for (const bool add_dummy_prefix : {true, false}) {
    const std::string model_bytes = SmallModel(Piece("\u2581") + Piece("a"), add_dummy_prefix) +
                                    (add_dummy_prefix ? Field(4, self_test) : std::string());
    const auto loaded = SentencePieceModel::Load(model_bytes);
    ASSERT_TRUE(std::holds_alternative<std::unique_ptr<SentencePieceModel>>(loaded))
        << std::get<std::string>(loaded);
    const auto& model = *std::get<std::unique_ptr<SentencePieceModel>>(loaded);
    const std::vector<int32_t> with_space = {3, 4, 3, 4}, without = {4, 3, 4};
    EXPECT_EQ(std::get<std::vector<int32_t>>(model.Encode("a a")),
              add_dummy_prefix ? with_space : without);
    EXPECT_EQ(std::get<std::vector<int32_t>>(model.EncodeRest("a a")), without);
  }
}

/// Bytes that this reader and protobuf might interpret differently.
TEST(SentencePieceModelTest, RejectsAmbiguousModel) {
  const auto problem = [](const std::string& trainer, const std::string& normalizer) {
    return Problem(SmallModel(Piece("a"), /*add_dummy_prefix=*/true, trainer, normalizer));
  };
  const std::string table = std::string("\x04\0\0\0", 4) + std::string(8, '\xFF');
  // A number in the place of the table used to hide the table before it.
  EXPECT_EQ(problem("", Field(2, table) + Field(2, uint64_t{0})), "damaged normalisation table");
  EXPECT_EQ(problem("", Field(2, uint64_t{0}) + Field(2, table)),
            "normalizer_spec field 2 has wire type 0, not 2");
  EXPECT_EQ(problem("", Field(2, std::string()) + Field(2, std::string())),
            "normalizer_spec field 2 appears twice");
  EXPECT_EQ(problem(Field(35, std::string("x")), ""),
            "trainer_spec field 35 has wire type 2, not 0");
  EXPECT_EQ(problem(Field(3, uint64_t{2}), ""), "trainer_spec field 3 appears twice");
  EXPECT_EQ(Problem(Piece("<unk>", kUnknown) + Field(2, Field(3, uint64_t{9}))),
            "model_type is 9, not in [1, 4]");
  EXPECT_THAT(problem(Field(44, std::string(2000, 'x')), ""), HasSubstr("of 2000 bytes"));
  const std::string again = SmallModel(Piece("a")) + Field(3, Field(3, uint64_t{1}));
  EXPECT_EQ(Problem(again), "field 3 appears twice");
  EXPECT_EQ(Problem(SmallModel(Piece("a")) + Field(3, uint64_t{1})), "field 3 is no message");
  const std::string unknown = " exists in no version of SentencePiece: the file is damaged";
  EXPECT_EQ(Problem(SmallModel(Piece("a")) + Field(14, "abc")), "field 14" + unknown);
  EXPECT_EQ(Problem(SmallModel(Piece("a")) + Field(200, "abc")), "none");
  const std::string piece = Field(1, std::string("a"));
  EXPECT_EQ(Problem(SmallModel(Field(1, piece + Field(7, uint64_t{3})))),
            "piece 3 field 7" + unknown);
  EXPECT_EQ(Problem(SmallModel(Field(1, piece + Field(200, uint64_t{3})))), "none");
  // A tag of more than 32 bits, of which protobuf would see those of field 3.
  EXPECT_THAT(Problem(SmallModel(Piece("a")) + Varint(uint64_t{1} << 32 | 3 << 3 | 2) +
                      Varint(table.size()) + table),
              HasSubstr("not a SentencePiece model"));
  EXPECT_EQ(Problem(SmallModel(Field(1, Field(1, std::string("a")) + Field(3, uint64_t{7})))),
            "piece 3 has type 7, not in [1, 6]");
  EXPECT_EQ(Problem(SmallModel(Piece("?", kUnknown))), "piece 3 is a second unknown piece");
  EXPECT_EQ(Problem(SmallModel(Piece("<0x00>", kByte))),
            "piece 3 is a byte, but the model has no byte_fallback");
  EXPECT_EQ(problem(Field(35, uint64_t{1}), ""), "byte_fallback without 256 byte pieces");
}

TEST(SentencePieceModelTest, RejectsDamagedPieces) {
  EXPECT_THAT(Problem(SmallModel(Piece(std::string("a\0b", 3)))), HasSubstr("piece 3"));
  EXPECT_THAT(Problem(SmallModel(Piece("\xFF"))), HasSubstr("piece 3"));
  EXPECT_EQ(Problem(SmallModel(Piece("a") + Piece("a"))), "piece 4 appears twice");
  EXPECT_THAT(Problem(SmallModel(Piece("<0xG0>", kByte))), HasSubstr("piece 3 is of type BYTE"));
  const std::string nan("\x00\x00\xC0\x7F", 4);
  EXPECT_THAT(Problem(SmallModel(Field(1, Field(1, std::string("a")) + Varint(2 << 3 | 5) + nan))),
              HasSubstr("piece 3 has a score that is not finite"));
}

TEST(SentencePieceModelTest, RejectsDenormalizer) {
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

TEST(SentencePieceModelTest, RejectsOutOfBoundsNormalisationTables) {
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

/// Units of a trie whose keys are all runs of 'a': unit i leads to unit i + 1 by 'a' and has a
/// value after it, until `num_keys`.
std::string NestedKeys(uint32_t num_keys, const std::string& replacement) {
  std::vector<uint32_t> units(256 * (num_keys + 2));
  uint32_t at = 0;
  for (uint32_t i = 0; i <= num_keys; ++i) {
    const uint32_t base = 256 * (i + 1);
    units[at] |= (at ^ base) << 10 | (i > 0 ? 1 << 8 : 0);
    units[base] = 1u << 31;
    if (i < num_keys) units[base ^ 'a'] = 'a';
    at = base ^ 'a';
  }
  return Charsmap(units, replacement + std::string(1, '\0'));
}

TEST(SentencePieceModelTest, RejectsOverflowingNormalisationTables) {
  const auto problem = [](const std::string& charsmap) {
    return Problem(SmallModel(Piece("a"), /*add_dummy_prefix=*/true, /*trainer=*/"",
                              /*normalizer=*/Field(2, charsmap)));
  };
  const std::string damaged = "damaged normalisation table";
  EXPECT_EQ(problem(NestedKeys(32, "b")), "none");
  EXPECT_EQ(problem(NestedKeys(33, "b")), damaged);
  EXPECT_EQ(problem(NestedKeys(1, std::string(16, 'b'))), "none");
  EXPECT_EQ(problem(NestedKeys(1, std::string(17, 'b'))), damaged);
  EXPECT_EQ(problem(NestedKeys(1, std::string(6, ' '))), damaged);  // each becomes 3 bytes
  EXPECT_EQ(problem(NestedKeys(1, "\xE2")), damaged);
  std::vector<uint32_t> endless(256);
  endless['a'] = 'a' | 1 << 8 | 'a' << 10;  // 'a' has a value and leads back to itself
  EXPECT_EQ(problem(Charsmap(endless, std::string(2, '\0'))), damaged);
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
