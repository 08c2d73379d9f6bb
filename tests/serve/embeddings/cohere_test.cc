#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/serve/embeddings/encoder_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr char kPath[] = "/v2/embed";

class CohereTest : public EncoderTest {
 protected:
  CohereTest() {
    AddVectors("words");
    AddPictures("clip");
  }
  /// The vector of the encoder for these ids, of length 1.
  static std::vector<float> Vector(const std::vector<int>& ids) {
    float sum = 0.0f;
    for (size_t i = 0; i < ids.size(); ++i) sum += static_cast<float>((i + 1) * ids[i]);
    std::vector<float> values = {static_cast<float>(ids.size()), sum, 0.1f, -2.5f};
    float square = 0.0f;
    for (const float value : values) square += value * value;
    for (float& value : values) value /= std::sqrt(square);
    return values;
  }
  std::string Refused(const json& body) { return Post(kPath, body, 400).at("error").at("message"); }
};

TEST_F(CohereTest, RepliesLikeCohere) {
  StartAll();
  json reply = Post(kPath, {{"model", "words"}, {"texts", {"the cat", "a"}}});
  EXPECT_FALSE(reply.at("id").get<std::string>().empty());
  reply.erase("id");
  EXPECT_EQ(reply.at("embeddings").size(), 1);
  EXPECT_EQ(reply.at("embeddings").at("float").get<std::vector<std::vector<float>>>(),
            (std::vector{Vector({1, 13, 13, 2}), Vector({1, 11, 2})}));
  reply.erase("embeddings");
  EXPECT_EQ(reply, json::parse(R"({
    "response_type": "embeddings_by_type", "texts": ["the cat", "a"],
    "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": 7}}})"));
}

