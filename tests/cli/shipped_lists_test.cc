#include "cli/shipped_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_llama.h"

namespace shortlist {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const Args kShort = {"--prompt", "The `vector` class", "--max-new-tokens", "8", "--threads", "1"};

std::string LastLine(const std::string& text) {
  const std::vector<std::string> lines = Lines(text);
  return lines.empty() ? "" : lines.back();
}

TEST(ShippedListsTest, ListsOfAllKindsOfTextComeFirst) {
  const std::vector<std::string> lists = ShippedLists();
  ASSERT_GE(lists.size(), 9u);
  const auto place = [&](const std::string& name) {
    return std::ranges::find_if(lists,
                                [&](const std::string& list) {
                                  return std::filesystem::path(list).filename() == name;
                                }) -
           lists.begin();
  };
  EXPECT_LT(place("qwen.vocab.json.xz"), place("qwen.math.vocab.json.xz"));
  EXPECT_LT(place("demo.vocab.json"), std::ssize(lists));
}

TEST(PruningHintTest, GenerateEndsWithAListThatFitsAndDoesWhatItSays) {
  const ProcessOutcome full = RunBinary(Args{"generate"} + DemoPair() + kShort);
  ASSERT_EQ(full.exit_code, 0) << full.err;
  const std::string hint = LastLine(full.err);
  EXPECT_THAT(hint, HasSubstr("the draft scores the full head"));
  const size_t begin = hint.find("--vocab ");
  ASSERT_NE(begin, std::string::npos) << hint;
  EXPECT_THAT(hint, HasSubstr("demo.vocab.json:auto:successors=512 --dynamic-rows 128"));
  // The flags as they stand there.
  Args flags;
  std::istringstream words(hint.substr(begin));
  for (std::string word; words >> word;) flags.push_back(word);
  const ProcessOutcome pruned = RunBinary(Args{"generate"} + DemoPair() + kShort + flags);
  EXPECT_EQ(pruned.exit_code, 0) << pruned.err;
  EXPECT_EQ(pruned.out, full.out);
  EXPECT_THAT(pruned.err, Not(HasSubstr("full head")));
}

TEST(PruningHintTest, IsSilentWithoutADraftAndWhereTheVocabularyIsChosen) {
  for (const Args& args :
       {DemoTarget(), DemoPair() + Args{"--vocab", "full"},
        DemoPair() + Args{"--vocab", "ratio:0.5"}, DemoPair() + Args{"--use-static-vocab"},
        DemoPair() + Args{"--vocab", SourcePath("vocab_lists/demo.vocab.json") + ":top=512"}}) {
    const ProcessOutcome outcome = RunBinary(Args{"generate"} + args + kShort);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, Not(HasSubstr("the draft scores the full head")));
  }
}

TEST(PruningHintTest, NamesASketchWhereNoShippedListFits) {
  const TempDir dir;
  nlohmann::json vocab = {{"[UNK]", 95}};
  for (int id = 0; id < 95; ++id) vocab["t" + std::to_string(id)] = id;
  const std::string tokenizer =
      nlohmann::json{{"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                     {"model", {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", "[UNK]"}}}}
          .dump();
  ASSERT_TRUE(WriteTinyLlama(dir.Join("m"), {.vocab_size = 96}, /*seed=*/1).ok());
  ASSERT_TRUE(WriteTinyLlama(dir.Join("d"), {.vocab_size = 96, .num_layers = 1}, /*seed=*/2).ok());
  for (const char* name : {"m", "d"}) dir.Write(std::string(name) + "/tokenizer.json", tokenizer);
  const ProcessOutcome outcome =
      RunBinary({"generate", "--model", dir.Join("m"), "--draft", dir.Join("d"), "--prompt",
                 "t5 t6", "--max-new-tokens", "4"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string hint = LastLine(outcome.err);
  EXPECT_THAT(hint, HasSubstr("no shipped list fits this tokenizer"));
  EXPECT_THAT(hint,
              HasSubstr("vocab sketch --model " + dir.Join("m") + " --draft " + dir.Join("d")));
  EXPECT_THAT(hint, EndsWith("--vocab empty --sketch FILE --dynamic-rows 128"));
}

TEST(SpeedNoteTest, GenerateTellsSpeedAndAcceptLengthOnStandardError) {
  const ProcessOutcome drafted =
      RunBinary(Args{"generate"} + DemoPair() + kShort + Args{"--vocab", "full"});
  EXPECT_THAT(LastLine(drafted.err),
              testing::MatchesRegex("generate: 1 prompt, [0-9.]+ tokens/s, accept length [1-9]"
                                    "\\.[0-9][0-9]"));
  const ProcessOutcome plain = RunBinary(
      Args{"generate"} + DemoTarget() +
      Args{"--prompts", SourcePath("examples/prompts.jsonl"), "--max-new-tokens", "4", "--json"});
  EXPECT_THAT(LastLine(plain.err),
              testing::MatchesRegex("generate: 7 prompts, [0-9.]+ tokens/s, accept length 1\\.00"));
  const ProcessOutcome one =
      RunBinary(Args{"generate"} + DemoTarget() + Args{"--prompt", "The", "--max-new-tokens", "1"});
  EXPECT_EQ(LastLine(one.err), "generate: 1 prompt, no decode step");
}

}  // namespace
}  // namespace shortlist
