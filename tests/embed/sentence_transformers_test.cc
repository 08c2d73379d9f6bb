#include "embed/sentence_transformers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "embed/pooler.h"
#include "tests/embed/embed_testing.h"
#include "tests/embed/model_dir.h"
#include "tests/support/checkpoint_writer.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

constexpr char kModules[] = "modules.json";
constexpr char kPooling[] = "1_Pooling/config.json";
constexpr char kDense[] = "2_Dense/config.json";
constexpr char kNormalize[] = "3_Normalize/config.json";
constexpr char kTransformer[] = "sentence_bert_config.json";
constexpr char kModel[] = "config_sentence_transformers.json";
constexpr char kConfig[] = "config.json";

json Module(int idx, const char* name, const char* path, const char* type) {
  return {{"idx", idx},
          {"name", name},
          {"path", path},
          {"type", std::string("sentence_transformers.models.") + type}};
}

ModelDir GoodDir() {
  return ModelDir({
      {kModules,
       {Module(0, "0", "", "Transformer"), Module(1, "1", "1_Pooling", "Pooling"),
        Module(2, "2", "2_Dense", "Dense"), Module(3, "3", "3_Normalize", "Normalize")}},
      {kPooling, {{"word_embedding_dimension", 16}, {"pooling_mode_cls_token", true}}},
      {kDense,
       {{"in_features", 16},
        {"out_features", 4},
        {"bias", true},
        {"activation_function", "torch.nn.modules.activation.Tanh"}}},
      {kTransformer, {{"max_seq_length", 128}, {"do_lower_case", true}}},
      {kModel, {{"prompts", {{"query", "q: "}, {"code", "c: "}}}}},
      {kConfig, {{"architectures", {"BertModel"}}, {"hidden_size", 16}}},
  });
}

absl::Status StatusOf(ModelDir& dir) {
  return ReadEmbeddingConfig(ModelSource::OfDirectory(dir.Write())).status();
}

TEST(SentenceTransformersTest, ReadsEveryField) {
  ModelDir dir = GoodDir();
  const auto config = ReadEmbeddingConfig(ModelSource::OfDirectory(dir.Write()));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->transformer.path(), dir.dir().path());
  EXPECT_EQ(config->pooling, Pooling::kCls);
  EXPECT_EQ(config->hidden, 16);
  EXPECT_TRUE(config->include_prompt);
  ASSERT_EQ(config->dense.size(), 1u);
  EXPECT_EQ(config->dense[0].source.path(), dir.dir().Join("2_Dense"));
  EXPECT_EQ(config->dense[0].shape.out_features, 4);
  EXPECT_EQ(config->dense[0].shape.activation, HeadActivation::kTanh);
  EXPECT_TRUE(config->normalize);
  EXPECT_EQ(config->max_seq_len, 128);
  EXPECT_TRUE(config->do_lower_case);
  EXPECT_THAT(config->prompts,
              testing::ElementsAre(testing::Pair("code", "c: "), testing::Pair("document", ""),
                                   testing::Pair("query", "q: ")));
  EXPECT_FALSE(config->default_prompt_name.has_value());
}

TEST(SentenceTransformersTest, SpladePoolingMakesOnlySparseVectors) {
  const std::string prefix = "sentence_transformers.sparse_encoder.models.";
  ModelDir dir({{"modules.json",
                 {{{"path", ""}, {"type", prefix + "MLMTransformer"}},
                  {{"path", "1_SpladePooling"}, {"type", prefix + "SpladePooling"}}}},
                {"config.json", {{"architectures", {"BertForMaskedLM"}}, {"hidden_size", 16}}},
                {"1_SpladePooling/config.json",
                 {{"pooling_strategy", "max"}, {"activation_function", "relu"}}},
                {"config_sentence_transformers.json", {{"model_type", "SparseEncoder"}}}});
  const auto config = ReadEmbeddingConfig(ModelSource::OfDirectory(dir.Write()));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_FALSE(config->makes_dense);
  EXPECT_EQ(config->sparse, SparseKind::kSplade);
  EXPECT_EQ(config->hidden, 16);
  dir.Change("1_SpladePooling/config.json", "/pooling_strategy", "\"sum\"");
  ExpectError(StatusOf(dir), kUnimplemented, {"pooling_strategy", "\"sum\"", "\"max\""});
  dir.Change("1_SpladePooling/config.json", "/pooling_strategy", "\"max\"");
  dir.Change("1_SpladePooling/config.json", "/activation_function", "\"log1p_relu\"");
  ExpectError(StatusOf(dir), kUnimplemented, {"activation_function", "\"log1p_relu\""});
  dir.Change("modules.json", "/0/type", "\"sentence_transformers.models.WordEmbeddings\"");
  ExpectError(StatusOf(dir), kUnimplemented, {"modules.json", "SpladePooling"});
}

