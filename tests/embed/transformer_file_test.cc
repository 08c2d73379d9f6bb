#include "embed/transformer_file.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/embed/embed_testing.h"
#include "tests/embed/model_dir.h"

namespace shortlist {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
constexpr char kFile[] = "sentence_bert_config.json";

TEST(TransformerFileTest, WithoutFileTokenizerSetsLength) {
  ModelDir dir({{"tokenizer_config.json", {{"model_max_length", 9}}}});
  const auto transformer = ReadTransformerFile(ModelSource::OfDirectory(dir.Write()));
  ASSERT_TRUE(transformer.ok()) << transformer.status();
  EXPECT_FALSE(transformer->file.exists);
  EXPECT_EQ(transformer->max_seq_len, 9);
  EXPECT_FALSE(transformer->tokenizer.truncates_left.has_value());
  EXPECT_FALSE(transformer->tokenizer.gives_token_types.has_value());
}

TEST(TransformerFileTest, ArgumentsThatKeepIdsAreAccepted) {
  ModelDir dir({{kFile,
                 {{"max_seq_length", 9},
                  {"processor_kwargs", {{"padding_side", "left"}, {"use_fast", true}}},
                  {"processing_kwargs",
                   {{"text", {{"padding", true}, {"truncation", "longest_first"}}},
                    {"chat_template", {{"add_generation_prompt", true}}}}},
                  {"query_length", nullptr}}}});
  const auto transformer = ReadTransformerFile(ModelSource::OfDirectory(dir.Write()));
  ASSERT_TRUE(transformer.ok()) << transformer.status();
  EXPECT_EQ(transformer->max_seq_len, 9);
}

TEST(TransformerFileTest, HugeLengthMeansUnbounded) {
  ModelDir dir({{kFile, {{"processor_kwargs", {{"model_max_length", 1e30}}}}}});
  EXPECT_EQ(ReadTransformerFile(ModelSource::OfDirectory(dir.Write()))->max_seq_len, std::nullopt);
  dir.Change(kFile, "/max_seq_length", "9");
  EXPECT_EQ(ReadTransformerFile(ModelSource::OfDirectory(dir.Write()))->max_seq_len, std::nullopt);
}

struct WrongField {
  const char* pointer;
  const char* value;
  absl::StatusCode code;
  std::vector<std::string> message;
};

void PrintTo(const WrongField& wrong, std::ostream* out) {
  *out << wrong.pointer << " = " << wrong.value;
}

class WrongTransformerFieldTest : public testing::TestWithParam<WrongField> {};

TEST_P(WrongTransformerFieldTest, IsRejectedByFileFieldAndValue) {
  const WrongField& wrong = GetParam();
  ModelDir dir({{kFile, {{"processor_kwargs", {{"padding_side", "left"}}}}}});
  dir.Change(kFile, wrong.pointer, wrong.value);
  std::vector<std::string> parts = wrong.message;
  parts.push_back(kFile);
  ExpectError(ReadTransformerFile(ModelSource::OfDirectory(dir.Write())).status(), wrong.code,
              parts);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, WrongTransformerFieldTest,
    testing::Values(
        WrongField{"/processor_kwargs", "[]", kInvalid, {"processor_kwargs = []"}},
        WrongField{"/tokenizer_args", "1", kInvalid, {"tokenizer_args = 1"}},
        WrongField{"/processor_kwargs/truncation_side", "\"top\"", kInvalid, {"\"top\""}},
        WrongField{"/processor_kwargs/truncation_side", "1", kInvalid, {"truncation_side = 1"}},
        WrongField{"/processor_kwargs/model_input_names", "\"x\"", kInvalid, {"\"x\""}},
        WrongField{"/processor_kwargs/model_max_length", "0", kInvalid, {"[1, 16777216]"}},
        WrongField{"/processor_kwargs/add_eos_token", "true", kUnimplemented, {"add_eos_token"}},
        WrongField{"/processor_kwargs/do_lower_case", "true", kUnimplemented, {"do_lower_case"}},
        WrongField{"/processing_kwargs", "[]", kInvalid, {"processing_kwargs = []"}},
        WrongField{"/processing_kwargs/text", "1", kInvalid, {"text = 1"}},
        WrongField{"/processing_kwargs/text/max_length", "-1", kInvalid, {"max_length = -1"}},
        WrongField{"/processing_kwargs/text/truncation", "false", kUnimplemented, {"truncation"}},
        WrongField{"/processing_kwargs/common/add_special_tokens",
                   "false",
                   kUnimplemented,
                   {"common", "add_special_tokens"}},
        WrongField{"/query_length", "32", kUnimplemented, {"query_length", "32"}},
        WrongField{"/document_length", "32", kUnimplemented, {"document_length"}},
        WrongField{"/query_expansion", "{}", kUnimplemented, {"query_expansion"}}));

}  // namespace
}  // namespace shortlist
