// Small tokenizers of every family against what Hugging Face's library made of the same texts
// (tests/reference/make_tokenizer_golden.py).

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/text/test_util.h"
#include "text/detokenizer.h"
#include "text/tokenizer/json_tokenizer.h"

namespace shortlist {
namespace {

using nlohmann::json;
using ::testing::ElementsAreArray;

class GoldenTokenizerTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    golden_ = json::parse(ReadAll(std::string(SHORTLIST_SOURCE_DIR) +
                                  "/tests/reference/golden/tokenizers/" + GetParam() + ".json"));
    auto tokenizer = ParseJsonTokenizer(golden_["tokenizer"], json::object());
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    tokenizer_ = *std::move(tokenizer);
  }

  std::vector<int32_t> Encode(const std::string& text, const EncodeOptions& options) {
    const auto ids = tokenizer_->Encode(text, options);
    EXPECT_TRUE(ids.ok()) << ids.status();
    std::vector<int32_t> raw;
    if (ids.ok()) {
      for (const TokenId id : *ids) raw.push_back(Raw(id));
    }
    return raw;
  }

  json golden_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(GoldenTokenizerTest, Encodes) {
  // Twice: the second time words come from the cache.
  for (int round = 0; round < 2; ++round) {
    for (const json& row : golden_["cases"]) {
      const std::string text = row["text"];
      SCOPED_TRACE(row["text"].dump());
      const std::vector<int32_t> ids = row["ids"], bare = row["bare_ids"];
      EXPECT_THAT(Encode(text, {}), ElementsAreArray(ids));
      EXPECT_THAT(Encode(text, {.add_special_tokens = false}), ElementsAreArray(bare));
      const std::vector<int32_t> parsed = row.value("parsed_ids", bare);
      EXPECT_THAT(Encode(text, {.add_special_tokens = false, .parse_special = true}),
                  ElementsAreArray(parsed));
      if (text.empty()) continue;
      const ByteRange all[] = {{0, text.size()}};
      EXPECT_THAT(
          Encode(text, {.add_special_tokens = false, .parse_special = true, .literal = all}),
          ElementsAreArray(bare));
    }
  }
}

TEST_P(GoldenTokenizerTest, DecodesAndStreams) {
  for (const json& row : golden_["cases"]) {
    SCOPED_TRACE(row["text"].dump());
    const std::vector<int> ids = row["ids"];
    EXPECT_EQ(tokenizer_->Decode(ToTokenIds(ids)), row["decoded"].get<std::string>());
    Detokenizer detokenizer(*tokenizer_, /*at_start=*/true);
    std::string streamed;
    for (const int id : ids) streamed += detokenizer.Append(TokenId{id});
    EXPECT_EQ(streamed + detokenizer.Finish(), row["decoded"].get<std::string>());
  }
}

TEST_P(GoldenTokenizerTest, EncodesTruncatedPairs) {
  const std::map<std::string, Truncation::Strategy> strategies = {
      {"longest_first", Truncation::Strategy::kLongestFirst},
      {"only_first", Truncation::Strategy::kOnlyFirst},
      {"only_second", Truncation::Strategy::kOnlySecond}};
  for (const json& row : golden_["pairs"]) {
    SCOPED_TRACE(row.dump());
    Truncation truncation{.max_len = row["max_len"].get<int64_t>(),
                          .strategy = strategies.at(row["strategy"])};
    if (row["side"] == "left") truncation.side = Truncation::Side::kLeft;
    std::optional<std::string> second;
    if (!row["second"].is_null()) second = row["second"].get<std::string>();
    const auto encoding =
        tokenizer_->EncodeSequence(row["first"].get<std::string>(), second, {}, truncation);
    ASSERT_EQ(encoding.ok(), !row["ids"].is_null()) << encoding.status();
    if (!encoding.ok()) continue;
    const std::vector<int> ids = row["ids"], type_ids = row["type_ids"];
    EXPECT_THAT(encoding->ids, ElementsAreArray(ToTokenIds(ids)));
    EXPECT_THAT(encoding->type_ids, ElementsAreArray(type_ids));
  }
}

TEST(ClipDecodingTest, ClassDecodesEndOfWordToSpace) {
  const json golden = json::parse(
      ReadAll(std::string(SHORTLIST_SOURCE_DIR) + "/tests/reference/golden/tokenizers/clip.json"));
  const auto tokenizer =
      ParseJsonTokenizer(golden["tokenizer"], {{"tokenizer_class", "CLIPTokenizer"}});
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  for (const json& row : golden["cases"]) {
    const std::vector<int> ids = row["ids"];
    const std::string decoded =
        absl::StrReplaceAll(row["decoded"].get<std::string>(), {{"</w>", " "}});
    EXPECT_EQ((*tokenizer)->Decode(ToTokenIds(ids)), decoded);
  }
}

std::vector<std::string> Families() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(SHORTLIST_SOURCE_DIR) + "/tests/reference/golden/tokenizers")) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenTokenizerTest, ::testing::ValuesIn(Families()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace shortlist
