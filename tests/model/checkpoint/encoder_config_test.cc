#include "model/checkpoint/encoder_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Family = EncoderConfig::Family;

json BertConfig() {
  return json::parse(R"({
    "architectures": ["BertModel"], "vocab_size": 30522, "hidden_size": 384,
    "intermediate_size": 1536, "num_hidden_layers": 6, "num_attention_heads": 12,
    "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
    "hidden_act": "gelu", "pad_token_id": 0, "position_embedding_type": "absolute",
    "torch_dtype": "float16", "use_cache": true})");
}

json DistilBertConfig() {
  return json::parse(R"({
    "architectures": ["DistilBertModel"], "vocab_size": 30522,
    "dim": 768, "hidden_dim": 3072, "n_layers": 6, "n_heads": 12, "activation": "gelu",
    "max_position_embeddings": 512, "sinusoidal_pos_embds": false, "tie_weights_": true,
    "pad_token_id": 0, "qa_dropout": 0.1, "seq_classif_dropout": 0.2})");
}

json ModernConfig() {
  return json::parse(R"({
    "architectures": ["ModernBertModel"], "vocab_size": 50368,
    "hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 5,
    "num_attention_heads": 12, "max_position_embeddings": 8192, "norm_eps": 1e-5,
    "norm_bias": false, "hidden_activation": "gelu", "attention_bias": false, "mlp_bias": false,
    "global_attn_every_n_layers": 3, "local_attention": 128, "global_rope_theta": 160000.0,
    "local_rope_theta": 10000.0, "position_embedding_type": "absolute"})");
}

absl::StatusOr<EncoderConfig> With(json config, const char* patch) {
  const json changes = json::parse(patch);
  for (const auto& [key, value] : changes.items()) config[key] = value;  // null stays
  return ParseEncoderConfig(config, "config.json");
}

absl::StatusOr<EncoderConfig> Without(json config, const char* field) {
  config.erase(field);
  return ParseEncoderConfig(config, "config.json");
}

TEST(EncoderConfigTest, ReadsBert) {
  const auto config = With(BertConfig(), "{}");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->architecture, "BertModel");
  EXPECT_EQ(config->family, Family::kBert);
  EXPECT_EQ(config->vocab_size, 30522);
  EXPECT_EQ(config->hidden, 384);
  EXPECT_EQ(config->intermediate, 1536);
  EXPECT_EQ(config->num_layers, 6);
  EXPECT_EQ(config->num_heads, 12);
  EXPECT_EQ(config->head_dim, 32);
  EXPECT_EQ(config->context_len, 512);
  EXPECT_EQ(config->num_positions, 512);
  EXPECT_EQ(config->first_position, 0);
  EXPECT_EQ(config->num_token_types, 2);
  EXPECT_EQ(config->activation, Activation::kGeluErf);
  EXPECT_EQ(config->norm_eps, 1e-12);
  EXPECT_TRUE(config->norm_bias);
  EXPECT_EQ(config->checkpoint_dtype, DType::kF16);
}

TEST(EncoderConfigTest, ModelTypeMustAgreeWithArchitecture) {
  EXPECT_TRUE(With(BertConfig(), R"({"model_type": "bert"})").ok());
  const char* const kXlmR = R"({"architectures": ["RobertaModel"], "model_type": "xlm-roberta"})";
  EXPECT_TRUE(With(BertConfig(), kXlmR).ok());
  const absl::Status status = With(BertConfig(), R"({"model_type": "roberta"})").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("model_type = \"roberta\" contradicts architectures = [\"BertModel\"]"));
}

TEST(EncoderConfigTest, ReadsDistilBertFieldNames) {
  const auto config = With(DistilBertConfig(), "{}");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->family, Family::kDistilBert);
  EXPECT_EQ(config->hidden, 768);
  EXPECT_EQ(config->intermediate, 3072);
  EXPECT_EQ(config->num_layers, 6);
  EXPECT_EQ(config->head_dim, 64);
  EXPECT_EQ(config->num_positions, 512);
  EXPECT_EQ(config->context_len, 512);
  EXPECT_EQ(config->num_token_types, 0);
  EXPECT_EQ(config->norm_eps, 1e-12);
}

