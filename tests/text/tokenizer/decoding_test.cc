#include <string>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/text/test_util.h"
#include "text/detokenizer.h"
#include "text/space_cleaner.h"
#include "text/tokenizer/json_tokenizer.h"

namespace shortlist {
namespace {

absl::StatusOr<nlohmann::json> Golden() {
  return ReadJsonFile(std::string(SHORTLIST_SOURCE_DIR) + "/tests/reference/golden/decoding.json",
                      /*max_bytes=*/1 << 20);
}

std::string Streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                     bool shows_controls) {
  Detokenizer detokenizer(tokenizer, /*at_start=*/true, shows_controls);
  std::string text;
  for (const TokenId id : ids) {
    const std::string piece = detokenizer.Append(id);
    EXPECT_EQ(FindInvalidUtf8(piece), std::nullopt);
    text += piece;
  }
  return text + detokenizer.Finish();
}

bool HasBrokenBytes(const std::string& text) { return text.find("\uFFFD") != std::string::npos; }

// make_decoding_golden.py
TEST(DecodingTest, TextsMatchTransformers) {
  const auto golden = Golden();
  ASSERT_TRUE(golden.ok()) << golden.status();
  int num_rows = 0;
  for (const auto& [name, spec] : golden->items()) {
    SCOPED_TRACE(name);
    const auto& files = spec["files"];
    const auto tokenizer = ParseJsonTokenizer(files["tokenizer.json"],
                                              files["tokenizer_config.json"], /*model_config=*/{});
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    for (const auto& row : spec["rows"]) {
      SCOPED_TRACE(row[0].dump());
      std::vector<TokenId> ids;
      for (const int32_t id : row[0]) ids.push_back(TokenId{id});
      for (const bool shows_controls : {false, true}) {
        const std::string want = row[shows_controls ? 2 : 1];
        EXPECT_EQ((*tokenizer)->Decode(ids, shows_controls), want);
        if (!HasBrokenBytes(want)) {
          EXPECT_EQ(Streamed(**tokenizer, ids, shows_controls), want);
        }
        ++num_rows;
      }
    }
  }
  EXPECT_GT(num_rows, 700);
}

TEST(DecodingTest, StreamKeepsCompleteTextOfBrokenBytes) {
  const auto golden = Golden();
  ASSERT_TRUE(golden.ok()) << golden.status();
  const auto& files = (*golden)["bytes"]["files"];
  const auto tokenizer = ParseJsonTokenizer(files["tokenizer.json"], files["tokenizer_config.json"],
                                            /*model_config=*/{});
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const auto& vocab = files["tokenizer.json"]["model"]["vocab"];
  std::vector<TokenId> ids;
  for (const char* const token : {"<0x0A>", "<0xF0>", "<0x9F>"}) ids.emplace_back(vocab[token]);
  EXPECT_EQ((*tokenizer)->Decode(ids), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(Streamed(**tokenizer, ids, /*shows_controls=*/false), "\n\uFFFD\uFFFD");
}

TEST(SpaceCleanerTest, PiecesJoinToWhole) {
  const std::string text =
      "he said , hi . do n't ' I 'm ' . . it 's  . ' ' 've n ' t !? ' 're  ,  ' ";
  const auto clean = [&text](size_t piece) {
    SpaceCleaner cleaner;
    std::string cleaned;
    for (size_t done = 0; done < text.size(); done += piece) {
      cleaned += cleaner.Append(text.substr(done, piece));
    }
    return cleaned + cleaner.Finish();
  };
  // transformers 5.24
  EXPECT_EQ(clean(text.size()), "he said, hi. don't'I'm '.. it's .'''ven't!?''re , '");
  for (size_t piece = 1; piece < text.size(); ++piece) EXPECT_EQ(clean(piece), clean(text.size()));
}

}  // namespace
}  // namespace shortlist
