#include "cli/embed/embed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/embed/npy.h"
#include "cli/embed/vector_file.h"
#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/runtime/tiny_encoder.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Contents(const std::string& path) { return ReadFile(path, 1 << 20).value(); }

class EmbedTest : public ::testing::Test {
 protected:
  EmbedTest() {
    tiny_.AddModules(/*normalize=*/true);
    tiny_.AddFile("config_sentence_transformers.json",
                  {{"prompts", {{"query", "the query: "}, {"document", ""}}}});
    flags_.encoding.model.model = tiny_.Write();
  }

  Outcome Run(const std::string& input) {
    std::istringstream in(input);
    std::ostringstream out;
    const absl::Status status = Embed(flags_, in, out);
    return {status, out.str()};
  }

  /// Rows of JSON.
  std::vector<std::vector<float>> Vectors(const std::string& input) {
    const Outcome outcome = Run(input);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    std::vector<std::vector<float>> vectors;
    for (const std::string& line : Lines(outcome.out)) {
      const nlohmann::json row = nlohmann::json::parse(line);
      EXPECT_EQ(row["index"], vectors.size());
      vectors.push_back(row["embedding"].get<std::vector<float>>());
    }
    return vectors;
  }

  void ExpectRefused(const std::string& input, const std::string& words) {
    const Outcome outcome = Run(input);
    EXPECT_FALSE(outcome.status.ok() || absl::IsInternal(outcome.status)) << outcome.status;
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(words));
  }

  Args Model() const { return {"--model", flags_.encoding.model.model}; }

  static constexpr char kTexts[] = "return the string\none token\nyou have not\nthe text of it\n";

  TinyEncoder tiny_;
  EmbedFlags flags_;
  const TempDir dir_;
};

TEST_F(EmbedTest, OneVectorPerTextInOrder) {
  const auto vectors = Vectors(kTexts);
  ASSERT_THAT(vectors, SizeIs(4));
  EXPECT_EQ(Vectors("you have not"), std::vector<std::vector<float>>({vectors[2]}));
  flags_.texts = {"one token", "return the string"};
  EXPECT_EQ(Vectors(""), std::vector<std::vector<float>>({vectors[1], vectors[0]}));
}

TEST_F(EmbedTest, BatchAndThreadsKeepBits) {
  const Outcome want = Run(kTexts);
  for (const int64_t batch_tokens : {1, 7, 100}) {
    flags_.encoding.batch_tokens = batch_tokens;
    flags_.encoding.num_threads = batch_tokens % 3 + 1;
    EXPECT_EQ(Run(kTexts).out, want.out);
  }
}

TEST_F(EmbedTest, FileHoldsSameVectors) {
  const auto vectors = Vectors(kTexts);
  flags_.out_path = dir_.Join("v.npy");
  EXPECT_EQ(Run(kTexts).out, "");
  const auto rows = ReadNpy(flags_.out_path, 4, 36);
  ASSERT_TRUE(rows.ok()) << rows.status();
  for (size_t i = 0; i < rows->size(); ++i) EXPECT_EQ((*rows)[i], vectors[i / 36][i % 36]);
  flags_.out_path.clear();
  const std::string json = Run(kTexts).out;
  flags_.out_path = dir_.Join("v.jsonl");
  ASSERT_TRUE(Run(kTexts).status.ok());
  EXPECT_EQ(Contents(flags_.out_path), json);
}

TEST_F(EmbedTest, InterruptedRunIsResumed) {
  for (const char* const name : {"v.npy", "v.jsonl"}) {
    flags_.out_path = dir_.Join(name);
    ASSERT_TRUE(Run(kTexts).status.ok());
    const std::string whole = Contents(flags_.out_path);
    const std::string part = std::string(name) + ".part";
    fs::rename(SettingsPath(flags_.out_path), SettingsPath(dir_.Join(part)));
    const std::string settings = Contents(SettingsPath(dir_.Join(part)));
    for (const size_t size : {whole.size() / 2, whole.size() - 1, whole.size()}) {
      dir_.Write(part, whole.substr(0, size));
      dir_.Write(SettingsPath(part), settings);
      fs::remove(flags_.out_path);
      const Outcome outcome = Run(kTexts);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status;
      EXPECT_EQ(Contents(flags_.out_path), whole);
    }
  }
}

