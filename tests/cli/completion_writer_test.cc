#include "cli/completion_writer.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using Format = CompletionWriter::Format;

class CompletionWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer =
        OpenTokenizer(ModelSource::OfDirectory(SourcePath("models/demo/target")));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    tokenizer_ = *std::move(tokenizer);
    requests_.resize(3, {.origin = "test", .token_ids = {TokenId{1}, TokenId{5}}});
  }

  /// Ids of `text` without BOS.
  std::vector<TokenId> Encode(const std::string& text) {
    std::vector<TokenId> ids = *tokenizer_->Encode(text);
    if (tokenizer_->bos() == ids.front()) ids.erase(ids.begin());
    return ids;
  }

  Completion Ended(const std::vector<TokenId>& ids) {
    Completion completion{.output_ids = ids, .finish_reason = FinishReason::kStop};
    completion.stats.num_verify_steps = 2;
    completion.stats.num_step_tokens = 5;
    completion.stats.num_drafted = 8;
    completion.stats.num_forced = 3;
    completion.stats.num_accepted = 3;
    completion.stats.num_covered = 4;
    completion.stats.active_rows = 77;
    completion.decode_seconds = 0.5;
    return completion;
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<Session::Request> requests_;
  std::ostringstream out_;
};

TEST_F(CompletionWriterTest, JsonRowsAreWholeAndInInputOrder) {
  CompletionWriter writer(*tokenizer_, requests_, Format::kJson, out_);
  for (size_t index : {2, 0, 1}) writer.OnTokens(index, Encode("x" + std::to_string(index)));
  writer.OnFinish(2, Ended(Encode("x2")));
  EXPECT_EQ(out_.str(), "");
  writer.OnFinish(0, Ended(Encode("x0")));
  EXPECT_EQ(Lines(out_.str()).size(), 1u);
  writer.OnFinish(1, Ended(Encode("x1")));
  const std::vector<std::string> lines = Lines(out_.str());
  ASSERT_EQ(lines.size(), 3u);
  for (size_t i = 0; i < lines.size(); ++i) {
    const nlohmann::json row = nlohmann::json::parse(lines[i]);
    EXPECT_EQ(row["index"], i);
    EXPECT_NE(row["text"].get<std::string>().find("x" + std::to_string(i)), std::string::npos);
  }
}

TEST_F(CompletionWriterTest, JsonHasDocumentedFields) {
  CompletionWriter writer(*tokenizer_, std::span(requests_).first(1), Format::kJson, out_);
  const std::vector<TokenId> ids = Encode("one two");
  writer.OnTokens(0, ids);
  writer.OnFinish(0, Ended(ids));
  const nlohmann::json row = nlohmann::json::parse(out_.str());
  EXPECT_EQ(row.size(), 4u);
  EXPECT_EQ(row["output_ids"].size(), ids.size());
  EXPECT_EQ(row["output_ids"][0], Raw(ids[0]));
  const nlohmann::json expected = {{"prompt_tokens", 2},
                                   {"completion_tokens", ids.size()},
                                   {"finish_reason", "stop"},
                                   {"spec_verify_ct", 2},
                                   {"spec_draft_length", 4.0},
                                   {"spec_forced_length", 1.5},
                                   {"spec_accept_length", 2.5},
                                   {"spec_accept_rate", 0.375},
                                   {"coverage", 0.8},
                                   {"active_rows", 77},
                                   {"tokens_per_s", static_cast<double>(ids.size()) / 0.5}};
  EXPECT_EQ(row["meta_info"], expected);
}

TEST_F(CompletionWriterTest, TextIsStreamedInInputOrder) {
  CompletionWriter writer(*tokenizer_, std::span(requests_).first(2), Format::kText, out_);
  writer.OnTokens(1, Encode("second"));
  EXPECT_EQ(out_.str(), "");
  writer.OnTokens(0, Encode("first"));
  const std::string streamed = out_.str();
  EXPECT_NE(streamed.find("first"), std::string::npos);
  writer.OnFinish(1, Ended(Encode("second")));
  EXPECT_EQ(out_.str(), streamed);
  writer.OnFinish(0, Ended(Encode("first")));
  const std::vector<std::string> lines = Lines(out_.str());
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "=== 0");
  EXPECT_EQ(lines[2], "=== 1");
}

TEST_F(CompletionWriterTest, NeverStreamsPartialCodePoint) {
  CompletionWriter writer(*tokenizer_, std::span(requests_).first(1), Format::kText, out_);
  // U+1F600 is not in the vocabulary: four byte pieces.
  const std::vector<TokenId> ids = Encode("\xF0\x9F\x98\x80");
  ASSERT_GE(ids.size(), 4u);
  std::string before;
  for (TokenId id : ids) {
    writer.OnTokens(0, std::vector<TokenId>{id});
    const std::string added = out_.str().substr(before.size());
    EXPECT_TRUE(added.empty() || added == " " || added == "\xF0\x9F\x98\x80") << added;
    before = out_.str();
  }
  EXPECT_NE(before.find("\xF0\x9F\x98\x80"), std::string::npos);
}

TEST_F(CompletionWriterTest, PartialCodePointBecomesReplacementCharacter) {
  CompletionWriter writer(*tokenizer_, std::span(requests_).first(1), Format::kText, out_);
  std::vector<TokenId> ids = Encode("\xF0\x9F\x98\x80");
  ids.pop_back();
  writer.OnTokens(0, ids);
  writer.OnFinish(0, Ended(ids));
  EXPECT_NE(out_.str().find("\xEF\xBF\xBD\n"), std::string::npos);
}

}  // namespace
}  // namespace shortlist
