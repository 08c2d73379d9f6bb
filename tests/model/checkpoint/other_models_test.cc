#include "model/checkpoint/other_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/checkpoint/config.h"
#include "model/checkpoint/encoder_config.h"
#include "nlohmann/json.hpp"
#include "tests/io/torch_archive.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

void ExpectUnimplemented(const absl::Status& status, const std::vector<std::string>& parts) {
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  for (const std::string& part : parts) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
}

json LlamaConfig() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"vocab_size", 8},
          {"hidden_size", 2},
          {"intermediate_size", 4},
          {"num_hidden_layers", 1},
          {"num_attention_heads", 1},
          {"max_position_embeddings", 16}};
}

TEST(OtherModelsTest, RejectionNamesArchitectureAndSupportedOnes) {
  const std::pair<const char*, const char*> cases[] = {
      {"T5EncoderModel", "T5, an encoder-decoder"},
      {"T5ForConditionalGeneration", "T5, an encoder-decoder"},
      {"MT5EncoderModel", "mT5"},
      {"GPT2LMHeadModel", "GPT-2"},
      {"Gemma3ForConditionalGeneration", "Gemma 3 for texts and pictures"},
      {"GptOssForCausalLM", "gpt-oss, whose attention has sinks"},
      {"DeepseekV3ForCausalLM", "MLA"},
      {"Glm4MoeForCausalLM", "GLM-4.5 to 4.7"},
      {"Qwen3NextForCausalLM", "Qwen3-Next"},
      {"Phi4MMForCausalLM", "Phi-4 in a form other than Phi-3's"},
      {"SiglipModel", "SigLIP"},
      {"Siglip2Model", "SigLIP"},
      {"BartForConditionalGeneration", "BART"},
      {"LlamaForCausalLMEagle3", "an EAGLE-3 head"},
      {"Eagle3LlamaForCausalLM", "an EAGLE-3 head"},
      {"DebertaV2Model", "DebertaV2Model"}};
  for (const auto& [name, what] : cases) {
    const json config = {{"architectures", {name}}, {"d_model", 8}};
    const std::vector<std::string> parts = {"x/config.json", name, what, "encoders of BERT",
                                            "Mistral"};
    ExpectUnimplemented(CheckArchitecture(ConfigFields("x/config.json", config)), parts);
    ExpectUnimplemented(ParseModelConfig(config, "x/config.json").status(), parts);
    ExpectUnimplemented(ParseEncoderConfig(config, "x/config.json").status(), parts);
  }
  ExpectUnimplemented(ParseModelConfig({{"architectures", {"BertModel"}}}, "x").status(),
                      {"BertModel", "an encoder, which generates no text"});
}

TEST(OtherModelsTest, SupportedModelsAreAccepted) {
  for (const char* name : {"BertModel", "Contriever", "MistralForCausalLM", "Qwen2Model"}) {
    const json config = {{"architectures", {name}}};
    EXPECT_TRUE(CheckArchitecture(ConfigFields("x", config)).ok()) << name;
  }
}

TEST(OtherModelsTest, AdapterIsRejectedByKindAndBase) {
  const TempDir dir;
  EXPECT_TRUE(RefuseAdapter(ModelSource::OfDirectory(dir.path())).ok());
  dir.Write("adapter_config.json",
            R"({"peft_type": "LORA", "base_model_name_or_path": "org/base"})");
  const std::vector<std::string> parts = {dir.path(), "\"LORA\"", "\"org/base\"", "merge"};
  ExpectUnimplemented(RefuseAdapter(ModelSource::OfDirectory(dir.path())), parts);
  ExpectUnimplemented(ReadModelConfig(ModelSource::OfDirectory(dir.path())).status(), parts);
  ExpectUnimplemented(ReadEncoderConfig(ModelSource::OfDirectory(dir.path())).status(), parts);
  // transformers looks for the model elsewhere, whatever else lies there.
  dir.Write("config.json", LlamaConfig().dump());
  ExpectUnimplemented(ReadModelConfig(ModelSource::OfDirectory(dir.path())).status(), parts);
  dir.Write("adapter_config.json", "{}");
  ExpectUnimplemented(RefuseAdapter(ModelSource::OfDirectory(dir.path())), {"peft_type unknown"});
  dir.Write("adapter_config.json", "[]");
  EXPECT_EQ(RefuseAdapter(ModelSource::OfDirectory(dir.path())).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(OtherModelsTest, Eagle3HeadIsDetectedByTensors) {
  const TempDir dir;
  dir.Write("config.json", LlamaConfig().dump());
  const auto write = [&dir](const std::string& name, const std::vector<int64_t>& shape) {
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    const StoredTensor tensor = MakeTensor(name, shape, std::vector<float>(size), DType::kF32);
    EXPECT_TRUE(WriteSafetensors(dir.Join("model.safetensors"), {tensor}).ok());
  };
  for (const char* name :
       {"d2t", "t2d", "midlayer.self_attn.q_proj.weight", "layers.0.hidden_norm.weight"}) {
    write(name, {2});
    ExpectUnimplemented(ReadModelConfig(ModelSource::OfDirectory(dir.path())).status(),
                        {dir.path(), "EAGLE-3", name, "--draft"});
  }
  write("fc.weight", {2, 6});
  ExpectUnimplemented(ReadModelConfig(ModelSource::OfDirectory(dir.path())).status(),
                      {"EAGLE-3", "fc.weight", "[2, 6]"});
  write("fc.weight", {2, 4});
  EXPECT_EQ(ReadModelConfig(ModelSource::OfDirectory(dir.path()))->architecture,
            "LlamaForCausalLMEagle");
}

TEST(OtherModelsTest, Eagle3HeadIsDetectedInBinFile) {
  const TempDir dir;
  dir.Write("config.json", LlamaConfig().dump());
  std::string pickle =
      StateDictPickle(TensorPickle({.storage_size = 12, .size = {2, 6}, .stride = {6, 1}}));
  const auto write = [&](const std::string& bytes) {
    dir.Write("pytorch_model.bin", TorchArchive(bytes, {{"data/0", std::string(48, '\0')}}));
  };
  write(pickle);
  EXPECT_TRUE(ReadModelConfig(ModelSource::OfDirectory(dir.path())).ok())
      << ReadModelConfig(ModelSource::OfDirectory(dir.path())).status();
  const size_t place = pickle.find(std::string("\x01\0\0\0w", 5));
  ASSERT_NE(place, std::string::npos);
  pickle.replace(place, 5, std::string("\x03\0\0\0d2t", 7));
  write(pickle);
  ExpectUnimplemented(ReadModelConfig(ModelSource::OfDirectory(dir.path())).status(),
                      {"EAGLE-3", "d2t"});
}

}  // namespace
}  // namespace shortlist
