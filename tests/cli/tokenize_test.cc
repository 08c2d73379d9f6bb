#include "cli/tokenize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_llama.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* const kTokenizer = "models/demo/target/tokenizer.model";

class TokenizeTest : public ::testing::Test {
 protected:
  TokenizeTest() { flags_.model_dir = SourcePath("models/demo/target"); }

  Outcome Run(absl::Status (*command)(const TokenizeFlags&, std::istream&, std::ostream&),
              const std::string& input) {
    std::istringstream in(input);
    std::ostringstream out;
    Outcome outcome;
    outcome.status = command(flags_, in, out);
    outcome.out = out.str();
    return outcome;
  }

  void ExpectRefused(const Outcome& outcome, const std::string& words) {
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(words));
    EXPECT_EQ(outcome.out, "");
  }

  TokenizeFlags flags_;
  const TempDir dir_;
};

TEST_F(TokenizeTest, EndlessLineIsRejectedWithNumber) {
  const std::string input = "a\n" + std::string((64 << 20) + 1, '1');
  for (const auto command : {Tokenize, Detokenize}) {
    ExpectRefused(Run(command, input),
                  "standard input line 2: a line longer than the 67108864 bytes admitted here");
  }
}

TEST_F(TokenizeTest, TextGoesToIdsAndBack) {
  const Outcome ids = Run(Tokenize, "The vector class\n\nint main");
  ASSERT_TRUE(ids.status.ok()) << ids.status;
  EXPECT_EQ(Lines(ids.out).size(), 3u);
  const Outcome text = Run(Detokenize, ids.out);
  ASSERT_TRUE(text.status.ok()) << text.status;
  EXPECT_THAT(Lines(text.out), ElementsAre("The vector class", "", "int main"));
}

TEST_F(TokenizeTest, JsonRowsHoldTextsWithLineBreaks) {
  flags_.jsonl = flags_.json = true;
  flags_.num_threads = 3;
  const Outcome ids = Run(Tokenize, R"("a\nb")"
                                    "\n"
                                    R"({"text": "c"})"
                                    "\n"
                                    R"({"prompt": "d", "id": 7})");
  ASSERT_TRUE(ids.status.ok()) << ids.status;
  const Outcome text = Run(Detokenize, ids.out);
  ASSERT_TRUE(text.status.ok()) << text.status;
  EXPECT_THAT(Lines(text.out),
              ElementsAre(R"({"text":"a\nb"})", R"({"text":"c"})", R"({"text":"d"})"));
}

TEST_F(TokenizeTest, BosIsLeftOutOnRequest) {
  const Outcome with = Run(Tokenize, "a");
  flags_.add_special_tokens = false;
  const Outcome without = Run(Tokenize, "a");
  EXPECT_EQ(with.out, "1 " + without.out);
}

TEST_F(TokenizeTest, ErrorsNameLine) {
  ExpectRefused(Run(Tokenize, "good\nb\xFF"),
                "standard input line 2: text is not valid UTF-8 at byte 1");
  ExpectRefused(Run(Detokenize, "1 2\n1 x"),
                "line 2: token id \"x\" is not an integer in [0, 16384)");
  ExpectRefused(Run(Detokenize, "16384"), "token id \"16384\" is not an integer in [0, 16384)");
  ExpectRefused(Run(Detokenize, "-1"), "token id \"-1\" is not an integer in [0, 16384)");
  ExpectRefused(Run(Detokenize, "99999999999999999999"),
                "token id \"99999999999999999999\" is not an integer in [0, 16384)");
  flags_.jsonl = true;
  ExpectRefused(Run(Tokenize, "\"a\"\n{"), "line 2: not valid JSON");
  ExpectRefused(Run(Tokenize, "{\"text\": 3}"), "line 1: neither a string");
  ExpectRefused(Run(Detokenize, "{\"ids\": 3}"), "line 1: neither an array");
  for (const std::string id : {"-1", "16384", "9223372036854775808", "18446744073709551615",
                               "1e+20", "0.5", "true", R"("1")", "[1]", "null"}) {
    ExpectRefused(Run(Detokenize, "[" + id + "]"),
                  "line 1: token id " + id + " is not an integer in [0, 16384)");
  }
  ExpectRefused(Run(Detokenize, R"({"ids": [1], "ids": [2]})"), "appears twice");
  flags_.jsonl = false;
  flags_.input_path = dir_.Join("none");
  EXPECT_EQ(Run(Tokenize, "").status.code(), absl::StatusCode::kNotFound);
  flags_.input_path.clear();
  flags_.model_dir.clear();
  flags_.tokenizer_path = dir_.Write("tokenizer.json", "{}");
  ExpectRefused(Run(Tokenize, "a"), "tokenizer.json: no \"model\"");
  flags_.tokenizer_path = dir_.Write("tokenizer.json", R"({"model": {"type": "BPE", "vocab")");
  ExpectRefused(Run(Tokenize, "a"), "tokenizer.json: not valid JSON at byte 34");
}

TEST_F(TokenizeTest, ModelIsDirectoryOrCachedRepository) {
  flags_.model_dir = "../no/../such";
  EXPECT_EQ(Run(Tokenize, "a").status.code(), absl::StatusCode::kNotFound);
  flags_.model_dir = "org/../../etc";
  ExpectRefused(Run(Tokenize, "a"), "is neither a directory nor the name of a repository");
  flags_.model_dir = "org/name@";
  ExpectRefused(Run(Tokenize, "a"), "revision \"\" is no branch");
  flags_.model_dir = SourcePath(kTokenizer);
  ExpectRefused(Run(Tokenize, "a"), "tokenizer.model: a file, not a model directory");
}

TEST_F(TokenizeTest, SpecialTokensWithoutIdAreNamed) {
  flags_.model_dir = dir_.path();
  const auto write = [&](const char* name, const char* contents) {
    std::ofstream(flags_.model_dir + "/" + name) << contents;
  };
  write("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})");
  write("tokenizer_config.json", R"({"pad_token": "<pad>", "image_token": "<image>"})");
  write("config.json", R"({"vocab_size": 3})");
  testing::internal::CaptureStderr();
  const Outcome ids = Run(Tokenize, "ab");
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(ids.status.ok()) << ids.status;
  EXPECT_THAT(log,
              HasSubstr("warning: " + flags_.model_dir +
                        ": image_token \"<image>\" is not in the vocabulary, whose 3 ids leave "
                        "none of the model's 3 embeddings for it"));
  EXPECT_THAT(log, ::testing::Not(HasSubstr("pad_token")));
}

TEST_F(TokenizeTest, ReadsFile) {
  const std::string input = dir_.Write("input.txt", "one\ntwo\n");
  const ProcessOutcome good =
      RunBinary({"tokenize", "--tokenizer", SourcePath(kTokenizer), "--input", input, "--json"});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_EQ(Lines(good.out).size(), 2u);
  EXPECT_THAT(good.err, HasSubstr("tokenize: 2 texts, 6 bytes"));
  EXPECT_EQ(RunBinary({"tokenize", "--input", input}).exit_code, 2);
  const ProcessOutcome bad =
      RunBinary({"detokenize", "--tokenizer", SourcePath(kTokenizer), "--input", input});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_EQ(bad.out, "");
  EXPECT_THAT(bad.err, HasSubstr("line 1: token id \"one\" is not an integer in"));
}

}  // namespace
}  // namespace shortlist
