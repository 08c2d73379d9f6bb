#include "text/tokenizer/tokenizer_class.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/text/test_util.h"
#include "text/tokenizer/json_tokenizer.h"
#include "text/tokenizer_config.h"

namespace shortlist {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

const json& Golden() {
  static const json golden = json::parse(
      ReadAll(std::string(SHORTLIST_SOURCE_DIR) + "/tests/reference/golden/tokenizer_config.json"));
  return golden;
}

const json& Document(const std::string& name) { return Golden()["tokenizers"][name]; }

std::vector<int> Raws(const std::vector<TokenId>& ids) {
  std::vector<int> raw;
  for (const TokenId id : ids) raw.push_back(Raw(id));
  return raw;
}

std::vector<int> Ids(const Tokenizer& tokenizer, const std::string& text) {
  const auto ids = tokenizer.Encode(text, {.parse_special = true});
  EXPECT_TRUE(ids.ok()) << ids.status();
  return ids.ok() ? Raws(*ids) : std::vector<int>();
}

/// As transformers has it (tests/reference/make_tokenizer_config_golden.py).
TEST(TokenizerConfigTest, OptionsAndSpecialTokensFollowReference) {
  for (const json& row : Golden()["rows"]) {
    SCOPED_TRACE(row["name"].get<std::string>());
    json config = row["config"];
    if (!row["special_tokens_map"].is_null()) {
      ASSERT_TRUE(
          AddSpecialTokensMap(row["special_tokens_map"], row["transformers"] == 4, config).ok());
    }
    const auto tokenizer =
        ParseJsonTokenizer(Document(row["tokenizer"]), config, row["model_config"]);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    const std::vector<std::string> texts = row["texts"];
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::vector<int> expected = row["ids"][i];
      EXPECT_THAT(Ids(**tokenizer, texts[i]), ElementsAreArray(expected)) << json(texts[i]);
    }
    const auto pair = (*tokenizer)
                          ->EncodeSequence(texts[0], texts[1], {.parse_special = true},
                                           Truncation{.max_len = 1000});
    ASSERT_TRUE(pair.ok()) << pair.status();
    const std::vector<int> expected = row["pair"];
    EXPECT_THAT(Raws(pair->ids), ElementsAreArray(expected));
    std::vector<int> special;
    for (int id = 0; id < (*tokenizer)->size(); ++id) {
      if ((*tokenizer)->IsSpecial(TokenId{id})) special.push_back(id);
    }
    std::vector<int> expected_special = row["special"];
    if (row["config"].value("tokenizer_class", "") == "T5Tokenizer") {
      // The class adds a hundred <extra_id_N> that are not there, from id 20 on.
      std::erase_if(expected_special, [](int id) { return id >= 20; });
    }
    EXPECT_THAT(special, ElementsAreArray(expected_special));
    EXPECT_THAT((*tokenizer)->warnings(), ::testing::IsEmpty());
  }
}

TEST(TokenizerConfigTest, NamedTokenWithoutEmbeddingIsTextWithWarning) {
  const json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                       {"pad_token", "<n2>"},
                       {"image_token", "<n1>"},
                       {"cls_token", "<n2>"}};
  const int size = static_cast<int>(Document("bytes")["model"]["vocab"].size());
  const auto open = [&](const json& model_config) {
    auto tokenizer = ParseJsonTokenizer(Document("bytes"), config, model_config);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    return *std::move(tokenizer);
  };
  for (const json& rows :
       {json{{"vocab_size", size}}, json{{"text_config", {{"vocab_size", 3}}}}}) {
    const auto tokenizer = open(rows);
    EXPECT_EQ(tokenizer->size(), size);
    EXPECT_GT(Ids(*tokenizer, "<n1>").size(), 1u);
    EXPECT_THAT(tokenizer->warnings(),
                ElementsAre(HasSubstr("pad_token \"<n2>\" is not in the vocabulary"),
                            HasSubstr("cls_token \"<n2>\""), HasSubstr("image_token \"<n1>\"")));
  }
  const auto with_one = open({{"vocab_size", size + 1}});
  EXPECT_THAT(Ids(*with_one, "<n2>"), ElementsAre(size));
  EXPECT_GT(Ids(*with_one, "<n1>").size(), 1u);
  EXPECT_THAT(with_one->warnings(), ElementsAre(HasSubstr("image_token \"<n1>\"")));
  const auto with_both = open({{"vocab_size", size + 2}});
  EXPECT_THAT(Ids(*with_both, "<n1>"), ElementsAre(size + 1));
  EXPECT_THAT(with_both->warnings(), ::testing::IsEmpty());
}

