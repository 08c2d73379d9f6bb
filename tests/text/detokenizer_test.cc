#include "text/detokenizer.h"

#include <random>

#include "base/utf8.h"
#include "gtest/gtest.h"
#include "tests/text/test_util.h"

namespace shortlist {
namespace {

/// Tokens given as bytes; an empty one is a control token.
class FakeTokenizer final : public Tokenizer {
 public:
  explicit FakeTokenizer(std::vector<std::string> tokens,
                         Replacement replacement = Replacement::kPerSubpart,
                         bool strips_trailing_space = false)
      : replacement_(replacement),
        strips_trailing_space_(strips_trailing_space),
        tokens_(std::move(tokens)) {}
  std::string_view kind() const override { return "fake"; }
  int64_t size() const override { return static_cast<int64_t>(tokens_.size()); }
  std::string_view TokenBytes(TokenId id) const override { return tokens_[Raw(id)]; }
  bool IsSpecial(TokenId id) const override { return tokens_[Raw(id)].empty(); }
  std::string_view ControlPiece(TokenId id) const override { return IsSpecial(id) ? "<c>" : ""; }
  std::optional<TokenId> bos() const override { return std::nullopt; }
  std::optional<TokenId> eos() const override { return std::nullopt; }
  std::optional<int64_t> max_token_bytes() const override { return std::nullopt; }
  bool adds_leading_space() const override { return true; }
  Replacement replacement() const override { return replacement_; }
  bool strips_trailing_space() const override { return strips_trailing_space_; }

 protected:
  absl::Status EncodeText(std::string_view, const EncodeOptions&, EncodeBudget&,
                          std::vector<TokenId>&) const override {
    return absl::UnimplementedError("not needed");
  }
  const SequenceTemplate& sequence_template() const override { return template_; }

 private:
  const SequenceTemplate template_;
  const Replacement replacement_;
  const bool strips_trailing_space_;
  std::vector<std::string> tokens_;
};

TEST(DetokenizerTest, HoldsBackPartialCodePoint) {
  const FakeTokenizer tokenizer({"\xF0\x9F", "\x98", "\x80!"});
  Detokenizer detokenizer(tokenizer, /*at_start=*/true);
  EXPECT_EQ(detokenizer.Append(TokenId{0}), "");
  EXPECT_EQ(detokenizer.Append(TokenId{1}), "");
  EXPECT_EQ(detokenizer.Append(TokenId{2}), "\U0001F600!");
  EXPECT_EQ(detokenizer.Finish(), "");
}

TEST(DetokenizerTest, ReplacesInvalidBytesAsSoonAsKnown) {
  const FakeTokenizer tokenizer({"\xE4\xBD", "x", "\x80"});
  Detokenizer detokenizer(tokenizer, /*at_start=*/true);
  EXPECT_EQ(detokenizer.Append(TokenId{0}), "");
  EXPECT_EQ(detokenizer.Append(TokenId{1}), "\uFFFDx");
  EXPECT_EQ(detokenizer.Append(TokenId{2}), "\uFFFD");
  EXPECT_EQ(detokenizer.Append(TokenId{0}), "");
  EXPECT_EQ(detokenizer.Finish(), "\uFFFD");
  EXPECT_EQ(detokenizer.Finish(), "");
}

TEST(DetokenizerTest, ReplacesEachByteOfByteTokens) {
  const FakeTokenizer tokenizer({"\xF0", "\x9F", "x"}, Replacement::kPerByte);
  Detokenizer detokenizer(tokenizer, /*at_start=*/true);
  EXPECT_EQ(detokenizer.Append(TokenId{0}), "");
  EXPECT_EQ(detokenizer.Append(TokenId{1}), "");
  EXPECT_EQ(detokenizer.Append(TokenId{2}), "\uFFFD\uFFFDx");
  EXPECT_EQ(detokenizer.Append(TokenId{0}), "");
  EXPECT_EQ(detokenizer.Append(TokenId{1}), "");
  EXPECT_EQ(detokenizer.Finish(), "\uFFFD\uFFFD");
}

TEST(DetokenizerTest, HoldsBackPossiblyLastSpace) {
  const FakeTokenizer tokenizer({"a ", "", " "}, Replacement::kPerSubpart,
                                /*strips_trailing_space=*/true);
  Detokenizer detokenizer(tokenizer, /*at_start=*/true);
  EXPECT_EQ(detokenizer.Append(TokenId{0}), "a");
  EXPECT_EQ(detokenizer.Append(TokenId{1}), "");
  EXPECT_EQ(detokenizer.Append(TokenId{0}), " a");
  EXPECT_EQ(detokenizer.Append(TokenId{2}), " ");
  EXPECT_EQ(detokenizer.Finish(), "");
  EXPECT_EQ(detokenizer.Finish(), "");
}

TEST(DetokenizerTest, StripsLeadingSpaceAtStartOnly) {
  const FakeTokenizer tokenizer({" a", ""});
  Detokenizer at_start(tokenizer, /*at_start=*/true);
  EXPECT_EQ(at_start.Append(TokenId{1}), "");
  EXPECT_EQ(at_start.Append(TokenId{0}), "a");
  EXPECT_EQ(at_start.Append(TokenId{0}), " a");
  Detokenizer continued(tokenizer, /*at_start=*/false);
  EXPECT_EQ(continued.Append(TokenId{0}), " a");
}

void ExpectPiecesJoinToDecode(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  Detokenizer detokenizer(tokenizer, /*at_start=*/true);
  std::string text;
  for (const TokenId id : ids) {
    const std::string piece = detokenizer.Append(id);
    ASSERT_EQ(FindInvalidUtf8(piece), std::nullopt);
    text += piece;
  }
  text += detokenizer.Finish();
  ASSERT_EQ(text, tokenizer.Decode(ids));
}

TEST(DetokenizerTest, PiecesJoinToDecodeOnBrokenSequences) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<std::string> tokens = {"", " a", " ", "\u3042", "\xE3\x81", "\x98\x80", "x\xF0\x9F"};
  for (int byte = 0; byte < 256; ++byte) tokens.push_back({static_cast<char>(byte)});
  for (int round = 0; round < 20000; ++round) {
    const FakeTokenizer tokenizer(
        tokens, round % 2 ? Replacement::kPerByte : Replacement::kPerSubpart, round % 4 < 2);
    std::vector<TokenId> ids;
    for (uint32_t count = random() % 12; count > 0; --count) {
      ids.push_back(TokenId{static_cast<int32_t>(random() % (random() % 2 ? 7 : tokens.size()))});
    }
    ExpectPiecesJoinToDecode(tokenizer, ids);
    if (HasFatalFailure()) return;
  }
}

TEST(DetokenizerTest, PiecesJoinToDecodeForRealTokenizers) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const std::string& path : TokenizerModels()) {
    SCOPED_TRACE(path);
    const auto tokenizer = OpenBytes(ReadAll(path), R"({"add_bos_token": false})");
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    std::vector<TokenId> bytes;
    for (int32_t id = 0; id < (*tokenizer)->size(); ++id) {
      if ((*tokenizer)->TokenBytes(TokenId{id}).size() == 1) bytes.push_back(TokenId{id});
    }
    for (int round = 0; round < 3000; ++round) {
      std::vector<TokenId> ids;
      for (uint32_t count = random() % 12; count > 0; --count) {
        ids.push_back(random() % 2
                          ? bytes[random() % bytes.size()]
                          : TokenId{static_cast<int32_t>(random() % (*tokenizer)->size())});
      }
      ExpectPiecesJoinToDecode(**tokenizer, ids);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace shortlist