TEST_F(EmbedTest, MismatchedInterruptedRunIsRejected) {
  flags_.out_path = dir_.Join("v.npy");
  ASSERT_TRUE(Run(kTexts).status.ok());
  const std::string part = flags_.out_path + ".part";
  fs::rename(flags_.out_path, part);
  fs::rename(SettingsPath(flags_.out_path), SettingsPath(part));
  fs::resize_file(part, fs::file_size(part) - 200);
  const std::string before = Contents(part);

  ExpectRefused(std::string(kTexts) + "more\n", "\"num_texts\" 4, this run has 5");
  ExpectRefused("return the string\none token\nyou have it\nthe text of it\n", "\"texts\"");
  flags_.dimensions = 5;
  ExpectRefused(kTexts, "\"dimensions\" 36, this run has 5; remove " + part);
  flags_.dimensions = 0;
  flags_.instruction = "to: ";
  ExpectRefused(kTexts, "\"instruction\" \"\", this run has \"to: \"");
  flags_.instruction.reset();
  flags_.encoding.model.dtype = DType::kBf16;
  ExpectRefused(kTexts, "\"dtype\" \"f32\", this run has \"bf16\"");
  flags_.encoding.model.dtype.reset();
  flags_.encoding.model.quantize = DType::kInt8;
  ExpectRefused(kTexts, "\"weights\"");
  flags_.encoding.model.quantize.reset();

  // Another model under the same name.
  std::vector<float> bias(36, 0.25f);
  tiny_.SetTensor("encoder.layer.1.output.LayerNorm.bias", bias);
  tiny_.Write();
  ExpectRefused(kTexts, "made with another \"model.safetensors\" in the model's directory");
  EXPECT_EQ(Contents(part), before);
}

TEST_F(EmbedTest, VectorsOfOtherModelWithSameNameAreRejected) {
  for (const char* const name : {"v.npy", "part.npy"}) {
    flags_.out_path = dir_.Join(name);
    ASSERT_TRUE(Run(kTexts).status.ok());
  }
  const std::string part = flags_.out_path + ".part";
  fs::rename(flags_.out_path, part);
  fs::rename(SettingsPath(flags_.out_path), SettingsPath(part));
  const auto expect_refused = [&](const std::string& words) {
    for (const char* const name : {"v.npy", "part.npy"}) {
      flags_.out_path = dir_.Join(name);
      ExpectRefused(kTexts, words);
    }
    flags_.out_path = dir_.Join("v.npy");
  };
  const std::string dir = flags_.encoding.model.model;
  const auto with = [&](const std::string& file, const nlohmann::json& contents) {
    const fs::path path = fs::path(dir) / file;
    const bool was_there = fs::exists(path);
    const std::string before = was_there ? Contents(path) : "";
    tiny_.AddFile(file, contents);
    tiny_.Write();
    expect_refused("was made with another \"" + file + "\" in the model's directory");
    if (was_there) {
      tiny_.AddFile(file, nlohmann::json::parse(before));
    } else {
      fs::remove(path);
    }
    EXPECT_TRUE(Run(kTexts).status.ok());
  };
  with("1_Pooling/config.json",
       {{"word_embedding_dimension", 36}, {"pooling_mode_cls_token", true}});
  with("tokenizer_config.json", {{"truncation_side", "left"}});
  with("config_sentence_transformers.json",
       {{"prompts", {{"query", "a query: "}, {"document", ""}}}});
  flags_.encoding.truncates = false;
  expect_refused("\"truncates\" true, this run has false");
  flags_.encoding.truncates = true;

  // A shorter maximum: the changed file, and the changed length.
  tiny_.AddFile("sentence_bert_config.json", {{"max_seq_length", 7}, {"do_lower_case", false}});
  tiny_.Write();
  expect_refused("\"max_input_tokens\"");
  fs::remove(fs::path(dir) / "sentence_bert_config.json");
  EXPECT_TRUE(Run(kTexts).status.ok());

  // A single bit of the weights that the first text does not see.
  const std::string weights = dir + "/model.safetensors";
  std::string bytes = Contents(weights);
  bytes.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomically(weights, bytes).ok());
  expect_refused("was made with another \"model.safetensors\"");
  bytes.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomically(weights, bytes).ok());
  EXPECT_TRUE(Run(kTexts).status.ok());
}