TEST(TokenizerConfigTest, CheckpointVersionDecides) {
  const auto source = [&](json config, const json& model_config) {
    config["tokenizer_class"] = "LlamaTokenizer";
    const auto parts = PartsOfClass(Document("sentencepiece"), config, model_config);
    EXPECT_TRUE(parts.ok()) << parts.status();
    return std::string(parts->pre_tokenizer.is_null() ? "file" : "class");
  };
  const json none = json::object();
  EXPECT_EQ(source(none, none), "class");
  EXPECT_EQ(source(none, {{"transformers_version", "4.31.0.dev0"}}), "file");
  EXPECT_EQ(source(none, {{"transformers_version", "5.1.0"}}), "class");
  EXPECT_EQ(source({{"transformers_version", "4.9"}}, none), "file");
  EXPECT_EQ(source(none, {{"transformers_version", "of another kind"}}), "class");
  EXPECT_EQ(source(none, {{"transformers_version", 4}}), "class");
  const json older = {{"clean_up_tokenization_spaces", false}};
  EXPECT_EQ(source(older, none), "file");
  EXPECT_EQ(source(older, {{"transformers_version", "5.0.0"}}), "class");
  EXPECT_EQ(source({{"clean_up_tokenization_spaces", false}, {"backend", "tokenizers"}}, none),
            "class");
}

TEST(TokenizerConfigTest, MismatchedClassIsWarning) {
  const auto warnings = [](const char* document, const json& config, const json& model_config) {
    const auto tokenizer = ParseJsonTokenizer(Document(document), config, model_config);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    const auto found = (*tokenizer)->warnings();
    return std::vector<std::string>(found.begin(), found.end());
  };
  const json none = json::object();
  EXPECT_THAT(warnings("bytes", {{"tokenizer_class", "BertTokenizerFast"}}, none),
              ElementsAre(HasSubstr("tokenizer_class BertTokenizer is one of WordPiece, but "
                                    "tokenizer.json holds byte-level BPE")));
  EXPECT_THAT(
      warnings("sentencepiece", {{"tokenizer_class", "LlamaTokenizer"}}, {{"model_type", "qwen2"}}),
      ElementsAre(HasSubstr("the class of model_type qwen2 is one of byte-level BPE, but "
                            "tokenizer.json holds BPE with marks for spaces")));
  EXPECT_THAT(warnings("t5", {{"tokenizer_class", "LlamaTokenizer"}}, none),
              ElementsAre(HasSubstr("but tokenizer.json holds Unigram")));
  EXPECT_THAT(warnings("xlm_r", {{"tokenizer_class", "MBartTokenizer"}}, none),
              ElementsAre(HasSubstr("tokenizer_class MBartTokenizer is built anew by transformers, "
                                    "which is not done here: tokenizer.json counts as it is")));
  EXPECT_THAT(warnings("xlm_r", json::object(), {{"model_type", "mbart"}}),
              ElementsAre(HasSubstr("the class of model_type mbart is built anew by transformers, "
                                    "which is not done here: tokenizer.json counts as it is")));
  EXPECT_THAT(warnings("xlm_r", {{"tokenizer_class", "PreTrainedTokenizerFast"}},
                       {{"model_type", "mbart"}}),
              ::testing::IsEmpty());
  // Transformers 4 took the file as it was.
  const json older = {{"transformers_version", "4.44.0"}};
  EXPECT_THAT(warnings("bytes", {{"tokenizer_class", "BertTokenizerFast"}}, older),
              ::testing::IsEmpty());
  EXPECT_THAT(warnings("xlm_r", {{"tokenizer_class", "MBartTokenizer"}}, older),
              ::testing::IsEmpty());
  EXPECT_THAT(warnings("bytes", {{"tokenizer_class", "SomebodysTokenizer"}}, none),
              ::testing::IsEmpty());
}

