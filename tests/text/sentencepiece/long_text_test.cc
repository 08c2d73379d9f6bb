#include "text/sentencepiece/long_text.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/text/sentencepiece/oracle.h"
#include "tests/text/test_util.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

const std::string kModel =
    std::string(SHORTLIST_SOURCE_DIR) + "/models/demo/target/tokenizer.model";

/// More than kMinBytes of `parts`, in a random order.
std::string LongText(const std::vector<std::string>& parts, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() <= LongTextEncoder::kMinBytes) text += parts[random() % parts.size()];
  return text;
}

std::vector<std::string> Texts() {
  std::vector<std::string> letters;
  for (char c = 'a'; c <= 'z'; ++c) letters.emplace_back(1, c);
  return {
      LongText(letters, /*seed=*/1),
      LongText({"a"}, 2),
      LongText({" "}, 3),
      " " + LongText(
                {"the", " vector", "  of", " x_1", "\n", "\t", " return;", "0", "42", "(", ")"}, 4),
      LongText(
          {"日本", "語", "é", "\xF0\x9F\x99\x82", " ", "ß", "e\u0301", "\u3000", "\x7f", "\u00ad"},
          5),
      LongText({"\u2581", " ", "</s>", "<0x0A>", "<unk>", "<s>", "ab", "\u2581the",
                std::string(1, '\0')},
               6),
  };
}

/// A user-defined piece, as a field of a `.model` file.
std::string UserDefined(const std::string& name) {
  const std::string piece =
      "\x0a" + std::string(1, static_cast<char>(name.size())) + name + "\x18\x04";
  return "\x0a" + std::string(1, static_cast<char>(piece.size())) + piece;
}

void ExpectOraclesIds(const std::string& path, const std::vector<std::string>& texts) {
  const SentencePieceOracle oracle(path);
  const auto tokenizer = OpenTokenizerFile(path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  for (const std::string& text : texts) {
    SCOPED_TRACE(text.substr(0, 40));
    const auto ids = (*tokenizer)->Encode(text, {.add_special_tokens = false});
    ASSERT_TRUE(ids.ok()) << ids.status();
    std::vector<int> raw;
    for (const TokenId id : *ids) raw.push_back(Raw(id));
    const std::vector<int> expected = oracle.Encode(text);
    const auto [at, other] =
        std::mismatch(raw.begin(), raw.end(), expected.begin(), expected.end());
    EXPECT_TRUE(raw == expected) << "from the token " << at - raw.begin() << " on";
  }
}

TEST(LongTextTest, IdsMatchSentencePiece) { ExpectOraclesIds(kModel, Texts()); }

TEST(LongTextTest, UserDefinedPiecesAreSplitFirst) {
  const auto dir = FreshDir();
  const std::string path = (dir / "tokenizer.model").string();
  std::string model = ReadAll(kModel);
  for (const char* name : {"qzx", "qzxqz", "\u2581\u2581q", "日本語", "\u00ff", "zqz", " q"}) {
    model += UserDefined(name);
  }
  std::ofstream(path, std::ios::binary) << model;
  const auto loaded = SentencePieceModel::Load(model);
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<SentencePieceModel>>(loaded))
      << std::get<std::string>(loaded);
  const auto& with_pieces = *std::get<std::unique_ptr<SentencePieceModel>>(loaded);
  ASSERT_EQ(with_pieces.bpe_user_pieces().size(), 7u);
  ExpectOraclesIds(path,
                   {LongText({"q", "z", "x", "qz", " ", "  q", "日本", "語", "the", "\u00ff"}, 8)});
  std::filesystem::remove_all(dir);
}

TEST(LongTextTest, RestOfTextHasNoLeadingSpace) {
  const auto model = SentencePieceModel::Load(ReadAll(kModel));
  const auto& demo = *std::get<std::unique_ptr<SentencePieceModel>>(model);
  const LongTextEncoder encoder(demo);
  const std::string text = LongText({"vector", " of", "x"}, 7);
  for (const bool is_whole : {true, false}) {
    EncodeBudget budget(text.size(), text.size(), static_cast<int64_t>(text.size()));
    std::vector<TokenId> ids;
    ASSERT_TRUE(encoder.Takes(text));
    ASSERT_TRUE(encoder.Append(text, is_whole, budget, ids).ok());
    const auto expected = is_whole ? demo.Encode(text) : demo.EncodeRest(text);
    std::vector<int32_t> raw;
    for (const TokenId id : ids) raw.push_back(Raw(id));
    EXPECT_TRUE(raw == std::get<std::vector<int32_t>>(expected)) << is_whole;
  }
  EncodeBudget few(text.size(), /*max_ids=*/9, /*max_tokens=*/9);
  std::vector<TokenId> ids;
  EXPECT_EQ(encoder.Append(text, true, few, ids).code(), absl::StatusCode::kOutOfRange);
}

TEST(LongTextTest, MemoryPerByteIsBounded) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes memory of its own";
#endif
  const auto peak_bytes = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_maxrss} << 10;
  };
  const auto tokenizer = OpenTokenizerFile(kModel);
  ASSERT_TRUE(tokenizer.ok());
  std::string word = Texts()[0];
  while (word.size() < (size_t{2} << 20)) word += word;
  const int64_t before = peak_bytes();
  ASSERT_TRUE((*tokenizer)->Encode(word).ok());
  EXPECT_LT(peak_bytes() - before, 100 * static_cast<int64_t>(word.size()));
}

}  // namespace
}  // namespace shortlist
