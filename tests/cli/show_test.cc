#include "cli/show.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "io/safetensors.h"
#include "kernels/isa.h"
#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/runtime/tiny_decoder.h"
#include "tests/runtime/tiny_encoder.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_hybrid.h"
#include "tests/support/tiny_llama.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

Outcome RunShow(const std::string& dir, bool json) {
  std::ostringstream out;
  const absl::Status status = Show({.model_dir = dir, .json = json}, out);
  return {status, out.str()};
}

nlohmann::json ShowJson(const std::string& dir) {
  const Outcome outcome = RunShow(dir, /*json=*/true);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  return outcome.status.ok() ? nlohmann::json::parse(outcome.out) : nlohmann::json();
}

/// Elements of all tensors in a directory's only weight file.
int64_t StoredElements(const std::string& dir) {
  const absl::StatusOr<TensorFile> file = OpenSafetensors(dir + "/model.safetensors");
  EXPECT_TRUE(file.ok()) << file.status();
  int64_t count = 0;
  for (const auto& [name, entry] : file->entries()) count += entry.num_elements;
  return count;
}

void SetConfig(const std::string& dir, const std::string& key, const nlohmann::json& value) {
  std::ifstream in(dir + "/config.json");
  nlohmann::json config = nlohmann::json::parse(in);
  config[key] = value;
  std::ofstream(dir + "/config.json") << config.dump();
}

