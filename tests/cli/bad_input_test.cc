// Every bad input gives an error of the input (never Internal) that names what is wrong, and no
// output.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "cli/exit_code.h"
#include "device/open_cuda.h"
#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_llama.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const Args kPrompt = {"--prompt", "The", "--max-new-tokens", "4"};

void ExpectRefused(const Args& args, const std::vector<std::string>& words) {
  for (const bool compare : {false, true}) {
    SCOPED_TRACE(compare ? "compare" : "generate");
    const Outcome outcome = compare ? RunCompare(args) : RunGenerate(args);
    EXPECT_FALSE(outcome.status.ok());
    EXPECT_FALSE(absl::IsInternal(outcome.status) || absl::IsUnknown(outcome.status))
        << outcome.status;
    EXPECT_EQ(outcome.out, "");
    for (const std::string& word : words) {
      EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(word));
    }
  }
}

/// A copy of a shipped model that a test may damage.
std::string CopyOf(const std::string& model, const TempDir& dir, const std::string& name) {
  fs::copy(SourcePath(model), dir.Join(name), fs::copy_options::recursive);
  return dir.Join(name);
}

std::string Read(const std::string& path) {
  absl::StatusOr<std::string> contents = ReadFile(path, int64_t{1} << 30);
  EXPECT_TRUE(contents.ok()) << contents.status();
  return contents.ok() ? *contents : "";
}

void Write(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

void SetConfig(const std::string& dir, const std::string& key, const nlohmann::json& value) {
  nlohmann::json config = nlohmann::json::parse(Read(dir + "/config.json"));
  config[key] = value;
  Write(dir + "/config.json", config.dump());
}

class BadInputTest : public ::testing::Test {
 protected:
  /// Runs the demo pair with the target replaced.
  void ExpectTargetRefused(const std::string& target, const std::vector<std::string>& words) {
    ExpectRefused(Args{"--model", target, "--draft", SourcePath("models/demo/draft")} + kPrompt,
                  words);
  }
  void ExpectDraftRefused(const std::string& draft, const std::vector<std::string>& words) {
    ExpectRefused(DemoTarget() + Args{"--draft", draft} + kPrompt, words);
  }
  void ExpectListRefused(const nlohmann::json& list, const std::vector<std::string>& words) {
    const std::string path = dir_.Write("list.vocab.json", list.dump());
    ExpectRefused(DemoPair() + Args{"--vocab", path} + kPrompt, words);
  }

  const TempDir dir_;
};

TEST_F(BadInputTest, MissingModel) {
  ExpectTargetRefused(dir_.Join("nowhere"), {dir_.Join("nowhere")});
  ExpectDraftRefused(dir_.Join("nowhere"), {dir_.Join("nowhere")});
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.model"}) {
    SCOPED_TRACE(file);
    const std::string target = CopyOf("models/demo/target", dir_, std::string("no_") + file);
    fs::remove(target + "/" + file);
    ExpectTargetRefused(target, {target});
  }
}