TEST(TokenizerConfigTest, WrongOptionTypesAreRejectedByName) {
  const auto error = [](const char* document, const json& config) {
    const auto tokenizer = ParseJsonTokenizer(Document(document), config);
    EXPECT_EQ(tokenizer.status().code(), absl::StatusCode::kInvalidArgument) << config;
    return std::string(tokenizer.status().message());
  };
  for (const char* name : {"do_lower_case", "strip_accents", "tokenize_chinese_chars"}) {
    EXPECT_THAT(error("bert", {{"tokenizer_class", "BertTokenizer"}, {name, "yes"}}),
                HasSubstr(std::string(name) + " is neither true, false nor null"));
  }
  EXPECT_THAT(error("bytes", {{"tokenizer_class", "GPT2Tokenizer"}, {"add_prefix_space", 1}}),
              HasSubstr("add_prefix_space"));
  EXPECT_THAT(error("bytes", {{"extra_special_tokens", 3}}),
              HasSubstr("extra_special_tokens is neither a list nor an object"));
  EXPECT_THAT(error("bytes", {{"additional_special_tokens", json::array({1})}}),
              HasSubstr("additional_special_tokens is not a token"));
  EXPECT_THAT(error("bytes", {{"pad_token", 7}}), HasSubstr("pad_token is not a token"));
  EXPECT_THAT(error("bytes", {{"pad_token", {{"content", "<u>"}, {"lstrip", "x"}}}}),
              HasSubstr("lstrip"));
}

TEST(TokenizerConfigTest, SplitSpecialTokensAreRejectedByName) {
  const auto status = [](const json& value) {
    return ParseJsonTokenizer(Document("bytes"), {{"split_special_tokens", value}}).status();
  };
  EXPECT_TRUE(status(false).ok());
  EXPECT_TRUE(status(nullptr).ok());
  EXPECT_EQ(status(true).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status(true).message()),
              HasSubstr("split_special_tokens is true, which is not supported: set it to false"));
  EXPECT_THAT(std::string(status("true").message()), HasSubstr("split_special_tokens"));
  EXPECT_FALSE(ParseTokenizerConfig({{"split_special_tokens", true}}).ok());
}

TEST(TokenizerConfigTest, AnyMemberTypeGivesErrorOrTokenizer) {
  const std::vector<json> values = {
      nullptr, true,          -1,         1e300,          "",
      "x",     json::array(), {"a", "b"}, json::object(), {{"content", ""}, {"special", 3}}};
  const std::vector<std::string> names = {
      "tokenizer_class", "add_prefix_space",     "do_lower_case",
      "legacy",          "keep_accents",         "cls_token",
      "sep_token",       "extra_special_tokens", "added_tokens_decoder",
      "x_token",         "transformers_version", "model_specific_special_tokens"};
  for (const char* type : {"BertTokenizer", "RobertaTokenizer", "LlamaTokenizer", "AlbertTokenizer",
                           "DebertaV2Tokenizer", "XLMRobertaTokenizer", "CLIPTokenizer"}) {
    for (const std::string& name : names) {
      for (const json& value : values) {
        json config = {{"tokenizer_class", type}};
        config[name] = value;
        const auto tokenizer = ParseJsonTokenizer(Document("bytes"), config, config);
        if (tokenizer.ok()) (*tokenizer)->Encode("ab <u>").IgnoreError();
      }
    }
  }
}

TEST(TokenizerConfigTest, ReadsFilesNextToTokenizer) {
  const auto dir = FreshDir();
  std::ofstream(dir / "tokenizer.json") << Document("bytes");
  std::ofstream(dir / "special_tokens_map.json") << R"({"pad_token": "<u>"})";
  std::ofstream(dir / "tokenizer_config.json") << R"({"tokenizer_class": "GPT2Tokenizer"})";
  const auto ids = [&] {
    return Ids(**OpenTokenizer(ModelSource::OfDirectory(dir.string())), "a<u>");
  };
  const json& vocab = Document("bytes")["model"]["vocab"];
  const int u = vocab["<u>"], a = vocab["a"], space_a = vocab["\u0120a"];
  EXPECT_THAT(ids(), ElementsAre(a, u));
  std::ofstream(dir / "tokenizer_config.json") << R"({"add_prefix_space": true})";
  EXPECT_THAT(ids(), ElementsAre(a, u));
  std::ofstream(dir / "config.json") << R"({"model_type": "gpt2"})";
  EXPECT_THAT(ids(), ElementsAre(space_a, u));
  std::ofstream(dir / "config.json") << "[]";
  EXPECT_THAT(std::string(OpenTokenizer(ModelSource::OfDirectory(dir.string())).status().message()),
              HasSubstr("config.json: not a JSON object"));
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace shortlist