TEST(SentenceTransformersTest, FramingTokensComeFromTokenizerFiles) {
  ModelDir dir({{"tokenizer_config.json", {{"cls_token", "<s>"}, {"mask_token", "<mask>"}}},
                {"special_tokens_map.json", {{"unk_token", {{"content", "<unk>"}}}}}});
  EXPECT_THAT(*ReadFramingTokens(ModelSource::OfDirectory(dir.Write())).value(),
              testing::ElementsAre("<s>", "<unk>"));
  dir.Change("tokenizer_config.json", "/cls_token", "5");
  ExpectError(ReadFramingTokens(ModelSource::OfDirectory(dir.Write())).status(), kInvalid,
              {"cls_token", "5"});
  ModelDir bare({{"config.json", nlohmann::json::object()}});
  EXPECT_FALSE(ReadFramingTokens(ModelSource::OfDirectory(bare.Write())).value().has_value());
}

struct Malformed {
  const char* file;
  const char* pointer;
  const char* value;  // null: removed
  absl::StatusCode code;
  std::vector<std::string> message;  // parts of it, in addition to the file's name
};

void PrintTo(const Malformed& wrong, std::ostream* out) {
  *out << wrong.file << wrong.pointer << " = " << (wrong.value != nullptr ? wrong.value : "(none)");
}

class MalformedTest : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedTest, IsRejectedByFileFieldValueAndBound) {
  const Malformed& wrong = GetParam();
  ModelDir dir = GoodDir();
  dir.Change(wrong.file, wrong.pointer, wrong.value);
  std::vector<std::string> parts = wrong.message;
  parts.push_back(wrong.file);
  ExpectError(StatusOf(dir), wrong.code, parts);
}

INSTANTIATE_TEST_SUITE_P(
    Modules, MalformedTest,
    testing::Values(
        Malformed{kModules, "", "", kInvalid, {}},
        Malformed{kModules, "", "{}", kInvalid, {"not a list of 1 to 16 modules"}},
        Malformed{kModules, "", "[]", kInvalid, {"not a list of 1 to 16 modules"}},
        Malformed{
            kModules, "", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]", kInvalid, {"1 to 16"}},
        Malformed{kModules, "", R"([{"idx":0,"idx":1}])", kInvalid, {"idx"}},
        Malformed{kModules, "/1", "7", kInvalid, {"module 1", "7", "not an object"}},
        Malformed{kModules, "/1/idx", "3", kInvalid, {"module 1", "idx = 3", "[1, 1]"}},
        Malformed{kModules, "/1/idx", "-1", kInvalid, {"idx = -1"}},
        Malformed{kModules, "/1/idx", "\"1\"", kInvalid, {"idx = \"1\" is not an integer"}},
        Malformed{kModules, "/1/name", "\"0\"", kInvalid, {"name = \"0\" is another module's"}},
        Malformed{kModules, "/1/name", "5", kInvalid, {"name = 5 is not a text"}},
        Malformed{kModules, "/1/path", nullptr, kInvalid, {"module 1", "path is missing"}},
        Malformed{kModules, "/1/path", "{}", kInvalid, {"path = {} is not a text"}},
        Malformed{kModules, "/1/path", "\"../x\"", kInvalid, {"path = \"../x\" leaves"}},
        Malformed{kModules, "/1/path", "\"1_Pooling/../../x\"", kInvalid, {"leaves"}},
        Malformed{kModules, "/1/path", "\"/etc\"", kInvalid, {"path = \"/etc\" leaves"}},
        Malformed{kModules, "/1/path", "\"a\\u0000b\"", kInvalid, {"leaves"}},
        Malformed{kModules, "/1/type", nullptr, kInvalid, {"type is missing"}},
        Malformed{kModules, "/1/type", "1", kInvalid, {"type = 1 is not a text"}},
        Malformed{kModules, "/1/type", "\"os.system\"", kUnimplemented, {"\"os.system\""}},
        Malformed{kModules,
                  "/1/type",
                  "\"sentence_transformers.models.CNN\"",
                  kUnimplemented,
                  {"module 1", "\"CNN\""}},
        Malformed{kModules, "/1", nullptr, kInvalid, {"idx = 2"}},
        Malformed{kModules,
                  "/0/type",
                  "\"sentence_transformers.models.CLIPModel\"",
                  kUnimplemented,
                  {"module 0", "\"CLIPModel\""}},
        Malformed{kModules,
                  "/2/type",
                  "\"sentence_transformers.models.Pooling\"",
                  kUnimplemented,
                  {"module 2", "\"Pooling\"", "once each"}},
        Malformed{kModules,
                  "/2/type",
                  "\"sentence_transformers.models.Normalize\"",
                  kUnimplemented,
                  {"module 3", "\"Normalize\""}},
        Malformed{kModules,
                  "/2/type",
                  "\"sentence_transformers.models.LayerNorm\"",
                  kUnimplemented,
                  {"\"LayerNorm\""}}));

