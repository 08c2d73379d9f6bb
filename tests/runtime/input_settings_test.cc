#include "runtime/input_settings.h"

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

void ExpectError(const absl::Status& status, const std::vector<std::string>& parts) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  for (const std::string& part : parts) {
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(part));
  }
}

/// Writes a BERT with the given files.
std::string WriteCase(const json& golden, TinyEncoder& tiny) {
  if (golden["second"].is_null()) tiny.AddModules(/*normalize=*/false);
  for (const auto& [name, contents] : golden["files"].items()) {
    if (name == "config.json") {
      tiny.golden().config.update(contents);
    } else {
      tiny.AddFile(name, contents);
    }
  }
  const std::string dir = tiny.Write();
  json tokenizer = ReadJsonFile(dir + "/tokenizer.json", 1 << 20).value();
  tokenizer["truncation"] = golden["truncation"];
  tiny.AddFile("tokenizer.json", tokenizer);
  return dir;
}

/// As sentence-transformers has it (tests/reference/make_inputs_golden.py).
TEST(InputSettingsTest, InputsMatchSentenceTransformers) {
  ThreadPool pool(/*num_threads=*/1);
  const json cases =
      ReadJsonFile(SourcePath("tests/reference/golden/inputs.json"), 1 << 20).value();
  ASSERT_FALSE(cases.empty());
  for (const json& golden : cases) {
    SCOPED_TRACE(golden["name"].get<std::string>());
    const bool is_pair = !golden["second"].is_null();
    TinyEncoder tiny(is_pair ? "bert_classification" : "bert");
    const auto model = EncodingModel::Open({.model = WriteCase(golden, tiny)}, pool);
    ASSERT_TRUE(model.ok()) << model.status();
    std::optional<std::string> second;
    if (is_pair) second = golden["second"].get<std::string>();
    const auto input =
        (*model)->Prepare("", golden["text"].get<std::string>(), second, {.truncates = true});
    ASSERT_TRUE(input.ok()) << input.status();
    std::vector<int32_t> ids;
    for (const TokenId id : input->ids) ids.push_back(Raw(id));
    EXPECT_EQ(ids, golden["ids"].get<std::vector<int32_t>>());
    // The model reads types that are absent as zeros.
    std::vector<int32_t> types = input->token_types;
    types.resize(ids.size(), 0);
    const json& want = golden["types"];
    EXPECT_EQ(types, want.is_null() ? std::vector<int32_t>(ids.size(), 0)
                                    : want.get<std::vector<int32_t>>());
  }
}

TEST(InputSettingsTest, InvalidSideIsRejectedByFileAndField) {
  const TempDir dir;
  const auto error = [&dir] {
    return ReadInputSettings(ModelSource::OfDirectory(dir.path())).status();
  };
  dir.Write("tokenizer.json", R"({"truncation": {"direction": "left"}})");
  ExpectError(error(), {"tokenizer.json: truncation", "direction = \"left\"", "\"Left\""});
  dir.Write("tokenizer.json", R"({"truncation": {"direction": 7}})");
  ExpectError(error(), {"direction = 7"});
  dir.Write("tokenizer.json", R"({"truncation": []})");
  ExpectError(error(), {"truncation = []"});
  dir.Write("tokenizer.json", R"({"model": {"truncation": {"direction": "x"}}, "truncation": {}})");
  EXPECT_TRUE(error().ok()) << error();
  dir.Write("tokenizer_config.json", R"({"truncation_side": "Left"})");
  ExpectError(error(), {"tokenizer_config.json", "truncation_side = \"Left\""});
  dir.Write("tokenizer_config.json", R"({"model_input_names": "input_ids"})");
  ExpectError(error(), {"model_input_names"});
}

}  // namespace
}  // namespace shortlist
