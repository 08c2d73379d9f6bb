#include "serve/output_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/serve/api_fixture.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

/// The token whose text is `bytes`.
TokenId TokenOf(const std::string& bytes) {
  const Tokenizer& tokenizer = DemoTokenizer();
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    if (!tokenizer.IsSpecial(TokenId{id}) && tokenizer.TokenBytes(TokenId{id}) == bytes) {
      return TokenId{id};
    }
  }
  ADD_FAILURE() << "no token for " << bytes;
  return TokenId{0};
}

std::string TextOf(const std::vector<TokenId>& ids, OutputText::Options options) {
  OutputText output(DemoTokenizer(), std::move(options));
  std::string text;
  for (const TokenId id : ids) output.Append(id, text);
  output.Finish(text);
  return text;
}

TEST(OutputTextTest, UnfinishedCodePointIsShownWhereverTheOutputEnds) {
  const std::vector<TokenId> ids = {TokenOf("a"), TokenOf("\xE6")};
  const TokenId eos = *DemoTokenizer().eos();
  const std::string shown = "a\uFFFD";
  EXPECT_EQ(TextOf(ids, {}), shown);
  std::vector<TokenId> ended = ids;
  ended.push_back(eos);
  for (const bool trims_stop : {true, false}) {
    EXPECT_EQ(TextOf(ended, {.stop_token_ids = {eos}, .trims_stop = trims_stop}), shown);
  }
  const std::string spelled(DemoTokenizer().Spelling(eos));
  EXPECT_EQ(TextOf(ended, {.stop_token_ids = {eos}, .skips_special_tokens = false}), shown);
  EXPECT_EQ(
      TextOf(ended, {.stop_token_ids = {eos}, .trims_stop = false, .skips_special_tokens = false}),
      shown + spelled);
}

TEST(OutputTextTest, StopStringMayEndInUnfinishedCodePoint) {
  const TokenId eos = *DemoTokenizer().eos();
  const std::vector<TokenId> ids = {TokenOf("a"), TokenOf("\xE6"), eos};
  EXPECT_EQ(TextOf(ids, {.stop = {"\uFFFD"}, .stop_token_ids = {eos}}), "a");
}

}  // namespace
}  // namespace shortlist
