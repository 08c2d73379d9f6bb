#include "cli/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using ::testing::HasSubstr;

class ReplayTest : public testing::Test {
 protected:
  /// Args for a trace of these rows, on the demo target with few slots.
  Args Trace(const std::string& rows) {
    std::ofstream(dir_.Join("trace.jsonl")) << rows;
    return Args{"replay"} + DemoTarget() + Args{"--trace", dir_.Join("trace.jsonl"), "--json"};
  }
  /// Four groups of four prompts with a common beginning, all at once.
  static std::string SharedPrefixes() {
    std::string rows;
    for (int i = 0; i < 16; ++i) {
      const nlohmann::json row = {
          {"prompt", std::string("Group ") + std::to_string(i % 4) +
                         " tells a story about a small dog that went out to play in the park "
                         "and met a friend with number " +
                         std::to_string(i)},
          {"arrival_s", 0.0},
          {"max_new_tokens", 6}};
      rows += row.dump() + "\n";
    }
    return rows;
  }
  nlohmann::json Run(const Args& args) {
    const ProcessOutcome outcome = RunBinary(args);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? nlohmann::json::parse(outcome.out) : nlohmann::json();
  }

  TempDir dir_;
};

TEST_F(ReplayTest, ServesAndReportsTrace) {
  const nlohmann::json report = Run(Trace(SharedPrefixes()));
  EXPECT_EQ(report["requests"], 16);
  EXPECT_EQ(report["failed"], 0);
  EXPECT_LE(report["output_tokens"], 16 * 6);
  EXPECT_GT(report["output_tokens"], 0);
  EXPECT_GT(report["hit_rate"], 0.4);
  EXPECT_GT(report["time_to_first_token"]["p99_ms"], 0.0);
  EXPECT_GE(report["time_to_first_token"]["p99_ms"], report["time_to_first_token"]["p50_ms"]);
}

TEST_F(ReplayTest, SimulationSharesPrefixesLikeEngine) {
  const Args args = Trace(SharedPrefixes());
  const nlohmann::json real = Run(args);
  const nlohmann::json simulated = Run(args + Args{"--simulate"});
  EXPECT_EQ(simulated["prompt_tokens"], real["prompt_tokens"]);
  EXPECT_EQ(simulated["cached_tokens"], real["cached_tokens"]);
  EXPECT_EQ(simulated["output_tokens"], 16 * 6);
  const nlohmann::json uncached = Run(args + Args{"--simulate", "--disable-radix-cache"});
  EXPECT_EQ(uncached["cached_tokens"], 0);
  EXPECT_GT(uncached["duration_s"], simulated["duration_s"]);
}

TEST_F(ReplayTest, GeneratedLoadsSharePrefixes) {
  const Args args = Args{"replay"} + DemoTarget() +
                    Args{"--max-new-tokens",
                         "3",
                         "--max-total-tokens",
                         "2000",
                         "--json",
                         "--generate",
                         "requests=24,rate=200,groups=2,shared=40,own=10"};
  const nlohmann::json real = Run(args);
  EXPECT_EQ(real["requests"], 24);
  EXPECT_EQ(real["failed"], 0);
  EXPECT_EQ(real["prompt_tokens"], 24 * 50);
  EXPECT_EQ(real["cached_tokens"], 22 * 40);
  const nlohmann::json simulated = Run(args + Args{"--simulate"});
  EXPECT_EQ(simulated["cached_tokens"], 22 * 40);
  EXPECT_GT(simulated["duration_s"], 0.03);  // they come one after the other
}