TEST(EncoderConfigTest, RobertaPositionsStartAfterPadding) {
  const char* const kXlmR = R"({"architectures": ["XLMRobertaModel"], "pad_token_id": 1,
      "max_position_embeddings": 514})";
  EXPECT_EQ(With(BertConfig(), kXlmR)->context_len, 512);
  EXPECT_EQ(With(BertConfig(), kXlmR)->first_position, 2);
  json config = BertConfig();
  config["architectures"] = {"RobertaForSequenceClassification"};
  EXPECT_EQ(Without(config, "pad_token_id")->first_position, 2);
}

TEST(EncoderConfigTest, ReadsModernBertOldAndNew) {
  const auto old = With(ModernConfig(), "{}");
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_EQ(old->family, Family::kModernBert);
  EXPECT_EQ(old->context_len, 8192);
  EXPECT_EQ(old->num_positions, 0);
  EXPECT_EQ(old->num_token_types, 0);
  EXPECT_FALSE(old->norm_bias);
  EXPECT_EQ(old->local_radius, 64);
  EXPECT_THAT(old->is_local, ElementsAre(false, true, true, false, true));
  EXPECT_EQ(old->global_rope_theta, 160000.0);
  EXPECT_EQ(old->local_rope_theta, 10000.0);
  EXPECT_EQ(With(ModernConfig(), R"({"local_rope_theta": null})")->local_rope_theta, 160000.0);

  const auto newer = With(ModernConfig(), R"({"global_attn_every_n_layers": null,
      "local_rope_theta": 5.0, "layer_types": ["sliding_attention", "full_attention",
      "full_attention", "full_attention", "sliding_attention"],
      "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 70.0},
                          "sliding_attention": {"rope_type": "default"}}})");
  ASSERT_TRUE(newer.ok()) << newer.status();
  EXPECT_THAT(newer->is_local, ElementsAre(true, false, false, false, true));
  EXPECT_EQ(newer->global_rope_theta, 70.0);
  EXPECT_EQ(newer->local_rope_theta, 5.0);
}

TEST(EncoderConfigTest, KnowsEachArchitecture) {
  for (const char* name :
       {"BertModel", "BertForMaskedLM", "BertForSequenceClassification", "Contriever",
        "RobertaModel", "RobertaForMaskedLM", "RobertaForSequenceClassification", "XLMRobertaModel",
        "XLMRobertaForMaskedLM", "XLMRobertaForSequenceClassification"}) {
    json config = BertConfig();
    config["architectures"] = {name};
    EXPECT_EQ(ParseEncoderConfig(config, "config.json")->architecture, name);
    EXPECT_TRUE(IsEncoderConfig(config));
  }
  for (const char* name :
       {"ModernBertModel", "ModernBertForMaskedLM", "ModernBertForSequenceClassification"}) {
    json config = ModernConfig();
    config["architectures"] = {name};
    EXPECT_EQ(ParseEncoderConfig(config, "config.json")->architecture, name);
    EXPECT_TRUE(IsEncoderConfig(config));
  }
  for (const char* name :
       {"DistilBertModel", "DistilBertForMaskedLM", "DistilBertForSequenceClassification"}) {
    json config = DistilBertConfig();
    config["architectures"] = {name};
    EXPECT_EQ(ParseEncoderConfig(config, "config.json")->architecture, name);
    EXPECT_TRUE(IsEncoderConfig(config));
  }
  EXPECT_FALSE(IsEncoderConfig(json::parse(R"({"architectures": ["LlamaForCausalLM"]})")));
  EXPECT_FALSE(IsEncoderConfig(json::parse(R"({"architectures": "BertModel"})")));
  EXPECT_FALSE(IsEncoderConfig(json::parse("[]")));
  EXPECT_FALSE(IsEncoderConfig(json::parse("{}")));
}