TEST(ShowTest, RecurrentLayersHaveStates) {
  const TempDir dir;
  ASSERT_TRUE(WriteTinyHybrid(dir.Join("m"), /*seed=*/1).ok());
  const nlohmann::json shown = ShowJson(dir.Join("m"));
  const absl::StatusOr<TensorFile> file = OpenSafetensors(dir.Join("m") + "/model.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  int64_t num_elements = 0;
  for (const auto& [name, entry] : file->entries()) {
    if (!name.starts_with("mtp.")) num_elements += entry.num_elements;
  }
  EXPECT_EQ(shown["parameters"], num_elements);
  EXPECT_EQ(shown["has_mtp"], true);
  // 2 of 4 layers attend, with 2 heads of 8 of keys and values in f32.
  EXPECT_EQ(shown["kv_bytes_per_1024_tokens"], 1024 * 2 * 2 * 2 * 8 * 4);
  // The others: 4 heads of [8, 20], padded to 32 columns, and 3 tokens of 2 * 16 + 80 channels.
  EXPECT_EQ(shown["state_bytes_per_request"], 2 * 4 * (4 * 8 * 32 + 3 * 112));
}

TEST(ShowTest, ParametersMatchFile) {
  for (const bool tied : {false, true}) {
    const TempDir dir;
    ASSERT_TRUE(WriteTinyLlama(dir.Join("m"), {.tied = tied, .dtype = DType::kF16}, 1).ok());
    const nlohmann::json shown = ShowJson(dir.Join("m"));
    EXPECT_EQ(shown["parameters"], StoredElements(dir.Join("m")));
    EXPECT_EQ(shown["dtype"], "f16");
    // Norms are kept in f32: two in each of the two layers, and the final one.
    EXPECT_EQ(shown["weight_bytes"], 2 * StoredElements(dir.Join("m")) + 2 * 5 * 32);
    EXPECT_LT(shown["weight_bytes_int4"], shown["weight_bytes_int8"]);
    EXPECT_EQ(shown["rope"], "default");
    EXPECT_EQ(shown["sliding_window"], 0);
    EXPECT_EQ(shown["packing"], "none");
    EXPECT_EQ(shown["chat_template"], false);
    EXPECT_EQ(shown["conv_template"], "zero_shot");
    // 2 layers, keys and values of 2 heads of 8, 2 bytes each.
    EXPECT_EQ(shown["kv_bytes_per_1024_tokens"], 1024 * 2 * 2 * 2 * 8 * 2);
  }
  for (const bool bias : {false, true}) {
    const TempDir dir;
    ASSERT_TRUE(WriteTinyEagle(dir.Join("m"), {.num_layers = 2, .fc_bias = bias}, /*seed=*/1).ok());
    const nlohmann::json shown = ShowJson(dir.Join("m"));
    EXPECT_EQ(shown["architecture"], "LlamaForCausalLMEagle");
    EXPECT_EQ(shown["parameters"], StoredElements(dir.Join("m")));
    EXPECT_TRUE(shown["unsupported"].empty()) << shown["unsupported"];
  }
}

TEST(ShowTest, Eagle3HeadIsADraftOfItsTarget) {
  const std::string dir = SourcePath("models/demo/eagle3");
  const nlohmann::json shown = ShowJson(dir);
  EXPECT_EQ(shown["architecture"], "EAGLE-3");
  EXPECT_EQ(shown["format"], "flat");
  EXPECT_EQ(shown["head_rows"], 4096);
  EXPECT_EQ(shown["vocab_size"], 16384);
  EXPECT_EQ(shown["num_taps"], 3);
  EXPECT_EQ(shown["weight_bytes_stored"], 2 * shown["parameters"].get<int64_t>());
  const Outcome outcome = RunShow(dir, /*json=*/false);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  for (const char* word : {"EAGLE-3 head", "--draft", "2, 5, 11", "4096 of 16384"}) {
    EXPECT_THAT(outcome.out, HasSubstr(word));
  }
}

TEST(ShowTest, DemoModelInText) {
  const Outcome outcome = RunShow(SourcePath("models/demo/target"), /*json=*/false);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  for (const char* word : {"LlamaForCausalLM", "16384", "bf16", "SentencePiece", "fnv1a64:",
                           IsaName(CurrentIsa()), "scalar", "SHORTLIST_ISA", "threads"}) {
    EXPECT_THAT(outcome.out, HasSubstr(word));
  }
  EXPECT_THAT(outcome.out, Not(HasSubstr("unsupported")));
}

TEST(ShowTest, ShowsFastchatTemplate) {
  const TempDir dir;
  const auto shown = [&](const std::string& name, const char* chat_template) {
    const std::string model = dir.Join(name);
    fs::copy(SourcePath("models/demo/target"), model, fs::copy_options::recursive);
    if (chat_template != nullptr) std::ofstream(model + "/chat_template.jinja") << chat_template;
    return ShowJson(model)["fastchat_template"];
  };
  constexpr char kPhi[] =
      "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>";
  constexpr char kUnheardOf[] =
      "{% for m in messages %}{{ loop.index }}{{ m.role }}{{ m.content }}{% endfor %}";
  EXPECT_EQ(shown("phi", kPhi), "the checkpoint's chat template");
  EXPECT_EQ(shown("vicuna-7b", nullptr), "vicuna_v1.1, by the model's name");
  EXPECT_EQ(shown("mistral-v0.3", kUnheardOf), "mistral, by the model's name");
  EXPECT_EQ(shown("other", kUnheardOf), nullptr);
  EXPECT_THAT(RunShow(dir.Join("other"), /*json=*/false).out, HasSubstr("--conv-template"));
}

TEST(ShowTest, ShowsUnsupportedModelWithReason) {
  const TempDir dir;
  const std::string model = dir.Join("m");
  fs::copy(SourcePath("models/demo/target"), model, fs::copy_options::recursive);
  SetConfig(model, "architectures", {"Gemma2ForCausalLM"});
  const nlohmann::json shown = ShowJson(model);
  ASSERT_EQ(shown["unsupported"].size(), 1u);
  EXPECT_THAT(shown["unsupported"][0], HasSubstr("Gemma2ForCausalLM"));
  EXPECT_EQ(shown["tokenizer"]["size"], 16384);
  EXPECT_FALSE(shown.contains("parameters"));
  EXPECT_THAT(RunShow(model, /*json=*/false).out, HasSubstr("Gemma2ForCausalLM"));

  SetConfig(model, "architectures", {"LlamaForCausalLM"});
  SetConfig(model, "vocab_size", 16000);
  EXPECT_THAT(RunShow(model, /*json=*/false).out,
              HasSubstr("16384 ids (the last 384 without a row of the model: refused)"));
}

TEST(ShowTest, FamiliesShowParametersRopeAndWindow) {
  for (const auto& [name, rope, window] :
       {std::tuple("llama_dynamic", "dynamic", 0), std::tuple("mistral_yarn", "yarn", 20),
        std::tuple("qwen2_some_layers_slide", "default", 9),
        std::tuple("qwen3_tied", "default", 0)}) {
    SCOPED_TRACE(name);
    const TempDir dir;
    std::ifstream in(SourcePath(std::string("tests/reference/golden/decoders/") + name + ".json"));
    const nlohmann::json golden = nlohmann::json::parse(in);
    std::vector<StoredTensor> tensors;
    for (const auto& [tensor, shape] : golden["tensors"].items()) {
      const auto extents = shape.get<std::vector<int64_t>>();
      int64_t count = 1;
      for (const int64_t extent : extents) count *= extent;
      tensors.push_back(MakeTensor(tensor, extents, std::vector<float>(count), DType::kBf16));
    }
    dir.Write("config.json", golden["config"].dump());
    ASSERT_TRUE(WriteSafetensors(dir.Join("model.safetensors"), tensors).ok());
    const nlohmann::json shown = ShowJson(dir.path());
    EXPECT_EQ(shown["architecture"], golden["config"]["architectures"][0]);
    EXPECT_EQ(shown["parameters"], StoredElements(dir.path()));
    EXPECT_EQ(shown["rope"], rope);
    EXPECT_EQ(shown["sliding_window"], window);
    EXPECT_EQ(shown["dtype"], "bf16");
  }
}

TEST(ShowTest, ModelWithoutTokenizerCannotGenerate) {
  const TempDir dir;
  ASSERT_TRUE(WriteTinyLlama(dir.Join("m"), {}, /*seed=*/1).ok());
  const nlohmann::json shown = ShowJson(dir.Join("m"));
  ASSERT_EQ(shown["unsupported"].size(), 1u);
  EXPECT_THAT(shown["unsupported"][0], HasSubstr("tokenizer.model"));
  EXPECT_FALSE(shown.contains("tokenizer"));
}

TEST(ShowTest, MissingAndDamagedFilesAreErrors) {
  const TempDir dir;
  EXPECT_TRUE(absl::IsNotFound(RunShow(dir.Join("nowhere"), /*json=*/true).status));
  fs::create_directory(dir.Join("empty"));
  EXPECT_TRUE(absl::IsNotFound(RunShow(dir.Join("empty"), /*json=*/true).status));
  const Outcome file = RunShow(SourcePath("models/demo/target/config.json"), /*json=*/true);
  EXPECT_EQ(file.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(file.status.message()), HasSubstr("a file, not a model directory"));
  EXPECT_THAT(std::string(RunShow(dir.Write("m.gguf", "GGUF"), /*json=*/false).status.message()),
              HasSubstr("m.gguf: not a GGUF file: it has fewer than 24 bytes"));
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.model"}) {
    SCOPED_TRACE(file);
    const std::string model = dir.Join(std::string("damaged_") + file);
    fs::copy(SourcePath("models/demo/target"), model, fs::copy_options::recursive);
    fs::resize_file(model + "/" + file, 20);
    const Outcome outcome = RunShow(model, /*json=*/false);
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(file));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(ShowTest, IsaVariableIsUsedAndChecked) {
  const Args show = {"show", SourcePath("models/demo/target"), "--json"};
  ASSERT_EQ(setenv("SHORTLIST_ISA", "scalar", /*overwrite=*/1), 0);
  const ProcessOutcome scalar = RunBinary(show);
  ASSERT_EQ(setenv("SHORTLIST_ISA", "sse9", /*overwrite=*/1), 0);
  const ProcessOutcome unknown = RunBinary(show);
  ASSERT_EQ(unsetenv("SHORTLIST_ISA"), 0);

  EXPECT_EQ(scalar.exit_code, 0) << scalar.err;
  EXPECT_EQ(nlohmann::json::parse(scalar.out)["isa"], "scalar");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.out, "");
  EXPECT_THAT(unknown.err, HasSubstr("'sse9' not in scalar"));
  const ProcessOutcome detected = RunBinary(show);
  EXPECT_EQ(nlohmann::json::parse(detected.out)["isa"], IsaName(DetectIsa()));
}