INSTANTIATE_TEST_SUITE_P(
    PoolingFile, MalformedTest,
    testing::Values(
        Malformed{kPooling, "", nullptr, kNotFound, {"is missing"}},
        Malformed{kPooling, "", "[]", kInvalid, {"not a JSON object"}},
        Malformed{kPooling, "", "{\"word_embedding_dimension\": 1e999}", kInvalid, {}},
        Malformed{kPooling, "", "{\"word_embedding_dimension\": NaN}", kInvalid, {}},
        Malformed{kPooling,
                  "/word_embedding_dimension",
                  nullptr,
                  kInvalid,
                  {"word_embedding_dimension is missing"}},
        Malformed{kPooling, "/word_embedding_dimension", "0", kInvalid, {"= 0", "[1, 1048576]"}},
        Malformed{kPooling, "/word_embedding_dimension", "-16", kInvalid, {"= -16"}},
        Malformed{kPooling,
                  "/word_embedding_dimension",
                  "18446744073709551615",
                  kInvalid,
                  {"[1, 1048576]"}},
        Malformed{kPooling, "/word_embedding_dimension", "16.5", kInvalid, {"not an integer"}},
        Malformed{kPooling, "/embedding_dimension", "\"16\"", kInvalid, {"not an integer"}},
        Malformed{kPooling,
                  "/pooling_mode_cls_token",
                  "1",
                  kInvalid,
                  {"pooling_mode_cls_token = 1 is neither true nor false"}},
        Malformed{kPooling,
                  "/pooling_mode_mean_tokens",
                  "true",
                  kUnimplemented,
                  {"pooling_mode_cls_token with pooling_mode_mean_tokens is not supported"}},
        Malformed{kPooling,
                  "/pooling_mode_lasttoken",
                  "true",
                  kUnimplemented,
                  {"pooling_mode_cls_token with pooling_mode_lasttoken"}},
        Malformed{kPooling,
                  "/pooling_mode_attention",
                  "true",
                  kUnimplemented,
                  {"pooling_mode_attention"}},
        Malformed{kPooling, "/pooling_mode", "\"max\"", kUnimplemented, {"pooling_mode = \"max\""}},
        Malformed{kPooling,
                  "/pooling_mode",
                  "\"mean_sqrt_len_tokens\"",
                  kUnimplemented,
                  {"\"mean_sqrt_len_tokens\""}},
        Malformed{
            kPooling, "/pooling_mode", "\"weightedmean\"", kUnimplemented, {"\"weightedmean\""}},
        Malformed{kPooling,
                  "/pooling_mode",
                  "[\"cls\", \"lasttoken\"]",
                  kUnimplemented,
                  {"[\"cls\",\"lasttoken\"]"}},
        Malformed{kPooling, "/pooling_mode", "[]", kInvalid, {"pooling_mode = []"}},
        Malformed{kPooling, "/pooling_mode", "3", kInvalid, {"pooling_mode = 3"}},
        Malformed{kPooling, "/include_prompt", "\"no\"", kInvalid, {"include_prompt = \"no\""}}));