TEST(EncoderConfigTest, KnowsTheActivations) {
  for (const char* name : {"gelu", "gelu_python"}) {
    const std::string patch = absl::StrCat("{\"hidden_act\": \"", name, "\"}");
    EXPECT_EQ(With(BertConfig(), patch.c_str())->activation, Activation::kGeluErf);
  }
  for (const char* name : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh"}) {
    const std::string patch = absl::StrCat("{\"hidden_activation\": \"", name, "\"}");
    EXPECT_EQ(With(ModernConfig(), patch.c_str())->activation, Activation::kGeluTanh);
  }
}

TEST(EncoderConfigTest, EveryFieldHasItsBounds) {
  struct Bad {
    json config;
    const char* patch;
    const char* what;
    const char* bound;
  };
  const json roberta = [] {
    json config = BertConfig();
    config["architectures"] = {"RobertaModel"};
    return config;
  }();
  for (const Bad& bad : std::vector<Bad>{
           {BertConfig(), R"({"vocab_size": 0})", "vocab_size = 0", "[1, 16777216]"},
           {BertConfig(), R"({"vocab_size": -5})", "vocab_size = -5", "[1, 16777216]"},
           {BertConfig(), R"({"vocab_size": 1e99})", "vocab_size", "not an integer"},
           {BertConfig(), R"({"hidden_size": 99999999999})", "hidden_size = 99999999999",
            "[1, 1048576]"},
           {BertConfig(), R"({"hidden_size": 385})", "hidden_size = 385",
            "multiple of num_attention_heads = 12"},
           {BertConfig(), R"({"hidden_size": 98304, "num_attention_heads": 12})",
            "hidden_size = 98304 makes heads of 8192", "[1, 4096]"},
           {BertConfig(), R"({"intermediate_size": 0})", "intermediate_size = 0", "[1, 4194304]"},
           {BertConfig(), R"({"num_hidden_layers": 1025})", "num_hidden_layers = 1025",
            "[1, 1024]"},
           {BertConfig(), R"({"num_attention_heads": 0})", "num_attention_heads = 0", "[1, 4096]"},
           {BertConfig(), R"({"max_position_embeddings": 0})", "max_position_embeddings = 0",
            "[1, 16777216]"},
           {BertConfig(), R"({"max_position_embeddings": null})", "max_position_embeddings",
            "is missing"},
           {BertConfig(), R"({"type_vocab_size": 0})", "type_vocab_size = 0", "[1, 16777216]"},
           {BertConfig(), R"({"layer_norm_eps": 0})", "layer_norm_eps = 0", "(0, 1]"},
           {BertConfig(), R"({"layer_norm_eps": -1e-12})", "layer_norm_eps = -1e-12", "(0, 1]"},
           {BertConfig(), R"({"layer_norm_eps": 2.0})", "layer_norm_eps = 2.0", "(0, 1]"},
           {BertConfig(), R"({"layer_norm_eps": "NaN"})", "layer_norm_eps", "not a number"},
           {BertConfig(), R"({"architectures": null})", "architectures", "is missing"},
           {BertConfig(), R"({"architectures": ["A", "B"]})", "architectures", "list of one name"},
           {roberta, R"({"max_position_embeddings": 2})", "max_position_embeddings = 2",
            "[3, 16777216]"},
           {roberta, R"({"pad_token_id": 511})", "pad_token_id = 511", "[0, 510]"},
           {roberta, R"({"pad_token_id": -1})", "pad_token_id = -1", "[0, 510]"},
           {DistilBertConfig(), R"({"dim": null})", "dim", "is missing"},
           {DistilBertConfig(), R"({"dim": 769})", "dim = 769", "multiple of n_heads = 12"},
           {DistilBertConfig(), R"({"n_layers": 0})", "n_layers = 0", "[1, 1024]"},
           {ModernConfig(), R"({"hidden_size": 36})", "hidden_size = 36 makes heads of 3",
            "not even"},
           {ModernConfig(), R"({"norm_eps": 0.0})", "norm_eps = 0.0", "(0, 1]"},
           {ModernConfig(), R"({"norm_bias": 1})", "norm_bias", "neither true nor false"},
           {ModernConfig(), R"({"local_attention": 0})", "local_attention = 0", "[1, 16777216]"},
           {ModernConfig(), R"({"global_attn_every_n_layers": 0})",
            "global_attn_every_n_layers = 0", "[1, 1024]"},
           {ModernConfig(), R"({"global_rope_theta": 0})", "global_rope_theta = 0",
            "(1e-06, 1e+12]"},
           {ModernConfig(), R"({"local_rope_theta": 1e13})", "local_rope_theta", "(1e-06, 1e+12]"},
           {ModernConfig(), R"({"rope_parameters": 3})", "rope_parameters = 3", "not an object"},
           {ModernConfig(), R"({"rope_parameters": {"full_attention": 3}})", "full_attention = 3",
            "not an object"},
           {ModernConfig(), R"({"rope_parameters": {"full_attention": {"rope_theta": -1}}})",
            "rope_theta = -1", "(1e-06, 1e+12]"},
           {ModernConfig(), R"({"layer_types": ["full_attention"]})", "layer_types",
            "list of 5 names"},
       }) {
    const absl::Status status = With(bad.config, bad.patch).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.patch << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("config.json: "), HasSubstr(bad.what), HasSubstr(bad.bound)));
  }
}