TEST_F(EmbedTest, VectorsOfOlderVersionAreRejectedWithHint) {
  flags_.out_path = dir_.Join("v.npy");
  ASSERT_TRUE(Run(kTexts).status.ok());
  auto settings = nlohmann::ordered_json::parse(Contents(SettingsPath(flags_.out_path)));
  settings.erase(kFilesSetting);
  dir_.Write("v.npy.json", settings.dump());
  ExpectRefused(kTexts, "does not say with which \"files\" " + flags_.out_path +
                            " was made, as an older version may have left it; remove " +
                            flags_.out_path + " to begin anew");
}

TEST_F(EmbedTest, PromptNameOrInstructionPrecedesText) {
  const auto want = Vectors("the query: one token");
  flags_.prompt_name = "query";
  EXPECT_EQ(Vectors("one token"), want);
  flags_.prompt_name = "poem";
  ExpectRefused("one token", "--prompt-name: \"poem\" is none of the model's: ");
  flags_.prompt_name.clear();
  flags_.instruction = "the query: ";
  EXPECT_EQ(Vectors("one token"), want);
  flags_.instruction = "a\xFF";
  ExpectRefused("one token", "--instruction: not valid UTF-8");
}

TEST_F(EmbedTest, DimensionsAreBounded) {
  flags_.dimensions = 3;
  EXPECT_THAT(Vectors("one token")[0], SizeIs(3));
  flags_.dimensions = 37;
  ExpectRefused("one token", "--dimensions: 37 not in [1, 36]");
}

TEST_F(EmbedTest, LongTextsAreTruncatedOrRejected) {
  std::string text;
  for (int i = 0; i < 28; ++i) text += "one ";
  const auto want = Vectors(text);
  EXPECT_EQ(Vectors(text + "more"), want);
  flags_.encoding.truncates = false;
  ExpectRefused("one\n" + text + "more\n", "standard input line 2: more than 30 tokens");
  // Earlier vectors are written, but a run that truncates needs another file.
  flags_.out_path = dir_.Join("v.npy");
  ExpectRefused("one\n" + text + "more\n", "line 2");
  EXPECT_TRUE(fs::exists(flags_.out_path + ".part"));
  flags_.encoding.truncates = true;
  ExpectRefused("one\n" + text + "more\n", "\"truncates\" false, this run has true");
}

TEST_F(EmbedTest, RejectsBadTextAndModel) {
  ExpectRefused("", "holds no text");
  ExpectRefused("a\n\nb", "standard input line 2: the text is empty");
  ExpectRefused("a\nb\xFF", "standard input line 2: not valid UTF-8 at byte 1");
  flags_.texts = {"a", ""};
  ExpectRefused("", "--text: the text is empty");
  flags_.texts = {"a", "b\xFF"};
  ExpectRefused("", "--text line 2: text is not valid UTF-8 at byte 1");
  flags_.texts.clear();
  flags_.out_path = dir_.Join("v.csv");
  ExpectRefused("a", "ends in neither .npy nor .jsonl");
  flags_.out_path = dir_.Join("none/v.npy");
  ExpectRefused("a", "No such file");
  flags_.out_path.clear();
  TinyEncoder classifier("bert_classification");
  flags_.encoding.model.model = classifier.Write();
  ExpectRefused("a", "a classifier");
  flags_.encoding.model.model = dir_.Join("none");
  EXPECT_TRUE(absl::IsNotFound(Run("a").status));
}

TEST_F(EmbedTest, ExistingFileIsNeverOverwritten) {
  const std::string text = dir_.Write("texts.jsonl", "\"a\"\n");
  flags_.in.path = flags_.out_path = text;
  ExpectRefused("", "is there already, and no " + text + ".json says that it holds vectors");
  EXPECT_EQ(Contents(text), "\"a\"\n");
  flags_.in.path.clear();

  flags_.out_path = dir_.Join("v.npy");
  const std::string other = dir_.Write("v.npy.json", "{\"texts\": 1}");
  ExpectRefused(kTexts, other + " is there already, and tells of no vectors");
  fs::remove(other);

  ASSERT_TRUE(Run(kTexts).status.ok());
  const std::string vectors = Contents(flags_.out_path);
  ExpectRefused("the cat\n", "was made with \"num_texts\" 4, this run has 1; remove ");
  EXPECT_EQ(Contents(flags_.out_path), vectors);
  const auto written = fs::last_write_time(flags_.out_path);
  ASSERT_TRUE(Run(kTexts).status.ok());
  EXPECT_EQ(fs::last_write_time(flags_.out_path), written);
  for (const auto& damaged : {vectors.substr(0, vectors.size() - 4), vectors + "x"}) {
    dir_.Write("v.npy", damaged);
    ExpectRefused(kTexts, "is damaged or was changed");
  }

  // The user removes the vectors, as the message says.
  fs::remove(flags_.out_path);
  EXPECT_TRUE(Run("the cat\n").status.ok());
}