INSTANTIATE_TEST_SUITE_P(
    DenseFile, MalformedTest,
    testing::Values(
        Malformed{kDense, "", nullptr, kNotFound, {"is missing"}},
        Malformed{kDense, "/in_features", nullptr, kInvalid, {"in_features is missing"}},
        Malformed{kDense, "/in_features", "8", kInvalid, {"in_features = 8 is not 16"}},
        Malformed{kDense, "/in_features", "true", kInvalid, {"in_features = true"}},
        Malformed{kDense, "/out_features", nullptr, kInvalid, {"out_features is missing"}},
        Malformed{kDense, "/out_features", "0", kInvalid, {"out_features = 0", "[1, 1048576]"}},
        Malformed{kDense, "/out_features", "1048577", kInvalid, {"1048577", "[1, 1048576]"}},
        Malformed{kDense, "/bias", "0", kInvalid, {"bias = 0"}},
        Malformed{kDense, "/activation_function", "7", kInvalid, {"activation_function = 7"}},
        Malformed{kDense,
                  "/activation_function",
                  "\"os.system\"",
                  kUnimplemented,
                  {"\"os.system\"", "Tanh"}},
        Malformed{kDense,
                  "/activation_function",
                  "\"torch.nn.modules.activation.PReLU\"",
                  kUnimplemented,
                  {"PReLU"}},
        Malformed{kDense, "/use_residual", "true", kUnimplemented, {"use_residual = true"}},
        Malformed{kDense,
                  "/module_input_name",
                  "\"token_embeddings\"",
                  kUnimplemented,
                  {"module_input_name = \"token_embeddings\""}},
        Malformed{kDense, "/module_output_name", "\"scores\"", kUnimplemented, {"\"scores\""}},
        Malformed{kNormalize,
                  "/module_input_name",
                  "\"token_embeddings\"",
                  kUnimplemented,
                  {"module_input_name = \"token_embeddings\""}}));

INSTANTIATE_TEST_SUITE_P(
    OtherFiles, MalformedTest,
    testing::Values(
        Malformed{kTransformer, "", "[1", kInvalid, {}},
        Malformed{kTransformer, "/max_seq_length", "0", kInvalid, {"= 0", "[1, 16777216]"}},
        Malformed{kTransformer, "/max_seq_length", "-5", kInvalid, {"max_seq_length = -5"}},
        Malformed{kTransformer, "/max_seq_length", "1e30", kInvalid, {"max_seq_length"}},
        Malformed{kTransformer, "/max_seq_length", "16777217", kInvalid, {"[1, 16777216]"}},
        Malformed{kTransformer, "/do_lower_case", "\"yes\"", kInvalid, {"do_lower_case"}},
        Malformed{
            kTransformer, "/transformer_task", "\"fill-mask\"", kUnimplemented, {"\"fill-mask\""}},
        Malformed{kTransformer,
                  "/modality_config",
                  R"({"text":{"method_output_name":"logits"}})",
                  kUnimplemented,
                  {"modality_config: text", "\"logits\""}},
        Malformed{kTransformer, "/modality_config", "{}", kInvalid, {"text is missing"}},
        Malformed{kTransformer,
                  "/modality_config",
                  R"({"text":{},"message":{"method_output_name":"pooler_output"}})",
                  kUnimplemented,
                  {"modality_config: message", "\"pooler_output\""}},
        Malformed{kTransformer,
                  "/modality_config",
                  R"({"text":{},"message":{"format":"other"}})",
                  kUnimplemented,
                  {"modality_config: message", "format", "\"other\""}},
        Malformed{kTransformer,
                  "",
                  R"({"modality_config":{"text":{},"message":{}},
                      "processing_kwargs":{"chat_template":{"tools":[]}}})",
                  kUnimplemented,
                  {"processing_kwargs: chat_template", "tools = []"}},
        Malformed{kTransformer,
                  "",
                  R"({"modality_config":{"text":{},"message":{}},"do_lower_case":true})",
                  kUnimplemented,
                  {"do_lower_case", "chat template"}},
        Malformed{kTransformer,
                  "/config_args",
                  R"({"num_hidden_layers":1})",
                  kUnimplemented,
                  {"config_args"}},
        Malformed{kModel, "/model_type", "\"SparseEncoder\"", kUnimplemented, {"SparseEncoder"}},
        Malformed{kModel, "/prompts", "[]", kInvalid, {"prompts = []"}},
        Malformed{kModel, "/prompts/query", "1", kInvalid, {"prompts: query = 1 is not a text"}},
        Malformed{kModel, "", R"({"prompts":{"a":"1","a":"2"}})", kInvalid, {"\"a\""}},
        Malformed{kModel,
                  "/default_prompt_name",
                  "\"nobody\"",
                  kInvalid,
                  {"default_prompt_name = \"nobody\" is not one of prompts"}},
        Malformed{kModel, "/default_prompt_name", "2", kInvalid, {"default_prompt_name = 2"}},
        Malformed{kModel, "/similarity_fn_name", "\"maxsim\"", kUnimplemented, {"\"maxsim\""}},
        Malformed{kModel, "/similarity_fn_name", "{}", kInvalid, {"similarity_fn_name = {}"}},
        Malformed{kConfig, "", nullptr, kNotFound, {"is missing"}},
        Malformed{kConfig, "/hidden_size", nullptr, kInvalid, {"hidden_size is missing"}},
        Malformed{kConfig, "/hidden_size", "32", kInvalid, {"hidden_size = 32 is not 16"}}));