TEST_F(BadInputTest, UnusableDevice) {
  const absl::StatusOr<std::shared_ptr<const HeadDevice>> device = OpenCuda();
  if (device.ok()) GTEST_SKIP() << "there is a CUDA device";
  const std::string reason(device.status().message());
  ExpectRefused(DemoPair() + kPrompt + Args{"--device", "cuda"}, {"--device cuda", reason});
  const std::pair<const char*, Args> cases[] = {
      {"generate", DemoTarget() + kPrompt},
      {"replay", DemoPair() + Args{"--generate", "requests=1"}},
      {"serve", {"--port", "0"}}};
  for (const auto& [subcommand, args] : cases) {
    const ProcessOutcome outcome = RunBinary(Args{subcommand} + args + Args{"--device", "cuda"});
    EXPECT_EQ(outcome.exit_code, 2) << subcommand;
    EXPECT_EQ(outcome.err, "shortlist: --device cuda: " + reason + "\n");
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(BadInputTest, DamagedWeights) {
  const std::string target = CopyOf("models/demo/target", dir_, "target");
  const std::string file = target + "/model.safetensors";
  const std::string good = Read(file);

  Write(file, good.substr(0, good.size() / 2));
  ExpectTargetRefused(target, {file});
  Write(file, good.substr(0, 5));
  ExpectTargetRefused(target, {file});
  Write(file, "");
  ExpectTargetRefused(target, {file});

  std::string lying = good;  // a header of 2^56 bytes
  lying[7] = 1;
  Write(file, lying);
  ExpectTargetRefused(target, {file});

  std::string nan = good;  // the last weight: bf16 NaN
  nan[nan.size() - 1] = '\x7F';
  nan[nan.size() - 2] = '\xC0';
  Write(file, nan);
  ExpectTargetRefused(target, {"NaN"});

  Write(file, good);
  Write(target + "/tokenizer.model", Read(target + "/tokenizer.model").substr(0, 1000));
  ExpectTargetRefused(target, {"tokenizer.model"});
}

TEST_F(BadInputTest, MismatchedConfig) {
  struct Case {
    const char* key;
    nlohmann::json value;
    std::vector<std::string> words;
  };
  int number = 0;
  for (const Case& c : {
           Case{"vocab_size", 20000, {"16384", "20000"}},
           Case{"vocab_size", 16000, {"16384", "16000"}},
           Case{"hidden_size", -1, {"hidden_size", "-1"}},
           Case{"num_hidden_layers", 1e30, {"num_hidden_layers"}},
           Case{"architectures", {"MambaForCausalLM"}, {"MambaForCausalLM"}},
           Case{"hidden_act", "relu", {"hidden_act", "relu"}},
           Case{"max_position_embeddings", 0, {"max_position_embeddings", "0"}},
       }) {
    SCOPED_TRACE(c.key);
    const std::string target =
        CopyOf("models/demo/target", dir_, "target" + std::to_string(number++));
    SetConfig(target, c.key, c.value);
    ExpectTargetRefused(target, c.words);
  }
  const std::string target = CopyOf("models/demo/target", dir_, "deep");
  Write(target + "/config.json", std::string(100'000, '['));
  ExpectTargetRefused(target, {"config.json", "64"});
}

TEST_F(BadInputTest, MismatchedDraft) {
  const std::string eagle = dir_.Join("eagle");
  ASSERT_TRUE(WriteTinyEagle(eagle, {.vocab_size = 16384, .num_layers = 1}, /*seed=*/1).ok());
  ExpectDraftRefused(eagle, {"256", "32"});

  const std::string other = CopyOf("models/demo/target", dir_, "other");
  std::string tokenizer = Read(other + "/tokenizer.model");
  const std::string piece = "\xE2\x96\x81vector";
  const size_t at = tokenizer.find(piece);
  ASSERT_NE(at, std::string::npos);
  tokenizer[at + piece.size() - 1] = '!';
  Write(other + "/tokenizer.model", tokenizer);
  ExpectDraftRefused(other, {"tokenizer", "fnv1a64:"});

  const std::string eagle_other = CopyOf("models/demo/draft", dir_, "eagle_other");
  Write(eagle_other + "/tokenizer.model", tokenizer);
  ExpectDraftRefused(eagle_other, {"tokenizer", "fnv1a64:"});
  for (const char* file : {"tokenizer.model", "tokenizer_config.json"}) {
    fs::remove(eagle_other + "/" + file);
  }
  Write(eagle_other + "/qwen.tiktoken", "YQ== 0\nYg== 1\n");
  ExpectDraftRefused(eagle_other, {eagle_other + "/qwen.tiktoken"});
  Write(eagle_other + "/tokenizer.json",
        R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})");
  ExpectDraftRefused(eagle_other, {"tokenizer", "fnv1a64:"});
  Write(eagle_other + "/tokenizer.json", "{}");
  ExpectDraftRefused(eagle_other, {eagle_other + "/tokenizer.json"});

  ExpectTargetRefused(SourcePath("models/demo/draft"), {"models/demo/draft"});
}

TEST_F(BadInputTest, List) {
  const nlohmann::json good =
      nlohmann::json::parse(Read(SourcePath("vocab_lists/demo.vocab.json")));
  nlohmann::json list = good;
  list["ids"][3] = 16384;
  ExpectListRefused(list, {"ids[3]", "16384"});
  list["ids"][3] = -1;
  ExpectListRefused(list, {"ids[3]", "-1"});
  list["ids"][3] = list["ids"][0];
  ExpectListRefused(list, {"ids[3]", "ids[0]"});
  list = good;
  list["counts"][5] = good["counts"][4].get<int64_t>() + 1;
  ExpectListRefused(list, {"counts[5]"});
  list = good;
  list["fingerprint"] = "fnv1a64:0000000000000000";
  ExpectListRefused(list, {"fnv1a64:0000000000000000", good["fingerprint"].get<std::string>()});
  list = good;
  list["vocab_size"] = 32000;
  ExpectListRefused(list, {"32000", "16384"});

  const std::string deep = dir_.Write("deep.vocab.json", std::string(100'000, '['));
  ExpectRefused(DemoPair() + Args{"--vocab", deep} + kPrompt, {deep, "64"});
  const std::string text = dir_.Write("list.txt", "5\n7\n5\n");
  ExpectRefused(DemoPair() + Args{"--vocab", text} + kPrompt, {text, "line 3"});
  ExpectRefused(DemoPair() + Args{"--vocab", dir_.Join("none.json")} + kPrompt,
                {dir_.Join("none.json")});
  ExpectRefused(DemoPair() + Args{"--vocab", "ratio:0.00001"} + kPrompt, {"16384"});
}

TEST_F(BadInputTest, ListIdsBeyondDraftRows) {
  const std::string target = dir_.Join("target"), draft = dir_.Join("draft");
  ASSERT_TRUE(WriteTinyLlama(target, {.vocab_size = 16400, .num_layers = 1}, /*seed=*/1).ok());
  ASSERT_TRUE(WriteTinyLlama(draft, {.vocab_size = 16384, .num_layers = 1}, /*seed=*/2).ok());
  for (const std::string& model : {target, draft}) {
    fs::copy(SourcePath("models/demo/target/tokenizer.model"), model);
  }
  const std::string list = dir_.Write("list.txt", "7\n16384\n");
  const Args pair = Args{"--model", target, "--draft", draft} + kPrompt;
  ExpectRefused(pair + Args{"--vocab", list}, {list, "token id 16384", "16384"});
  ExpectRefused(pair + Args{"--vocab", "ratio:1"}, {"--vocab", "token id 16399", "16384"});
  EXPECT_TRUE(RunGenerate(pair + Args{"--vocab", "ratio:0.9"}).status.ok());
}

TEST_F(BadInputTest, DynamicRowsBeyondTheVocabulary) {
  ExpectRefused(DemoPair() + Args{"--dynamic-rows", "16385"} + kPrompt,
                {"--dynamic-rows", "16385", "16384"});
}

TEST_F(BadInputTest, DynamicCapacityAndAutoSize) {
  ExpectRefused(DemoPair() + Args{"--dynamic-capacity", "16385"} + kPrompt,
                {"--dynamic-capacity", "16385", "16384"});
  const std::string list = SourcePath("vocab_lists/demo.vocab.json");
  ExpectRefused(DemoPair() + Args{"--vocab", list + ":auto=20000..30000"} + kPrompt,
                {"--vocab", "20000", "15881"});
}

TEST_F(BadInputTest, Prompt) {
  ExpectRefused(DemoPair() + Args{"--prompt", ""}, {"--prompt", "empty"});
  ExpectRefused(DemoPair() + Args{"--prompt", "a\xFFz"}, {"--prompt", "UTF-8", "1"});
  std::string long_prompt;
  for (int i = 0; i < 2000; ++i) long_prompt += "a1";
  ExpectRefused(DemoPair() + Args{"--prompt", long_prompt}, {"--prompt", "tokens", "1024"});
  // BOS, a leading space and a token per digit: the context exactly full, without room for output.
  ExpectRefused(DemoPair() + Args{"--prompt", std::string(1022, '1')}, {"1024 tokens", "1023"});
}

TEST_F(BadInputTest, PromptsFileNamesRow) {
  const std::string good_row = "{\"prompt\": \"The\"}\n";
  std::string long_prompt;
  for (int i = 0; i < 2000; ++i) long_prompt += "a1";
  for (const auto& [row, word] : std::vector<std::pair<std::string, std::string>>{
           {"{\"prompt\": \"\"}", "empty"},
           {"{\"prompt\": \"" + long_prompt + "\"}", "1024"},
           {"{\"prompt\": \"\xC3\x28\"}", "UTF-8"},
           {"{\"prompt\": ", "JSON"}}) {
    const std::string path = dir_.Write("p.jsonl", good_row + good_row + row + "\n");
    ExpectRefused(DemoPair() + Args{"--prompts", path}, {path + " line 3", word});
  }
}

TEST(BinaryTest, BadInputExitsWithTwoAndEmptyStdout) {
  const Args base = Args{"generate"} + DemoPair();
  for (const Args& args :
       {Args{}, Args{"frobnicate"}, Args{"generate"}, base + kPrompt + Args{"--frobnicate", "1"},
        base + kPrompt + Args{"--temperature", "nan"},
        base + kPrompt + Args{"--max-new-tokens", "-1"}, base + Args{"--prompt", ""},
        base + kPrompt + Args{"--quantize", "int3"},
        Args{"generate", "--model", "/nowhere"} + kPrompt,
        Args{"compare"} + DemoTarget() + kPrompt}) {
    SCOPED_TRACE(testing::PrintToString(args));
    const ProcessOutcome outcome = RunBinary(args);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("shortlist: "));
  }
}

TEST(BinaryTest, UnknownNameGetsSuggestion) {
  const Args base = Args{"generate"} + DemoTarget() + kPrompt;
  for (const auto& [args, words] : std::vector<std::pair<Args, std::string>>{
           {{"sevre"}, "no subcommand sevre; did you mean serve?"},
           {{"frobnicate"}, "no subcommand frobnicate\nThere are generate, chat, serve"},
           {base + Args{"--max-tokens", "5"},
            "generate has no flag --max-tokens; did you mean "
            "--max-new-tokens?"},
           {base + Args{"--temprature=1"}, "no flag --temprature; did you mean --temperature?"},
           {{"generate", "--modle", "x"}, "no flag --modle; did you mean --model?"},
           {{"show", "a", "b"}, "show takes no argument b"},
           {{"serve", "--load-8bit"}, "--load-8bit: did you mean --quantize int8?"},
           {{"serve", "--awq-ckpt", "x"}, "GPTQ and AWQ are seen from the checkpoint"},
           {{"serve", "--chat-template", "x"}, "did you mean --conv-template NAME?"},
           {{"serve", "--revision", "x"}, "did you mean --model org/name@revision?"},
           {{"serve", "--log-level", "info"}, "--log-level: every request is logged"},
           {{"serve", "--no-register"}, "without --controller nothing is registered"},
           {{"serve", "--attn-backend", "x"}, "has no meaning for this server"},
           {{"serve", "--client-vocab", "a=full", "--client-vocab", "a=ratio:0.5"},
            "'a' has two vocabularies"},
           {{"serve", "--max-model-len", "-1"}, "--context-length: '-1' not in [0, "},
           {{"serve", "/nowhere"}, "/nowhere: no such directory"}}) {
    SCOPED_TRACE(testing::PrintToString(args));
    const ProcessOutcome outcome = RunBinary(args);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(words));
  }
}

TEST(BinaryTest, PrintsVersion) {
  const ProcessOutcome outcome = RunBinary({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "shortlist 0.1.0\n");
}

TEST(BinaryTest, UnwritableOutputIsError) {
  for (const Args& args :
       {Args{"--help"}, Args{"--version"}, Args{"generate", "--help"},
        Args{"vocab", "build", "--help"}, Args{"completion", "bash"}, Args{"man-page"}}) {
    for (const char* const setup : {"exec >/dev/full", "exec >&-"}) {
      const ProcessOutcome outcome = RunBinary(args, setup);
      EXPECT_EQ(outcome.exit_code, 1) << args.back() << " " << setup;
      EXPECT_EQ(outcome.err, "shortlist: cannot write to standard output\n") << args.back();
    }
  }
}

TEST(ExitCodeTest, OnlyInternalErrorsAreFailures) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "m");
    EXPECT_EQ(ExitCodeOf(status), absl::IsInternal(status) || absl::IsUnknown(status) ? 1 : 2)
        << status;
  }
}

/// Runs the cases of exit code 2 in the manual page.
TEST(BinaryTest, MissingHardwareExitsWithTwo) {
  const TempDir dir;
  const ProcessOutcome port =
      RunBinary(Args{"serve"} + DemoTarget() + Args{"--host", "192.0.2.1"});  // not this machine's
  EXPECT_EQ(port.exit_code, 2) << port.err;
  EXPECT_THAT(port.err, HasSubstr("cannot listen on 192.0.2.1:"));
  const ProcessOutcome file =
      RunBinary({"vocab", "convert", dir.Write("a.txt", "1\n2\n"), dir.Join("none/b.txt")});
  EXPECT_EQ(file.exit_code, 2) << file.err;
  const std::string page = RunBinary({"man-page"}).out;
  EXPECT_THAT(page, HasSubstr(std::string("\n1\n") + kExitFailedMeaning));
  EXPECT_THAT(page, HasSubstr(std::string("\n2\n") + kExitBadInputMeaning));
}

TEST(BinaryTest, GoodRunsExitWithZero) {
  const ProcessOutcome help = RunBinary({"generate", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("--dynamic-rows"));
  const ProcessOutcome generate = RunBinary(Args{"generate"} + DemoPair() + kPrompt);
  EXPECT_EQ(generate.exit_code, 0) << generate.err;
  EXPECT_FALSE(generate.out.empty());
  const ProcessOutcome quantized =
      RunBinary(Args{"generate"} + DemoPair() + kPrompt + Args{"--quantize", "int8"});
  EXPECT_EQ(quantized.exit_code, 0) << quantized.err;
  EXPECT_FALSE(quantized.out.empty());
  const ProcessOutcome compare = RunBinary(Args{"compare"} + DemoPair() + kPrompt);
  EXPECT_EQ(compare.exit_code, 0) << compare.err;
  EXPECT_THAT(compare.out, HasSubstr("yes"));
}

/// Where the system sets a bound, the command says which; no signal ends it without a word.
TEST(LimitsTest, OversizedFileIsError) {
  const TempDir dir;
  std::string texts;
  for (int i = 0; i < 20'000; ++i) texts += "text " + std::to_string(i) + "\n";
  const std::string in = dir.Write("texts.txt", texts);
  const std::string target = SourcePath("models/demo/target/tokenizer.model");
  const Args commands[] = {
      {"vocab", "build", "--tokenizer", target, "--text", in, "--counts", dir.Join("counts"),
       "--out", dir.Join("list.json")},
      {"vocab", "build", "--tokenizer", target, "--text", in, "--out", dir.Join("list.json")}};
  for (const Args& command : commands) {
    const ProcessOutcome outcome = RunBinary(command, "ulimit -f 2");
    EXPECT_GT(outcome.exit_code, 0) << outcome.exit_code;
    EXPECT_THAT(outcome.err, HasSubstr("File too large"));
  }
}

}  // namespace
}  // namespace shortlist
