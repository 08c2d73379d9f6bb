#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Enough tokens for a sketch to be fitted on the way.
const Args kPrompts = {"--prompts", SourcePath("examples/prompts.jsonl"), "--max-new-tokens",
                       "400"};

std::string LastLine(const std::string& text) {
  const std::vector<std::string> lines = Lines(text);
  return lines.empty() ? "" : lines.back();
}

/// Without --vocab, with `cache` as the user's.
ProcessOutcome Learn(const std::string& cache) {
  return RunBinary(Args{"generate"} + DemoPair() + kPrompts,
                   absl::StrCat("export XDG_CACHE_HOME='", cache, "'"));
}

/// The names of the sketches in `folder`, which may not be there. Moments of states lie there too.
std::vector<std::string> SketchesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".moments.safetensors")) names.push_back(name);
  }
  return names;
}

TEST(LearnedSketchTest, IsCachedAndKeepsOutput) {
  const TempDir dir;
  const ProcessOutcome full =
      RunBinary(Args{"generate"} + DemoPair() + kPrompts + Args{"--vocab", "full"});
  ASSERT_EQ(full.exit_code, 0) << full.err;
  const std::string folder = dir.Join("cache/shortlist/sketches");
  // A sketch still being fitted at the end of a run is dropped.
  for (int i = 0; i < 20 && SketchesIn(folder).empty(); ++i) {
    const ProcessOutcome learning = Learn(dir.Join("cache"));
    ASSERT_EQ(learning.exit_code, 0) << learning.err;
    EXPECT_TRUE(learning.out == full.out);
  }
  const std::vector<std::string> kept = SketchesIn(folder);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_THAT(kept[0], StartsWith("draft-16384-"));

  const ProcessOutcome again = Learn(dir.Join("cache"));
  EXPECT_TRUE(again.out == full.out);
  // One of another head, or none at all, is passed over and replaced.
  dir.Write(absl::StrCat("cache/shortlist/sketches/", kept[0]), "no sketch");
  const ProcessOutcome spoilt = Learn(dir.Join("cache"));
  EXPECT_EQ(spoilt.exit_code, 0) << spoilt.err;
  EXPECT_TRUE(spoilt.out == full.out);
  EXPECT_THAT(again.err, Not(HasSubstr("warning")));
  const std::string path = absl::StrCat(folder, "/", kept[0]);
  EXPECT_THAT(Lines(spoilt.err), Contains(AllOf(StartsWith(absl::StrCat("warning: ", path, ": ")),
                                                EndsWith("; the draft's head is learned anew"))));
}

TEST(LearnedSketchTest, UnwritableCacheIsIgnored) {
  const TempDir dir;
  dir.Write("file", "");
  for (int i = 0; i < 20; ++i) {
    const ProcessOutcome outcome = Learn(dir.Join("file"));  // a file where a folder should be
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    if (outcome.err.find("note") == std::string::npos) continue;  // none was fitted in time
    EXPECT_THAT(outcome.err, HasSubstr("was not fitted or not kept"));
    EXPECT_THAT(outcome.err, HasSubstr(dir.Join("file")));
    return;
  }
  FAIL() << "no sketch was fitted";
}

TEST(SpeedNoteTest, GeneratePrintsSpeedAndAcceptLengthToStderr) {
  const Args few = {"--prompt", "The `vector` class", "--max-new-tokens", "8", "--threads", "1"};
  const ProcessOutcome drafted =
      RunBinary(Args{"generate"} + DemoPair() + few + Args{"--vocab", "full"});
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