TEST_F(EmbedTest, DeviceAsOutputIsRejected) {
  flags_.out_path = dir_.Join("v.npy");
  fs::create_symlink("/dev/full", flags_.out_path);
  ExpectRefused("a", "not a regular file");
}

TEST_F(EmbedTest, OversizedFileIsError) {
  std::string texts;
  for (int i = 0; i < 400; ++i) texts += "one token\n";
  const std::string in = dir_.Write("many.txt", texts);
  for (const char* name : {"v.jsonl", "v.npy"}) {
    const ProcessOutcome outcome = RunBinary(
        Args{"embed"} + Model() + Args{"--in", in, "--out", dir_.Join(name)}, "ulimit -f 2");
    EXPECT_GT(outcome.exit_code, 0) << name << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("File too large")) << name;
  }
}

TEST_F(EmbedTest, ReadsFilesAndReportsTruncation) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "one ";
  const std::string in = dir_.Write("a.txt", text + "\ntoken\n");
  const std::string out = dir_.Join("v.jsonl");
  const ProcessOutcome good = RunBinary(Args{"embed"} + Model() + Args{"--in", in, "--out", out});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(good.err, HasSubstr("1 text was cut to 30 tokens"));
  EXPECT_EQ(Lines(Contents(out)).size(), 2u);
  const ProcessOutcome refused =
      RunBinary(Args{"embed"} + Model() + Args{"--in", in, "--no-truncate"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr(in + " line 1: more than 30 tokens"));
  EXPECT_EQ(refused.out, "");
  const std::vector<Args> bad = {
      {"--in", dir_.Join("none")},
      {"--in", in, "--text", "a"},
      {"--text", "a", "--dimensions", "0"},
      {"--text", "a", "--batch-tokens", "-1"},
      {"--text", "a", "--threads", "0"},
      {"--text", "a", "--dtype", "f8"},
      {"--text", "a", "--quantize", "int3"},
      {"--text", "a", "--prompt-name", "query", "--instruction", "b"},
      {"--text", "a", "--out", dir_.Join("v.csv")},
      {"--text", "a", "--sparse"},  // which the model does not make
      {"--text", "a", "--sparse-top-n", "3"},
      {"--text", "a", "--unknown"},
  };
  for (const Args& args : bad) {
    const ProcessOutcome outcome = RunBinary(Args{"embed"} + Model() + args);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err, "");
  }
  EXPECT_EQ(RunBinary({"embed", "--text", "a"}).exit_code, 2);
}

TEST_F(EmbedTest, SparseVectorsAreWrittenAndResumed) {
  tiny_.AddHeads();
  flags_.sparse = true;
  const Outcome outcome = Run("the text of it\none token one\n");
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  const std::vector<std::string> lines = Lines(outcome.out);
  ASSERT_EQ(lines.size(), 2u);
  const nlohmann::json row = nlohmann::json::parse(lines[1]);
  EXPECT_EQ(row["index"], 1);
  for (size_t i = 0; i < row["sparse"].size(); ++i) {
    EXPECT_GT(row["sparse"][i]["value"], 0.0);
    if (i > 0) {
      EXPECT_GT(row["sparse"][i]["index"], row["sparse"][i - 1]["index"]);
    }
  }
  flags_.out_path = dir_.Join("v.jsonl");
  ASSERT_TRUE(Run("the text of it\none token one\n").status.ok());
  EXPECT_EQ(Contents(flags_.out_path), outcome.out);

  flags_.sparse_top_n = 1;
  flags_.out_path.clear();
  for (const std::string& line : Lines(Run("the text of it\none token one\n").out)) {
    EXPECT_LE(nlohmann::json::parse(line)["sparse"].size(), 1u);
  }
  flags_.out_path = dir_.Join("v.npy");
  ExpectRefused("a\n", "sparse vectors are written as .jsonl alone");
  flags_.out_path.clear();
  flags_.dimensions = 2;
  ExpectRefused("a\n", "--dimensions: a sparse vector has no first ones");
}

}  // namespace
}  // namespace shortlist