TEST(SentenceTransformersTest, LongTextsAreRejectedWithSize) {
  const std::string long_text = "\"" + std::string(70'000, 'x') + "\"";
  const std::string long_name = "\"" + std::string(300, 'x') + "\"";
  for (const auto& [file, pointer, text] :
       {std::tuple(kModel, "/prompts/query", &long_text),
        std::tuple(kModel, "/default_prompt_name", &long_name),
        std::tuple(kModules, "/1/path", &long_name), std::tuple(kModules, "/1/name", &long_name),
        std::tuple(kModules, "/1/type", &long_name),
        std::tuple(kDense, "/activation_function", &long_name)}) {
    ModelDir dir = GoodDir();
    dir.Change(file, pointer, text->c_str());
    ExpectError(StatusOf(dir), kInvalid,
                {file, std::to_string(text->size() - 2) + " bytes, more than"});
  }
  ModelDir dir = GoodDir();
  dir.Change(kModel, "/prompts/" + std::string(300, 'n'), "\"\"");
  ExpectError(StatusOf(dir), kInvalid, {kModel, "name of 300 bytes, more than 256"});
}

TEST(SentenceTransformersTest, TooManyPromptsAreRejected) {
  json prompts = json::object();
  for (int i = 0; i < 1025; ++i) prompts[std::to_string(i)] = "";
  ModelDir dir = GoodDir();
  dir.Change(kModel, "/prompts", prompts.dump().c_str());
  ExpectError(StatusOf(dir), kInvalid, {kModel, "1025 members, more than 1024"});
}

TEST(SentenceTransformersTest, SymbolicLinkOutOfDirectoryIsRejected) {
  ModelDir outside = GoodDir();
  outside.Write();
  ModelDir dir = GoodDir();
  dir.Change(kModules, "/1/path", "\"link\"");
  dir.Write();
  std::filesystem::create_directory_symlink(outside.dir().Join("1_Pooling"),
                                            dir.dir().Join("link"));
  ExpectError(StatusOf(dir), kInvalid, {kModules, "module 1", "path = \"link\" leaves"});
}

TEST(SentenceTransformersTest, LinkedDirectoryIsRead) {
  ModelDir dir = GoodDir();
  const TempDir links;
  std::filesystem::create_directory_symlink(dir.Write(), links.Join("model"));
  const auto config = ReadEmbeddingConfig(ModelSource::OfDirectory(links.Join("model")));
  EXPECT_TRUE(config.ok()) << config.status();
}

TEST(SentenceTransformersTest, NoOldFlagMeansMeanPooling) {
  ModelDir dir = GoodDir();
  dir.Change(kPooling, "/pooling_mode_cls_token", "false");
  const auto config = ReadEmbeddingConfig(ModelSource::OfDirectory(dir.Write()));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->pooling, Pooling::kMean);
}