TEST(EncoderConfigTest, UnsupportedSettingsAreRejectedByName) {
  struct Refused {
    json config;
    const char* patch;
    const char* what;
  };
  for (const Refused& refused : std::vector<Refused>{
           {BertConfig(), R"({"architectures": ["JinaBertModel"]})", "JinaBertModel"},
           {BertConfig(), R"({"position_embedding_type": "alibi"})",
            "position_embedding_type = \"alibi\""},
           {BertConfig(), R"({"hidden_act": "relu"})", "hidden_act = \"relu\""},
           {BertConfig(), R"({"is_decoder": true})", "is_decoder = true"},
           {BertConfig(), R"({"is_causal": true})", "is_causal = true"},
           {DistilBertConfig(), R"({"is_causal": true})", "is_causal = true"},
           {ModernConfig(), R"({"is_causal": true})", "is_causal = true"},
           {ModernConfig(), R"({"local_attention": 8, "sliding_window": 2})", "sliding_window = 2"},
           {ModernConfig(), R"({"sliding_window": 2})", "sliding_window = 2"},
           {BertConfig(), R"({"add_cross_attention": true})", "add_cross_attention = true"},
           {BertConfig(), R"({"pruned_heads": {"0": [1]}})", "pruned_heads"},
           {BertConfig(), R"({"head_dim": 64})", "head_dim = 64"},
           {BertConfig(), R"({"auto_map": {"AutoModel": "m.M"}})", "auto_map"},
           {BertConfig(), R"({"quantization_config": {}})", "quantization_config"},
           {BertConfig(), R"({"torch_dtype": "int8"})", "torch_dtype = \"int8\""},
           {DistilBertConfig(), R"({"activation": "relu"})", "activation = \"relu\""},
           {ModernConfig(), R"({"hidden_activation": "silu"})", "hidden_activation = \"silu\""},
           {ModernConfig(), R"({"attention_bias": true})", "attention_bias = true"},
           {ModernConfig(), R"({"mlp_bias": true})", "mlp_bias = true"},
           {ModernConfig(), R"({"rope_scaling": {"type": "yarn"}})", "rope_scaling"},
           {ModernConfig(), R"({"rope_parameters": {"sliding_attention": {"rope_type": "yarn"}}})",
            "\"yarn\""},
           {ModernConfig(), R"({"layer_types": ["a", "b", "c", "d", "e"]})", "layer_types = \"a\""},
       }) {
    const absl::Status status = With(refused.config, refused.patch).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << refused.patch << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(refused.what));
  }
}

TEST(EncoderConfigTest, ReadsFile) {
  const TempDir dir;
  EXPECT_EQ(ReadEncoderConfig(ModelSource::OfDirectory(dir.path())).status().code(),
            absl::StatusCode::kNotFound);
  dir.Write("config.json", BertConfig().dump());
  EXPECT_EQ(ReadEncoderConfig(ModelSource::OfDirectory(dir.path()))->hidden, 384);
  dir.Write("config.json", "[]");
  EXPECT_EQ(ReadEncoderConfig(ModelSource::OfDirectory(dir.path())).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Without(BertConfig(), "architectures").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace shortlist