TEST_F(ReplayTest, GenerateIsCheckedAndExcludesTrace) {
  const Args args = Args{"replay"} + DemoTarget();
  const ProcessOutcome outcome = RunBinary(args + Args{"--generate", "rate=-1"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--generate: rate -1 not in [0, 1e+09]"));
  EXPECT_EQ(RunBinary(args).exit_code, 2);
  EXPECT_EQ(RunBinary(Trace("{\"prompt\": \"a\"}\n") + Args{"--generate", "own=1"}).exit_code, 2);
}

TEST_F(ReplayTest, DraftsIfDraftIsGiven) {
  std::ofstream(dir_.Join("trace.jsonl")) << SharedPrefixes();
  const nlohmann::json report =
      Run(Args{"replay"} + DemoPair() +
          Args{"--draft-p-min", "0", "--trace", dir_.Join("trace.jsonl"), "--json"});
  EXPECT_EQ(report["failed"], 0);
  EXPECT_GT(report["accept_length"], 1.0);
}

TEST_F(ReplayTest, UnservableRequestsAreCountedAndOthersServed) {
  const nlohmann::json report = Run(Trace(R"({"prompt": "Once", "max_new_tokens": 100000}
{"prompt": "Once", "max_new_tokens": 2, "priority": -1, "cache_salt": "x"})"));
  EXPECT_EQ(report["requests"], 2);
  EXPECT_EQ(report["failed"], 1);
}

TEST_F(ReplayTest, MalformedTracesAreRejectedWithLine) {
  for (const auto& [row, message] : {
           std::pair(R"({"prompt": "a", "arrival_s": -1})", "\"arrival_s\" -1 not in [0, 1e+09]"),
           std::pair(R"({"prompt": "a", "arrival_s": "x"})", "\"arrival_s\" \"x\" not in"),
           std::pair(R"({"prompt": "a", "arrival_s": 1e300})", "\"arrival_s\" 1e+300 not in"),
           std::pair(R"({"prompt": "a", "arrival_s": null})", "\"arrival_s\" null not in"),
           std::pair(R"({"prompt": "a", "arrival_s": NaN})", "line 2"),
           std::pair(R"({"prompt": "a", "arrival_s": 1e999})", "line 2"),
           std::pair(R"({"prompt": "a", "max_new_tokens": -5})", "\"max_new_tokens\" -5 not in"),
           std::pair(R"({"prompt": "a", "priority": 1e10})", "\"priority\""),
           std::pair(R"({"prompt": "a", "arrival)", "line 2"),
           std::pair(R"({"prompt": "a", "max_new_tokens": 0})",
                     "\"max_new_tokens\" 0 not in [1, 2147483647]"),
           std::pair(R"({"prompt": "a", "max_new_tokens": 99999999999999999999})",
                     "\"max_new_tokens\""),
           std::pair(R"({"prompt": "a", "max_new_tokens": 18446744073709551615})",
                     "\"max_new_tokens\""),
           std::pair(R"({"prompt": "a", "output_len": 1.5})", "\"output_len\" 1.5 not in"),
           std::pair(R"({"prompt": "a", "cache_salt": 3})", "\"cache_salt\" 3 not a string"),
           std::pair(R"({"arrival_s": 0})", "needs one of"),
           std::pair("[]", "no JSON object"),
           std::pair("{", "line 2"),
       }) {
    const ProcessOutcome outcome =
        RunBinary(Trace(std::string("{\"prompt\": \"a\"}\n") + row) + Args{"--simulate"});
    EXPECT_EQ(outcome.exit_code, 2) << row;
    EXPECT_THAT(outcome.err, HasSubstr("line 2"));
    EXPECT_THAT(outcome.err, HasSubstr(message));
  }
}

TEST_F(ReplayTest, FlagsAreChecked) {
  const Args args = Trace("{\"prompt\": \"a\"}\n");
  for (const auto& [flag, value] :
       {std::pair("--schedule-policy", "lifo"), std::pair("--max-total-tokens", "0"),
        std::pair("--max-running-requests", "-1"), std::pair("--context-length", "nan"),
        std::pair("--max-total-tokens", "-7"),
        std::pair("--max-total-tokens", "99999999999999999999"),
        std::pair("--chunked-prefill-size", "-1"), std::pair("--max-prefill-tokens", "0"),
        std::pair("--max-queued-requests", "1e300")}) {
    const ProcessOutcome outcome = RunBinary(args + Args{flag, value});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(flag));
  }
  EXPECT_EQ(RunBinary(args + Args{"--context-length", "1000000"}).exit_code, 2);
  for (const Args& simulate : {Args{}, Args{"--simulate"}}) {  // more slots than there is memory
    const ProcessOutcome outcome =
        RunBinary(args + Args{"--max-total-tokens", "2147483647"} + simulate);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("2147483647"));
  }
  EXPECT_EQ(Run(args + Args{"--chunked-prefill-size", "0", "--max-new-tokens", "2"})["failed"], 0);
}

}  // namespace
}  // namespace shortlist
