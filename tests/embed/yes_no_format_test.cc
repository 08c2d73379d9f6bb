#include "embed/yes_no_format.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/embed/embed_testing.h"
#include "tests/embed/model_dir.h"

namespace shortlist {
namespace {

using Kind = YesNoFormat::Kind;

constexpr char kConfig[] = "config.json";
constexpr char kTemplate[] = "chat_template.jinja";
constexpr char kModules[] = "modules.json";

ModelDir DirOf(const char* architecture) {
  return ModelDir({{kConfig, {{"architectures", {architecture}}}}});
}

/// As Qwen3-Reranker's template is, but for what stands between its parts.
std::string RerankerTemplate(const std::string& separator) {
  return "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query "
         "and the Instruct provided. Note that the answer can only be \"yes\" or "
         "\"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: {{ instruct | default(\"Find it\") }}" +
         separator + "<Query>: {{ messages[0].content }}" + separator +
         "<Document>: {{ messages[1].content }}<|im_end|>\n<|im_start|>assistant\n"
         "<think>\n\n</think>\n\n\n";
}

std::string Text(const std::vector<PromptPiece>& pieces) {
  std::string text;
  for (const PromptPiece& piece : pieces) text += piece.text;
  return text;
}

TEST(YesNoFormatTest, ChatTemplateGivesSeparator) {
  for (const char* separator : {"\n", "\n\n"}) {
    ModelDir dir = DirOf("Qwen2ForCausalLM");
    dir.Change(kTemplate, "", RerankerTemplate(separator).c_str());
    const auto format = DetectYesNoFormat(ModelSource::OfDirectory(dir.Write()), "my/model");
    ASSERT_TRUE(format.ok()) << format.status();
    ASSERT_TRUE(format->has_value());
    EXPECT_EQ((*format)->kind, Kind::kQwen3);
    EXPECT_EQ((*format)->separator, separator);
    EXPECT_EQ((*format)->instruction, "Find it");
    EXPECT_EQ((*format)->suffix_end, "\n\n");
  }
}

TEST(YesNoFormatTest, ChatTemplateMayConcatenateStrings) {
  ModelDir dir = DirOf("Qwen3ForCausalLM");
  std::string text = RerankerTemplate("\n\n");
  text.resize(text.find("\n\n\n"));
  // As newer sentence-transformers write it; the file's own line break does not count.
  for (const char* end :
       {"{{ '\\n\\n' }}\n", "{{- \"\\n\\n\" -}}", "\n{% if x %}\n{% endif %}\n"}) {
    dir.Change(kTemplate, "", (text + end).c_str());
    const auto format = DetectYesNoFormat(ModelSource::OfDirectory(dir.Write()), "");
    ASSERT_TRUE(format.ok()) << format.status();
    ASSERT_TRUE(format->has_value());
    EXPECT_EQ((*format)->separator, "\n\n");
    EXPECT_EQ((*format)->suffix_end, "\n\n") << end;
  }
}

TEST(YesNoFormatTest, ChatTemplateWithOtherPromptIsRejected) {
  const std::pair<const char*, const char*> changes[] = {
      {"Judge whether", "Tell whether"},
      {"<Query>:", "<Ask>:"},
      {"<think>\n\n</think>", ""},
      {"</think>", "</think> <more>"},
  };
  for (const auto& [from, to] : changes) {
    std::string text = RerankerTemplate("\n");
    text.replace(text.find(from), std::string_view(from).size(), to);
    ModelDir dir = DirOf("Qwen3ForCausalLM");
    dir.Change(kTemplate, "", text.c_str());
    ExpectError(DetectYesNoFormat(ModelSource::OfDirectory(dir.Write()), "m").status(),
                absl::StatusCode::kUnimplemented, {dir.dir().path(), "as Qwen3-Reranker's has it"});
  }
}

TEST(YesNoFormatTest, ChatTemplateWithOtherSeparatorsIsRejected) {
  for (const char* separator : {"", "\n\n\n", " "}) {
    ModelDir dir = DirOf("Qwen3ForCausalLM");
    dir.Change(kTemplate, "", RerankerTemplate(separator).c_str());
    ExpectError(DetectYesNoFormat(ModelSource::OfDirectory(dir.Write()), "m").status(),
                absl::StatusCode::kUnimplemented, {dir.dir().path(), "<Query>"});
  }
}

TEST(YesNoFormatTest, NameAndArchitectureDecideWithoutTemplate) {
  struct Case {
    const char* architecture;
    const char* model;
    std::optional<Kind> kind;
  };
  for (const auto& [architecture, model, kind] :
       {Case{"Qwen3ForCausalLM", "Qwen/Qwen3-Reranker-0.6B", Kind::kQwen3},
        Case{"Qwen3ForCausalLM", "/models/qwen3-reranker-8b/", Kind::kQwen3},
        Case{"Qwen3ForCausalLM", "Qwen/Qwen3-Reranker-4B@main", Kind::kQwen3},
        Case{"Qwen3ForCausalLM", "qwen3-reranker-0.6b/", Kind::kQwen3},
        Case{"Qwen3ForCausalLM", "Qwen/Qwen3-0.6B", std::nullopt},
        Case{"Qwen3ForCausalLM", "/qwen3-reranker/other", std::nullopt},
        Case{"LlamaForCausalLM", "Qwen/Qwen3-Reranker-0.6B", std::nullopt},
        Case{"GemmaForCausalLM", "BAAI/bge-reranker-v2-gemma", Kind::kBgeGemma},
        Case{"Gemma2ForCausalLM", "BAAI/bge-reranker-v2.5-gemma2-lightweight", std::nullopt},
        Case{"GemmaForCausalLM", "google/gemma-2b", std::nullopt},
        Case{"GemmaForCausalLM", "", std::nullopt}}) {
    ModelDir dir = DirOf(architecture);
    const auto format = DetectYesNoFormat(ModelSource::OfDirectory(dir.Write()), model);
    ASSERT_TRUE(format.ok()) << format.status();
    ASSERT_EQ(format->has_value(), kind.has_value()) << model;
    if (kind) {
      EXPECT_EQ((*format)->kind, *kind);
    }
  }
}

TEST(YesNoFormatTest, CacheDirectoryHasModelName) {
  ModelDir dir = DirOf("Qwen3ForCausalLM");
  const std::string written = dir.Write();
  const std::string snapshot = written + "/models--Qwen--Qwen3-Reranker-0.6B/snapshots/abc";
  std::filesystem::create_directories(snapshot);
  std::filesystem::copy(written + "/config.json", snapshot + "/config.json");
  const auto format = DetectYesNoFormat(ModelSource::OfDirectory(snapshot), snapshot);
  ASSERT_TRUE(format.ok()) << format.status();
  EXPECT_TRUE(format->has_value());
}

TEST(YesNoFormatTest, PlainChatModelIsNotReranker) {
  ModelDir dir = DirOf("Qwen3ForCausalLM");
  dir.Change(kTemplate, "", "{% for message in messages %}{{ message.content }}{% endfor %}");
  const auto format = DetectYesNoFormat(ModelSource::OfDirectory(dir.Write()), "Qwen/Qwen3-0.6B");
  ASSERT_TRUE(format.ok()) << format.status();
  EXPECT_FALSE(format->has_value());
}

TEST(YesNoFormatTest, LogitScoreModuleNamesTokens) {
  ModelDir dir = DirOf("Qwen3ForCausalLM");
  dir.Change(kModules, "",
             R"([{"path": "", "type": "sentence_transformers.base.modules.Transformer"},
      {"path": "1_LogitScore", "type": "sentence_transformers.cross_encoder.modules.LogitScore"}])");
  constexpr char kScore[] = "1_LogitScore/config.json";
  dir.Change(kScore, "", R"({"true_token_id": 9693, "false_token_id": 2152})");
  constexpr char kModel[] = "Qwen/Qwen3-Reranker-0.6B";
  auto format = DetectYesNoFormat(ModelSource::OfDirectory(dir.Write()), kModel);
  ASSERT_TRUE(format.ok()) << format.status();
  EXPECT_EQ((*format)->yes_id, TokenId{9693});
  EXPECT_EQ((*format)->no_id, TokenId{2152});
  dir.Change(kScore, "", R"({"true_token_id": 5, "false_token_id": null})");
  format = DetectYesNoFormat(ModelSource::OfDirectory(dir.Write()), kModel);
  ASSERT_TRUE(format.ok()) << format.status();
  EXPECT_FALSE((*format)->no_id.has_value());

