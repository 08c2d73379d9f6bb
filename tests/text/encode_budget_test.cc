#include "text/encode_budget.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/text/test_util.h"
#include "text/tokenizer.h"
#include "text/tokenizer/json_tokenizer.h"
#include "text/tokenizer/normalizer.h"

namespace shortlist {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Named {
  std::string name;
  std::unique_ptr<Tokenizer> tokenizer;
};

/// Words of a, b and spaces, with byte tokens for all else and "▁" for spaces.
json WithByteTokens() {
  json vocab = {{"<unk>", 0}, {"a", 1}, {"b", 2}, {"ab", 3}, {"\u2581", 4}, {"\u2581ab", 5}};
  for (int byte = 0; byte < 256; ++byte) {
    char name[7];
    std::snprintf(name, sizeof(name), "<0x%02X>", byte);
    vocab[name] = 6 + byte;
  }
  return {
      {"normalizer", {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}},
      {"model",
       {{"type", "BPE"},
        {"vocab", vocab},
        {"byte_fallback", true},
        {"unk_token", "<unk>"},
        {"fuse_unk", true},
        {"merges", {"a b", "\u2581 ab"}}}}};
}

std::unique_ptr<Tokenizer> Parse(const json& document) {
  auto tokenizer = ParseJsonTokenizer(document, json::object());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

json WithNormalizer(json normalizer) {
  json document = WithByteTokens();
  document["normalizer"] = std::move(normalizer);
  return document;
}

/// One of every kind: those of the shipped files and of the fuzzer's seeds.
std::vector<Named> Tokenizers() {
  std::vector<Named> all;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(SHORTLIST_SOURCE_DIR) / "fuzz/seeds/tokenizer")) {
    const auto document = ReadJsonFile(entry.path().string(), int64_t{1} << 20);
    EXPECT_TRUE(document.ok()) << document.status();
    all.push_back({entry.path().filename(), Parse(*document)});
  }
  for (const std::string& path : TokenizerModels()) {
    auto tokenizer = OpenTokenizerFile(path);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    all.push_back({path, *std::move(tokenizer)});
  }
  all.push_back({"byte tokens", Parse(WithByteTokens())});
  all.push_back({"NFKC", Parse(WithNormalizer({{"type", "NFKC"}}))});
  all.push_back({"lower case", Parse(WithNormalizer({{"type", "Lowercase"}}))});
  return all;
}

std::string RandomText(std::mt19937& random) {
  static const std::vector<std::string> kParts = {"a",
                                                  "b",
                                                  "ab ",
                                                  " ",
                                                  "  ",
                                                  "\u2581",
                                                  "the",
                                                  "Hello",
                                                  "1234",
                                                  "\n",
                                                  "<s>",
                                                  "[SEP]",
                                                  "e",
                                                  "\u212a",
                                                  "\ufdfa",
                                                  "\U0001d400",
                                                  "\u0301",
                                                  "\uff21",
                                                  "\u1100\u1161\u11a8",
                                                  "\U0001f642",
                                                  ",",
                                                  "x'y"};
  std::string text;
  for (size_t i = random() % 40; i > 0; --i) {
    text += random() % 8 == 0 ? Utf8(RandomCodePoint(random)) : kParts[random() % kParts.size()];
  }
  return text;
}

TEST(EncodeBudgetTest, RejectsOnlyAboveLimit) {
  std::mt19937 random(/*seed=*/1);
  for (const auto& [name, tokenizer] : Tokenizers()) {
    SCOPED_TRACE(name);
    for (int round = 0; round < 200; ++round) {
      const std::string text = RandomText(random);
      EncodeOptions options{.add_special_tokens = round % 2 == 0, .parse_special = round % 3 == 0};
      const auto ids = tokenizer->Encode(text, options);
      if (!ids.ok()) continue;
      options.max_tokens = static_cast<int64_t>(ids->size());
      ASSERT_EQ(tokenizer->Encode(text, options), ids) << text;
      ASSERT_TRUE(tokenizer->EncodeSequence(text, std::nullopt, options, {}).ok()) << text;
      if (ids->empty()) continue;
      --options.max_tokens;
      const absl::Status refusal = tokenizer->Encode(text, options).status();
      ASSERT_EQ(refusal.code(), absl::StatusCode::kOutOfRange) << text;
      ASSERT_EQ(std::string(refusal.message()),
                "more than " + std::to_string(options.max_tokens) + " tokens");
      ASSERT_EQ(tokenizer->EncodeSequence(text, std::nullopt, options, {}).status(), refusal);
    }
  }
}

TEST(EncodeBudgetTest, PairCountsBothTextsBeforeTruncation) {
  const auto tokenizer = Parse(WithByteTokens());
  EncodeOptions options{.max_tokens = 4};
  EXPECT_TRUE(tokenizer->EncodeSequence("ab", "bbb", options, {}).ok());
  EXPECT_EQ(tokenizer->EncodeSequence("ab", "bbbb", options, {.max_len = 2}).status().code(),
            absl::StatusCode::kOutOfRange);
  options.max_tokens = 0;
  EXPECT_TRUE(tokenizer->EncodeSequence("", "", options, {}).ok());
}