TEST_F(CohereTest, EachTypeDerivesFromFloats) {
  StartAll();
  const std::vector<float> want = Vector({1, 11, 2});
  const auto vectors_as = [&](const json& types) {
    return Post(kPath, {{"texts", {"a"}}, {"embedding_types", types}}).at("embeddings");
  };
  const json vectors = vectors_as({"float", "int8", "uint8", "binary", "ubinary", "base64"});
  EXPECT_EQ(vectors_as({"int8", "int8", "int8"}).size(), 1);
  EXPECT_EQ(vectors.size(), 6);
  EXPECT_EQ(vectors.at("float")[0].get<std::vector<float>>(), want);
  for (size_t i = 0; i < want.size(); ++i) {
    const int byte = static_cast<int>(std::lround(127.0 * want[i]));
    EXPECT_EQ(vectors.at("int8")[0][i], byte);
    EXPECT_EQ(vectors.at("uint8")[0][i], byte + 128);
  }
  // numpy.packbits of [1, 1, 1, 0].
  EXPECT_EQ(vectors.at("ubinary")[0], json({0b1110'0000}));
  EXPECT_EQ(vectors.at("binary")[0], json({0b1110'0000 - 128}));
  std::string bytes;
  ASSERT_TRUE(absl::Base64Unescape(vectors.at("base64")[0].get<std::string>(), &bytes));
  std::vector<float> decoded(want.size());
  ASSERT_EQ(bytes.size(), decoded.size() * sizeof(float));
  std::memcpy(decoded.data(), bytes.data(), bytes.size());
  EXPECT_EQ(decoded, want);
}

TEST_F(CohereTest, InputTypeSelectsPrompt) {
  StartAll();
  const auto vectors = [&](const json& change) {
    json body = {{"texts", {"a"}}};
    body.update(change);
    return Post(kPath, body).at("embeddings").at("float");
  };
  EXPECT_EQ(vectors({{"input_type", "search_query"}}), vectors({{"texts", {"find: a"}}}));
  for (const char* type : {"search_document", "classification", "clustering"}) {
    EXPECT_EQ(vectors({{"input_type", type}}), vectors(json::object())) << type;
  }
  EXPECT_THAT(Refused({{"texts", {"a"}}, {"input_type", "poem"}}), HasSubstr("search_query"));
}

TEST_F(CohereTest, TruncateOptionCutsOrRejectsLongInput) {
  StartAll();
  std::string words = "bb ";
  for (int i = 0; i < 30; ++i) words += "a ";
  const auto num_tokens = [&](const json& change) {
    json body = {{"texts", {words}}};
    body.update(change);
    return Post(kPath, body).at("meta").at("billed_units").at("input_tokens").get<int>();
  };
  EXPECT_EQ(num_tokens(json::object()), 16);
  EXPECT_EQ(num_tokens({{"truncate", "END"}}), 16);
  EXPECT_EQ(num_tokens({{"max_tokens", 5}}), 5);
  EXPECT_EQ(num_tokens({{"max_tokens", 500}}), 16);
  const auto vector = [&](const char* end) {
    return Post(kPath, {{"texts", {words}}, {"truncate", end}, {"max_tokens", 3}})
        .at("embeddings")
        .at("float")[0]
        .get<std::vector<float>>();
  };
  EXPECT_EQ(vector("END"), Vector({1, 12, 11}));
  EXPECT_EQ(vector("START"), Vector({11, 11, 2}));
  EXPECT_THAT(Refused({{"texts", {"a", words}}, {"truncate", "NONE"}}), HasSubstr("texts[1]"));
  EXPECT_THAT(Refused({{"texts", {"a"}}, {"truncate", "END "}}), HasSubstr("\"START\""));
}

TEST_F(CohereTest, OutputDimensionKeepsFirstOnes) {
  StartAll();
  const json reply = Post(kPath, {{"texts", {"a"}}, {"output_dimension", 1}});
  EXPECT_EQ(reply.at("embeddings").at("float"), json::parse("[[1.0]]"));
  EXPECT_THAT(Refused({{"texts", {"a"}}, {"output_dimension", 5}}), HasSubstr("output_dimension"));
}

TEST_F(CohereTest, InputsHoldOneTextOrPicture) {
  StartAll();
  const json texts = Post(kPath, json::parse(R"({"inputs": [
      {"content": [{"type": "text", "text": "the cat"}]},
      {"content": [{"type": "text", "text": "a"}]}]})"));
  EXPECT_EQ(texts.at("texts"), json({"the cat", "a"}));
  EXPECT_EQ(texts.at("embeddings").at("float")[0].get<std::vector<float>>(),
            Vector({1, 13, 13, 2}));
  const json pictures = Post(kPath, json::parse(R"({"model": "clip", "inputs": [
      {"content": [{"type": "image_url", "image_url": {"url": "AAAA"}}]}]})"));
  EXPECT_FALSE(pictures.contains("texts"));
  EXPECT_EQ(pictures.at("meta").at("billed_units"), (json{{"images", 1}}));
  EXPECT_EQ(Post(kPath, {{"model", "clip"}, {"images", {"AAAA"}}}).at("embeddings"),
            pictures.at("embeddings"));
}

TEST_F(CohereTest, RejectsUnsupportedFieldsByName) {
  StartAll();
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "exactly one of texts, images and inputs"},
      {R"({"texts": ["a"], "images": ["AAAA"]})", "exactly one"},
      {R"({"texts": []})", "texts"},
      {R"({"texts": "a"})", "texts"},
      {R"({"texts": [[7]]})", "texts[0]"},
      {R"({"texts": ["a"], "embedding_types": ["int4"]})", "ubinary"},
      {R"({"texts": ["a"], "priority": -1})", "priority"},
      {R"({"texts": ["a"], "max_tokens": 0})", "max_tokens"},
      {R"({"texts": ["a"], "dimensions": 2})", "dimensions"},
      {R"({"images": ["AAAA"], "model": "words"})", "no pictures"},
      {R"({"images": "AAAA", "model": "clip"})", "images"},
      {R"({"inputs": []})", "inputs"},
      {R"({"inputs": [5]})", "inputs[0]"},
      {R"({"inputs": [{"content": []}]})", "inputs[0]"},
      {R"({"inputs": [{"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]})",
       "one part"},
      {R"({"inputs": [{"content": [{"type": "text"}]}]})", "inputs[0].content[0]"},
      {R"({"inputs": [{"content": [{"type": "audio", "text": "a"}]}]})", "content[0]"},
      {R"({"model": "clip", "inputs": [{"content": [{"type": "text", "text": "a"}]},
           {"content": [{"type": "image_url", "image_url": {"url": "AAAA"}}]}]})",
       "texts and pictures"}};
  for (const auto& [body, message] : cases) {
    EXPECT_THAT(Refused(json::parse(body)), HasSubstr(message)) << body;
  }
}

}  // namespace
}  // namespace shortlist