  const auto refuse = [&](const char* text, const char* message) {
    dir.Change(kScore, "", text);
    ExpectError(DetectYesNoFormat(ModelSource::OfDirectory(dir.Write()), kModel).status(),
                absl::StatusCode::kInvalidArgument, {kScore, message});
  };
  refuse("{}", "true_token_id is missing");
  refuse(R"({"true_token_id": -1})", "true_token_id = -1 not in [0, 2147483647]");
  refuse(R"({"true_token_id": 1, "false_token_id": "no"})", "false_token_id");
  refuse(R"({"true_token_id": 4294967296})", "4294967296");

  dir.Change(kScore, "", R"({"true_token_id": 5})");
  constexpr char kTransformer[] = "sentence_bert_config.json";
  dir.Change(kTransformer, "", R"({"modality_config": {"text": {}}})");
  ExpectError(DetectYesNoFormat(ModelSource::OfDirectory(dir.Write()), kModel).status(),
              absl::StatusCode::kUnimplemented,
              {kTransformer, "modality_config", "without the chat template"});
  dir.Change(kTransformer, "", R"({"modality_config": {"text": {}, "message": {}}})");
  ExpectError(DetectYesNoFormat(ModelSource::OfDirectory(dir.Write()), kModel).status(),
              absl::StatusCode::kUnimplemented,
              {kTransformer, "modality_config", "only Qwen3-Reranker's is"});
}

TEST(YesNoFormatTest, DamagedFilesAreRejected) {
  ModelDir dir = DirOf("Qwen3ForCausalLM");
  dir.Change(kTemplate, "", "{% if %}");
  ExpectError(DetectYesNoFormat(ModelSource::OfDirectory(dir.Write()), "m").status(),
              absl::StatusCode::kInvalidArgument, {});
  ModelDir other = DirOf("Qwen3ForCausalLM");
  other.Change(kConfig, "", "{");
  ExpectError(DetectYesNoFormat(ModelSource::OfDirectory(other.Write()), "m").status(),
              absl::StatusCode::kInvalidArgument, {kConfig});
}

TEST(YesNoFormatTest, Qwen3PromptMatchesModelCard) {
  const YesNoFormat format;
  const std::vector<PromptPiece> prefix = format.Prefix("", "what is a <|im_end|>?");
  EXPECT_EQ(Text(prefix) + format.Document("A token.").text + Text(format.Suffix("")),
            "<|im_start|>system\nJudge whether the Document meets the requirements based on the "
            "Query and the Instruct provided. Note that the answer can only be \"yes\" or "
            "\"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a web search query, retrieve "
            "relevant passages that answer the query\n<Query>: what is a <|im_end|>?\n<Document>: "
            "A token.<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
  for (const PromptPiece& piece : prefix) {
    EXPECT_EQ(piece.is_template, piece.text.find("what is") == std::string::npos);
  }
  EXPECT_FALSE(format.Document("x").is_template);
  EXPECT_TRUE(format.Suffix("")[0].is_template);
  EXPECT_FALSE(format.begins_with_bos());
  EXPECT_EQ(format.yes_token(), "yes");
  EXPECT_EQ(format.no_token(), "no");
}

TEST(YesNoFormatTest, InstructionReplacesDefault) {
  YesNoFormat format;
  format.separator = "\n\n";
  EXPECT_EQ(format.Prefix("Find code.", "q")[1].text,
            "<Instruct>: Find code.\n\n<Query>: q\n\n<Document>:");
  format.kind = Kind::kBgeGemma;
  EXPECT_EQ(format.Suffix("Find code.")[1].text, "Find code.");
}

TEST(YesNoFormatTest, BgeGemmaPromptMatchesModelCard) {
  YesNoFormat format;
  format.kind = Kind::kBgeGemma;
  const std::vector<PromptPiece> prefix = {{.text = "A: q"}, {.text = "\n"}};
  EXPECT_EQ(format.Prefix("", "q"), prefix);
  EXPECT_EQ(format.Document("d"), (PromptPiece{.text = "B: d"}));
  EXPECT_EQ(Text(format.Suffix("")),
            "\nGiven a query A and a passage B, determine whether the passage contains an answer "
            "to the query by providing a prediction of either 'Yes' or 'No'.");
  EXPECT_TRUE(format.begins_with_bos());
  EXPECT_EQ(format.yes_token(), "Yes");
  EXPECT_EQ(format.no_token(), "");
}

}  // namespace
}  // namespace shortlist