TEST(ShowTest, UsageErrorsExitWithTwo) {
  for (const Args& args : {Args{"show"}, Args{"show", "/nowhere"}, Args{"show", "org/../etc"},
                           Args{"show", "org/name@"}, Args{"show", "a", "b"}}) {
    const ProcessOutcome outcome = RunBinary(args);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(ShowTest, EncoderShowsItsOutputs) {
  TinyEncoder tiny;
  tiny.AddModules(/*normalize=*/true);
  tiny.AddFile("config_sentence_transformers.json",
               {{"prompts", {{"query", "ask: "}}}, {"default_prompt_name", "query"}});
  const std::string dir = tiny.Write();
  const nlohmann::json shown = ShowJson(dir);
  EXPECT_EQ(shown["architecture"], "BertModel");
  EXPECT_EQ(shown["makes"], nlohmann::json({"dense"}));
  EXPECT_EQ(shown["dimensions"], 36);
  EXPECT_EQ(shown["pooling"], "mean");
  EXPECT_EQ(shown["normalize"], true);
  EXPECT_EQ(shown["max_input_tokens"], 30);
  EXPECT_EQ(shown["prompts"]["query"], "ask: ");
  EXPECT_EQ(shown["default_prompt_name"], "query");
  EXPECT_EQ(shown["parameters"], StoredElements(dir));
  EXPECT_TRUE(shown["unsupported"].empty()) << shown;
  EXPECT_FALSE(shown.contains("chat_template"));
  const std::string text = RunShow(dir, /*json=*/false).out;
  for (const char* words : {"vectors of 36 dimensions (mean of the hidden states, length 1)",
                            "at most 30 tokens", "query (default): \"ask: \"", "MB in the files"}) {
    EXPECT_THAT(text, HasSubstr(words));
  }
  EXPECT_THAT(text, Not(HasSubstr("unsupported")));
}

TEST(ShowTest, UnsupportedEncoderIsShownAsEncoder) {
  TinyEncoder tiny;
  tiny.AddModules(/*normalize=*/true);
  tiny.AddFile("1_Pooling/config.json",
               {{"word_embedding_dimension", 36}, {"pooling_mode_max_tokens", true}});
  const std::string dir = tiny.Write();
  const nlohmann::json shown = ShowJson(dir);
  EXPECT_EQ(shown["unsupported"].size(), 1u) << shown;
  EXPECT_EQ(shown["architecture"], "BertModel");
  EXPECT_FALSE(shown.contains("chat_template"));
  EXPECT_THAT(RunShow(dir, /*json=*/false).out, Not(HasSubstr("FastChat")));
}

TEST(ShowTest, SparseVectorsNeedHead) {
  TinyEncoder tiny;
  const auto makes = [&tiny](const char* architecture) {
    tiny.golden().config["architectures"] = {architecture};
    return ShowJson(tiny.Write())["makes"];
  };
  EXPECT_EQ(makes("BertForMaskedLM"), nlohmann::json({"dense"}));
  EXPECT_EQ(ShowJson(SourcePath("tests/reference/golden/outputs/splade_distilbert"))["makes"],
            nlohmann::json({"dense", "sparse"}));
}

TEST(ShowTest, ClassifierShowsItsLabels) {
  TinyEncoder tiny("bert_classification");
  const std::string dir = tiny.Write();
  const nlohmann::json shown = ShowJson(dir);
  EXPECT_EQ(shown["makes"], nlohmann::json({"scores"}));
  EXPECT_EQ(shown["score_function"], "sigmoid");
  EXPECT_EQ(shown["labels"], nlohmann::json({"LABEL_0"}));
  EXPECT_THAT(RunShow(dir, /*json=*/false).out,
              HasSubstr("scores of 1 label: \"LABEL_0\"; sigmoid"));
}

TEST(ShowTest, ScoringDecoderShowsItsFunction) {
  TinyDecoder reranker("rerankers/qwen3");
  reranker.AddFile("tokenizer.json", reranker.golden()["tokenizer"]);
  reranker.AddFile("chat_template.json", {{"chat_template", kRerankerTemplate}});
  const std::string answers = reranker.Write();
  EXPECT_EQ(ShowJson(answers)["makes"], nlohmann::json({"scores"}));
  EXPECT_EQ(ShowJson(answers)["score_function"], "sigmoid");
  EXPECT_THAT(RunShow(answers, /*json=*/false).out,
              HasSubstr("scores of pairs by the answer yes or no; sigmoid"));

  const TempDir dir;
  fs::copy(SourcePath("tests/reference/golden/outputs/classifier_qwen3"), dir.Join("m"));
  EXPECT_THAT(RunShow(dir.Join("m"), /*json=*/false).out, HasSubstr("gives         scores of "));
  EXPECT_FALSE(ShowJson(dir.Join("m"))["labels"].empty());
  dir.Write("m/chat_template.jinja", "{% for m in messages %}{{ m.content }} {% endfor %}");
  EXPECT_THAT(RunShow(dir.Join("m"), /*json=*/false).out,
              HasSubstr("pairs         messages of the roles query and document"));
}

}  // namespace
}  // namespace shortlist
