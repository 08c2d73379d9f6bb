#include "runtime/message_prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/thread_pool.h"
#include "nlohmann/json.hpp"
#include "runtime/encoding_model.h"
#include "tests/runtime/tiny_encoder.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr char kFlat[] =
    "{% for m in messages %}[CLS] {{ m.role }} : {{ m.content }} [SEP] {% endfor %}";

std::vector<int32_t> RawIds(const EncodeInput& input) {
  std::vector<int32_t> ids;
  for (const TokenId id : input.ids) ids.push_back(Raw(id));
  return ids;
}

class MessagePromptTest : public testing::Test {
 protected:
  /// A BERT, or a classifier, with `files`.
  absl::Status Open(const json& files, bool is_classifier) {
    TinyEncoder& tiny = tiny_.emplace(is_classifier ? "bert_classification" : "bert");
    if (!is_classifier) tiny.AddModules(/*normalize=*/false);
    for (const auto& [name, contents] : files.items()) tiny.AddFile(name, contents);
    auto model = EncodingModel::Open({.model = tiny.Write()}, pool_);
    if (model.ok()) model_ = *std::move(model);
    return model.status();
  }

  absl::StatusOr<EncodeInput> Prepare(const std::string& text,
                                      std::optional<std::string_view> second,
                                      const EncodingModel::Cut& cut) {
    return model_->Prepare("", text, second, cut);
  }

  ThreadPool pool_{/*num_threads=*/1};
  std::optional<TinyEncoder> tiny_;
  std::unique_ptr<EncodingModel> model_;
};

/// tests/reference/make_messages_golden.py.
TEST_F(MessagePromptTest, InputsMatchSentenceTransformers) {
  const json cases =
      ReadJsonFile(SourcePath("tests/reference/golden/messages.json"), 1 << 20).value();
  ASSERT_FALSE(cases.empty());
  for (const json& golden : cases) {
    SCOPED_TRACE(golden["name"].get<std::string>());
    const bool is_pair = !golden["second"].is_null();
    const absl::Status opened = Open(golden["files"], is_pair);
    std::optional<std::string> second;
    if (is_pair) second = golden["second"].get<std::string>();
    const auto input = opened.ok() ? model_->Prepare(golden["prompt"].get<std::string>(),
                                                     golden["text"].get<std::string>(), second,
                                                     {.truncates = true})
                                   : absl::StatusOr<EncodeInput>(opened);
    if (golden["ids"].is_null()) {
      EXPECT_EQ(input.status().code(), absl::StatusCode::kUnimplemented);
      EXPECT_THAT(std::string(input.status().message()), HasSubstr("carries no pair"));
      continue;
    }
    ASSERT_TRUE(input.ok()) << input.status();
    EXPECT_EQ(RawIds(*input), golden["ids"].get<std::vector<int32_t>>());
  }
}

TEST_F(MessagePromptTest, CrossEncoderWithoutPairIsRejectedAtOpen) {
  const json text = {{"method", "forward"}, {"method_output_name", "logits"}};
  const json files = {
      {"modules.json", {{{"path", ""}, {"type", "sentence_transformers.models.Transformer"}}}},
      {"config_sentence_transformers.json", {{"model_type", "CrossEncoder"}}},
      {"sentence_bert_config.json", {{"modality_config", {{"text", text}, {"message", text}}}}}};
  const auto message = [&](const std::string& source) {
    json with_template = files;
    with_template["tokenizer_config.json"] = {{"chat_template", source}};
    return std::string(Open(with_template, /*is_classifier=*/true).message());
  };
  EXPECT_THAT(message("{% for m in messages if m.role == 'query' %}{{ m.content }}{% endfor %}"),
              HasSubstr("the text of \"document\" does not reach the prompt"));
  EXPECT_THAT(message("[CLS]"), HasSubstr("the text of \"query\" and \"document\" does not"));
  EXPECT_THAT(message("{{ raise_exception('no such role') }}"), HasSubstr("no such role"));
  EXPECT_THAT(std::string(Open(files, /*is_classifier=*/true).message()),
              HasSubstr("no chat template"));
}

TEST_F(MessagePromptTest, RewardModelReadsTextsUnchanged) {
  const json files = {{"tokenizer_config.json", {{"chat_template", "{{ messages[0].content }}"}}}};
  ASSERT_TRUE(Open(files, /*is_classifier=*/true).ok());
  const auto text = Prepare("a b c", std::nullopt, {});
  ASSERT_TRUE(text.ok()) << text.status();
  ASSERT_TRUE(Open(json::object(), /*is_classifier=*/true).ok());
  EXPECT_EQ(RawIds(*text), RawIds(*Prepare("a b c", std::nullopt, {})));
}

TEST_F(MessagePromptTest, TypedControlTokensStayText) {
  const json files = {{"tokenizer_config.json", {{"chat_template", kFlat}}}};
  ASSERT_TRUE(Open(files, /*is_classifier=*/true).ok());
  const auto plain = Prepare("a", "b", {}), typed = Prepare("a [SEP]", "b", {});
  ASSERT_TRUE(plain.ok() && typed.ok());
  const auto count = [](const EncodeInput& input) {
    const std::vector<int32_t> ids = RawIds(input);
    return std::count(ids.begin(), ids.end(), ids.back());
  };
  EXPECT_EQ(count(*typed), count(*plain));
  EXPECT_GT(typed->ids.size(), plain->ids.size());
}

TEST_F(MessagePromptTest, OverlongPairIsRejectedWithoutTruncation) {
  const json files = {{"tokenizer_config.json", {{"chat_template", kFlat}}}};
  ASSERT_TRUE(Open(files, /*is_classifier=*/true).ok());
  const std::string document = "a b c d e f g h i j k l m n o p q r s t u v w x y z";
  const auto refused = Prepare("a", document, {});
  EXPECT_EQ(refused.status().message(), "the pair has more than 30 tokens");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kOutOfRange);
  // The end of the template follows a document with its own bound.
  const auto whole = Prepare("a", "b c d", {});
  const auto cut = Prepare("a", document, {.max_second_tokens = 3});
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(cut->ids.size(), whole->ids.size());
  EXPECT_EQ(cut->ids.back(), whole->ids.back());
}

}  // namespace
}  // namespace shortlist