TEST(SentenceTransformersTest, EachUnsupportedFlagIsRejectedByName) {
  for (const char* flag : {"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
                           "pooling_mode_weightedmean_tokens"}) {
    ModelDir dir = GoodDir();
    dir.Change(kPooling, "/pooling_mode_cls_token", "false");
    dir.Change(kPooling, std::string("/") + flag, "true");
    ExpectError(StatusOf(dir), kUnimplemented, {kPooling, std::string(flag) + " is not supported"});
  }
}

TEST(SentenceTransformersTest, ModulesWithoutPoolingAreRejected) {
  ModelDir dir = GoodDir();
  for (int i = 0; i < 3; ++i) dir.Change(kModules, "/1", nullptr);
  ExpectError(StatusOf(dir), kInvalid, {kModules, "no Pooling"});
}

TEST(SentenceTransformersTest, TransformerMayHaveItsOwnDirectory) {
  ModelDir dir = GoodDir();
  dir.Change(kModules, "/0/path", "\"0_Transformer\"");
  dir.Change(kConfig, "", nullptr);
  dir.Change("0_Transformer/config.json", "/hidden_size", "16");
  dir.Change("0_Transformer/sentence_xlm-roberta_config.json", "/max_seq_length", "77");
  const auto config = ReadEmbeddingConfig(ModelSource::OfDirectory(dir.Write()));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->transformer.path(), dir.dir().Join("0_Transformer"));
  EXPECT_EQ(config->max_seq_len, 77);
}

TEST(SentenceTransformersTest, TokenizerMaximumIsFallback) {
  const std::pair<const char*, std::optional<int64_t>> cases[] = {
      {"512", 512}, {"1000000000000000019884624838656", std::nullopt}, {"1e30", std::nullopt}};
  for (const auto& [value, want] : cases) {
    ModelDir dir = GoodDir();
    dir.Change(kTransformer, "/max_seq_length", nullptr);
    dir.Change("tokenizer_config.json", "/model_max_length", value);
    const auto config = ReadEmbeddingConfig(ModelSource::OfDirectory(dir.Write()));
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->max_seq_len, want) << value;
  }
  ModelDir dir = GoodDir();
  dir.Change(kTransformer, "/max_seq_length", nullptr);
  dir.Change("tokenizer_config.json", "/model_max_length", "-1");
  ExpectError(StatusOf(dir), kInvalid, {"tokenizer_config.json", "model_max_length = -1"});
  dir.Change("tokenizer_config.json", "/model_max_length", "\"512\"");
  ExpectError(StatusOf(dir), kInvalid, {"tokenizer_config.json", "model_max_length = \"512\""});
}

TEST(SentenceTransformersTest, WithoutModulesArchitectureDecides) {
  const std::pair<const char*, Pooling> cases[] = {
      {"BertModel", Pooling::kCls},         {"XLMRobertaModel", Pooling::kCls},
      {"ModernBertModel", Pooling::kCls},   {"Contriever", Pooling::kMean},
      {"RobertaModel", Pooling::kCls},      {"DistilBertModel", Pooling::kCls},
      {"Qwen3ForCausalLM", Pooling::kLast}, {"MistralModel", Pooling::kLast},
      {"LlamaForCausalLM", Pooling::kLast}, {"Qwen2ForCausalLM", Pooling::kLast}};
  for (const auto& [architecture, pooling] : cases) {
    ModelDir dir({{kConfig, {{"architectures", {architecture}}, {"hidden_size", 7}}}});
    const auto config = ReadEmbeddingConfig(ModelSource::OfDirectory(dir.Write()));
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->pooling, pooling) << architecture;
    EXPECT_EQ(config->hidden, 7);
    EXPECT_TRUE(config->normalize);
    EXPECT_EQ(config->transformer.path(), dir.dir().path());
  }
  ModelDir unknown({{kConfig, {{"architectures", {"T5EncoderModel"}}, {"hidden_size", 7}}}});
  ExpectError(StatusOf(unknown), kUnimplemented,
              {kConfig, "\"T5EncoderModel\"", "T5, an encoder-decoder", "encoders of BERT"});
  for (const char* list : {"[]", "3", "[\"BertModel\", \"BertModel\"]", "[4]"}) {
    unknown.Change(kConfig, "/architectures", list);
    ExpectError(StatusOf(unknown), kInvalid, {kConfig, "architectures"});
  }
  unknown.Change(kConfig, "/architectures", nullptr);
  ExpectError(StatusOf(unknown), kInvalid, {kConfig, "architectures is missing"});
}