TEST(EncodeBudgetTest, NoTokenExceedsByteBound) {
  std::mt19937 random(/*seed=*/2);
  int num_bounded = 0;
  for (const auto& [name, tokenizer] : Tokenizers()) {
    SCOPED_TRACE(name);
    const std::optional<int64_t> bound = tokenizer->max_token_bytes();
    if (!bound.has_value()) continue;
    ++num_bounded;
    for (int round = 0; round < 1000; ++round) {
      const std::string text = RandomText(random);
      for (const bool parse_special : {false, true}) {
        const auto ids =
            tokenizer->Encode(text, {.add_special_tokens = false, .parse_special = parse_special});
        if (!ids.ok()) continue;
        ASSERT_GE(static_cast<int64_t>(ids->size()) * *bound, static_cast<int64_t>(text.size()))
            << text;
      }
    }
  }
  EXPECT_GE(num_bounded, 4);
}

TEST(EncodeBudgetTest, UnboundedTokenizersReportNoByteBound) {
  // Unknown characters become one token, or vanish.
  json fused = WithByteTokens();
  fused["model"]["byte_fallback"] = false;
  EXPECT_EQ(Parse(fused)->max_token_bytes(), std::nullopt);
  fused["model"]["fuse_unk"] = false;
  EXPECT_EQ(Parse(fused)->max_token_bytes(), 4 * 6);  // "<0x00>" is the longest
  fused["model"].erase("unk_token");
  EXPECT_EQ(Parse(fused)->max_token_bytes(), std::nullopt);
  // Text is dropped.
  EXPECT_EQ(Parse(WithNormalizer({{"type", "StripAccents"}}))->max_token_bytes(), std::nullopt);
  json split = WithByteTokens();
  split["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  EXPECT_EQ(Parse(split)->max_token_bytes(), std::nullopt);
  // A token takes spaces along.
  json strips = WithByteTokens();
  strips["added_tokens"] = {{{"id", 300}, {"content", "<e>"}, {"lstrip", true}}};
  EXPECT_EQ(Parse(strips)->max_token_bytes(), std::nullopt);
  EXPECT_EQ(Parse(WithByteTokens())->max_token_bytes(), 6);
  EXPECT_EQ(OpenTokenizerFile(TokenizerModels().at(0)).value()->max_token_bytes().has_value(),
            true);
}

TEST(EncodeBudgetTest, TooManyBytesAreRejectedEarly) {
  // Were it looked at, the byte at its end would be named.
  const std::string text = std::string(Tokenizer::kMaxTextBytes - 1, 'a') + '\xFF';
  for (const auto& [name, tokenizer] : Tokenizers()) {
    if (!tokenizer->max_token_bytes().has_value()) continue;
    EXPECT_EQ(tokenizer->Encode(text, {.max_tokens = 1000}).status().code(),
              absl::StatusCode::kOutOfRange)
        << name;
  }
}

TEST(EncodeBudgetTest, EveryTokenizerRejectsLongTexts) {
  std::string text;
  while (text.size() < (size_t{100} << 10)) text += "ab, 1 ";
  for (const auto& [name, tokenizer] : Tokenizers()) {
    const absl::Status status = tokenizer->Encode(text, {.max_tokens = 1000}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << name;
  }
}

TEST(EncodeBudgetTest, NormalizerGrowthIsBounded) {
  json doublings = json::array(), prefixes = json::array(), spelled = json::array();
  for (int i = 0; i < 60; ++i) {
    doublings.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
    prefixes.push_back({{"type", "Prepend"}, {"prepend", std::string(10'000, 'b')}});
    spelled.push_back({{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", false}});
  }
  const std::string text(size_t{1} << 20, 'a');
  const auto expect_refusal = [&](const json& document) {
    const auto tokenizer = ParseJsonTokenizer(document, json::object());
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    for (const std::string& input : {text, std::string("a a a\u00e9")}) {
      const absl::Status status = (*tokenizer)->Encode(input).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(status.message()), HasSubstr("more of the text than 16 times"));
    }
  };
  expect_refusal(WithNormalizer({{"type", "Sequence"}, {"normalizers", doublings}}));
  json pre = WithByteTokens();
  pre["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", spelled}};
  expect_refusal(pre);

  const auto prefixed = Parse(WithNormalizer({{"type", "Sequence"}, {"normalizers", prefixes}}));
  EXPECT_EQ(prefixed->Encode("a").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(EncodeBudgetTest, TextsSplitByAddedTokensShareBudget) {
  json document = WithNormalizer({{"type", "Prepend"}, {"prepend", std::string(60'000, 'b')}});
  document["added_tokens"] = {{{"id", 300}, {"content", "<e>"}, {"normalized", false}}};
  const auto tokenizer = Parse(document);
  EXPECT_TRUE(tokenizer->Encode("a<e>").ok());
  EXPECT_EQ(tokenizer->Encode("a<e>a<e>").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(EncodeBudgetTest, OrdinaryTextStaysFarBelowBound) {
  const auto tokenizer = Parse(WithNormalizer({{"type", "NFKC"}}));
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "\ufdfa";  // 11 times as long in NFKC
  EXPECT_TRUE(tokenizer->Encode(text).ok());
}

/// Each place of a long word is tried, and each costs as much as the word is long.
constexpr char kRecurring[] = "(?:a|b)*[cd]";

json SplitAt(const char* expression) {
  json document = WithByteTokens();
  document["pre_tokenizer"] = {{"type", "Split"},
                               {"pattern", {{"Regex", expression}}},
                               {"behavior", "Isolated"},
                               {"invert", false}};
  return document;
}

std::string Refusal(const json& document, const std::string& text) {
  const auto tokenizer = Parse(document);
  const absl::Status status = tokenizer->Encode(text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(EncodeBudgetTest, RecursiveExpressionTimesOut) {
  const std::string word(100'000, 'a');
  const std::string refusal = Refusal(SplitAt(kRecurring), word);
  EXPECT_THAT(refusal, HasSubstr("regular expression \"(?:a|b)*[cd]\" at byte "));
  EXPECT_THAT(refusal, HasSubstr("ms of processor time for a text of 100000 bytes"));
  EXPECT_THAT(
      Refusal(WithNormalizer(
                  {{"type", "Replace"}, {"pattern", {{"Regex", kRecurring}}}, {"content", "x"}}),
              word),
      HasSubstr("regular expression \"(?:a|b)*[cd]\""));
  EXPECT_TRUE(Parse(SplitAt(kRecurring))->Encode(word.substr(0, 200)).ok());
}

/// One token of 100,000 letters, of which each place of a word holds nearly all.
TEST(EncodeBudgetTest, ModelWithHugeTokensTimesOut) {
  const std::string token(100'000, 'a');
  const std::string word(99'999, 'a');
  json vocab = json::array();  // pairs of strings and numbers would make an object
  for (const std::string& piece : {std::string("<unk>"), std::string("a"), token}) {
    vocab.push_back(json::array({piece, -1.0}));
  }
  const json unigram = {{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}}}};
  EXPECT_THAT(Refusal(unigram, word), HasSubstr("model Unigram on a word of 99999 bytes: more"));
  const json word_piece = {{"model",
                            {{"type", "WordPiece"},
                             {"unk_token", "[UNK]"},
                             {"max_input_chars_per_word", 1'000'000},
                             {"vocab", {{"[UNK]", 0}, {"a", 1}, {"##a", 2}, {"##" + token, 3}}}}}};
  EXPECT_THAT(Refusal(word_piece, word), HasSubstr("model WordPiece on a word of 99999 bytes"));
}

TEST(EncodeBudgetTest, TooManyStepsAreRejected) {
  const auto refusal = [](const json& document) {
    return std::string(ParseJsonTokenizer(document, json::object()).status().message());
  };
  json normalizers = json::array(), pre_tokenizers = json::array();
  for (size_t i = 0; i < kMaxSteps; ++i) {
    normalizers.push_back({{"type", "Lowercase"}});
    pre_tokenizers.push_back({{"type", "WhitespaceSplit"}});
  }
  json document = WithNormalizer({{"type", "Sequence"}, {"normalizers", normalizers}});
  EXPECT_EQ(refusal(document), "");
  const json once_more = document["normalizer"];
  document["normalizer"]["normalizers"].push_back(once_more);
  EXPECT_THAT(refusal(document), HasSubstr("normalizer: more than 1000 steps"));
  document = WithByteTokens();
  document["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", pre_tokenizers}};
  EXPECT_EQ(refusal(document), "");
  document["pre_tokenizer"]["pretokenizers"].push_back({{"type", "Digits"}});
  EXPECT_THAT(refusal(document), HasSubstr("pre_tokenizer: more than 1000 steps"));
  document = WithByteTokens();
  document["model"]["continuing_subword_prefix"] = std::string(1000, '#');
  EXPECT_THAT(refusal(document), HasSubstr("continuing_subword_prefix has 1000 bytes"));
}

TEST(EncodeBudgetTest, IdleTimeDoesNotCount) {
  EncodeBudget budget(/*text_bytes=*/0, /*max_ids=*/0, /*max_tokens=*/0);
  ASSERT_TRUE(budget.CheckTime().ok());
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(EncodeBudget::kMinTimeMs + 50));
    EXPECT_TRUE(budget.CheckTime().ok());
  }
}

}  // namespace
}  // namespace shortlist