TEST(SentenceTransformersTest, UnsupportedArchitecturesAreRejectedByName) {
  ModelDir dir = GoodDir();
  for (const char* name : {"T5EncoderModel", "MPNetModel", "GPT2Model", "SiglipModel"}) {
    dir.Change(kConfig, "/architectures", (std::string("[\"") + name + "\"]").c_str());
    dir.Change(kConfig, "/hidden_size", nullptr);
    ExpectError(StatusOf(dir), kUnimplemented, {"config.json", name, "ModernBERT"});
  }
}

TEST(SentenceTransformersTest, Eagle3HeadIsNotAnEncoder) {
  ModelDir dir({{kConfig, {{"architectures", {"LlamaForCausalLM"}}, {"hidden_size", 2}}}});
  const StoredTensor fc =
      MakeTensor("fc.weight", {2, 6}, std::vector<float>(12, 0.5f), DType::kF32);
  dir.Write();
  ASSERT_TRUE(WriteSafetensors(dir.dir().Join("model.safetensors"), {fc}).ok());
  ExpectError(StatusOf(dir), kUnimplemented, {"EAGLE-3", "fc.weight"});
}

class DenseWeightsTest : public testing::Test {
 protected:
  /// The status of loading the good directory with these weights of its Dense.
  absl::Status Load(const std::vector<StoredTensor>& tensors) {
    ModelDir dir = GoodDir();
    const auto config = ReadEmbeddingConfig(ModelSource::OfDirectory(dir.Write()));
    EXPECT_TRUE(config.ok()) << config.status();
    EXPECT_TRUE(WriteSafetensors(dir.dir().Join("2_Dense/model.safetensors"), tensors).ok());
    return Pooler::Load(*config, pool_).status();
  }

  const StoredTensor weight_ =
      MakeTensor("linear.weight", {4, 16}, std::vector<float>(64, 0.5f), DType::kBf16);
  const StoredTensor bias_ = MakeTensor("linear.bias", {4}, {1, 2, 3, 4}, DType::kF16);
  ThreadPool pool_{/*num_threads=*/1};
};

TEST_F(DenseWeightsTest, AreReadInAnyFloatType) { EXPECT_TRUE(Load({weight_, bias_}).ok()); }

TEST_F(DenseWeightsTest, MissingWrongAndUnknownTensorsAreRejected) {
  ExpectError(Load({weight_}), kNotFound, {"2_Dense", "linear.bias"});
  ExpectError(Load({bias_}), kNotFound, {"2_Dense", "linear.weight"});
  const StoredTensor narrow =
      MakeTensor("linear.weight", {4, 8}, std::vector<float>(32, 0.5f), DType::kF32);
  ExpectError(Load({narrow, bias_}), kInvalid, {"linear.weight", "[4, 8]", "[4, 16]"});
  const StoredTensor nan = MakeTensor("linear.bias", {4}, {0, 0, NAN, 0}, DType::kF32);
  ExpectError(Load({weight_, nan}), kInvalid, {"linear.bias", "NaN"});
  const StoredTensor extra = MakeTensor("residual.weight", {1}, {0}, DType::kF32);
  ExpectError(Load({weight_, bias_, extra}), kInvalid, {"residual.weight"});
}

TEST_F(DenseWeightsTest, MissingFilesAreRejected) {
  ModelDir dir = GoodDir();
  const auto config = ReadEmbeddingConfig(ModelSource::OfDirectory(dir.Write()));
  ASSERT_TRUE(config.ok()) << config.status();
  ExpectError(Pooler::Load(*config, pool_).status(), kNotFound, {"2_Dense", "no weights"});
}

}  // namespace
}  // namespace shortlist
