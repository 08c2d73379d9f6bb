// Sparse vectors, multi-vectors and rankings by them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "nlohmann/json.hpp"
#include "tests/serve/embeddings/encoder_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class SparseTest : public EncoderTest {
 protected:
  /// The error's message; its param must be `param`.
  std::string Refusal(const std::string& path, const json& body, const std::string& param) {
    const json error = Post(path, body, 400).at("error");
    EXPECT_EQ(error.at("param"), param) << error;
    return error.at("message");
  }
};

TEST_F(SparseTest, EmbedSparseMatchesTei) {
  AddThreeKinds("m3");
  StartAll();
  json body = {{"inputs", {"a ccc bb a", "dddd"}}};
  EXPECT_EQ(Post("/embed_sparse", body), json::parse(R"([
    [{"index": 11, "value": 1}, {"index": 12, "value": 2}, {"index": 13, "value": 3}],
    [{"index": 14, "value": 4}]])"));
  body["sparse_top_n"] = 2;
  body["sparse_threshold"] = 2.5;
  EXPECT_EQ(Post("/embed_sparse", body),
            json::parse(R"([[{"index": 13, "value": 3}], [{"index": 14, "value": 4}]])"));
  body = {{"inputs", "a ccc bb"}, {"sparse_top_n", 2}};
  EXPECT_EQ(Post("/embed_sparse", body),
            json::parse(R"([[{"index": 12, "value": 2}, {"index": 13, "value": 3}]])"));
}

TEST_F(SparseTest, EmbeddingTypesShareOnePass) {
  AddThreeKinds("m3");
  StartAll();
  json body = {{"input", {"a ccc"}}, {"embedding_types", {"dense", "sparse", "colbert"}}};
  json entry = Post("/v1/embeddings", body).at("data")[0];
  EXPECT_EQ(entry.at("embedding").size(), 4u);
  EXPECT_EQ(entry.at("sparse"),
            json::parse(R"([{"index": 11, "value": 1}, {"index": 13, "value": 3}])"));
  EXPECT_EQ(entry.at("colbert"), json::parse("[[1, -1], [3, -3]]"));
  EXPECT_EQ(encoders_[0]->num_inputs, 1);

  body["embedding_types"] = {"colbert"};
  body["encoding_format"] = "base64";
  entry = Post("/v1/embeddings", body).at("data")[0];
  EXPECT_EQ(entry.at("embedding"), json::array());  // which OpenAI's client wants to be there
  EXPECT_FALSE(entry.contains("sparse"));
  const std::vector<float> first = {1.0f, -1.0f};
  const absl::string_view bytes(reinterpret_cast<const char*>(first.data()), sizeof(float) * 2);
  EXPECT_EQ(entry.at("colbert")[0], std::string(absl::Base64Escape(bytes)));

  body = {{"input", "a"}, {"embedding_types", "sparse"}};
  entry = Post("/v1/embeddings", body).at("data")[0];
  EXPECT_EQ(entry.at("embedding"), json::array());
  EXPECT_EQ(entry.at("sparse"), json::parse(R"([{"index": 11, "value": 1}])"));
}

TEST_F(SparseTest, UnsupportedOutputIsRejectedByName) {
  AddVectors("words");
  StartAll();
  const std::string path = "/v1/embeddings";
  EXPECT_THAT(Refusal(path, {{"input", "a"}, {"embedding_types", {"sparse"}}}, "embedding_types"),
              HasSubstr("`words` makes no sparse vectors: there is neither sparse_linear.pt"));
  EXPECT_THAT(Refusal(path, {{"input", "a"}, {"embedding_types", {"colbert"}}}, "embedding_types"),
              HasSubstr("`words` makes no multi-vectors: there is no colbert_linear.pt"));
  EXPECT_THAT(Post("/embed_sparse", {{"inputs", "a"}}, 400).at("error").get<std::string>(),
              HasSubstr("makes no sparse vectors"));
  EXPECT_THAT(Post("/v1/rerank", {{"query", "q"}, {"documents", {"a"}}}, 400)
                  .at("error")
                  .at("message")
                  .get<std::string>(),
              HasSubstr("--embed-model with colbert_linear.pt"));
}

TEST_F(SparseTest, BadFieldsAreRejectedWithValueAndBound) {
  AddThreeKinds("m3");
  StartAll();
  const auto with = [](json fields) {
    fields["input"] = "a";
    return fields;
  };
  const std::string path = "/v1/embeddings";
  const char* const types = "embedding_types";
  EXPECT_THAT(Refusal(path, with({{types, json::array()}}), types), HasSubstr("empty"));
  EXPECT_THAT(Refusal(path, with({{types, {"binary"}}}), types),
              HasSubstr("\"binary\" is neither"));
  EXPECT_THAT(Refusal(path, with({{types, 5}}), types), HasSubstr("neither a string nor a list"));
  EXPECT_THAT(Refusal(path, with({{types, {"sparse"}}, {"sparse_top_n", 0}}), "sparse_top_n"),
              HasSubstr("[1, 20000]"));
  EXPECT_THAT(
      Refusal(path, with({{types, {"sparse"}}, {"sparse_threshold", -1}}), "sparse_threshold"),
      HasSubstr("[0, 1e+30]"));
  EXPECT_THAT(Refusal(path, with({{"sparse_top_n", 3}}), "sparse_top_n"),
              HasSubstr("no \"sparse\" among embedding_types"));
  EXPECT_THAT(Refusal(path, with({{types, {"sparse"}}, {"dimensions", 2}}), "dimensions"),
              HasSubstr("no \"dense\" among embedding_types"));
  EXPECT_THAT(Refusal(path, with({{types, {"sparse"}}, {"normalize", false}}), "normalize"),
              HasSubstr("no \"dense\" among embedding_types"));
}

TEST_F(SparseTest, ModelWithoutDenseVectorsReportsIt) {
  AddThreeKinds("splade");
  ServedEncoder described = encoders_[0]->described();
  described.makes_dense = false;
  encoders_[0] = std::make_unique<FakeEncoder>(described);
  StartAll();
  EXPECT_THAT(Refusal("/v1/embeddings", {{"input", "a"}}, "model"),
              HasSubstr("`splade` makes no dense vectors: /embed_sparse"));
  EXPECT_THAT(Refusal("/encode", {{"text", "a"}}, "model"), HasSubstr("no dense vectors"));
  EXPECT_THAT(Post("/embed", {{"inputs", "a"}}, 400).at("error").get<std::string>(),
              HasSubstr("no dense vectors"));
}

TEST_F(SparseTest, MultiVectorsRankWithoutReranker) {
  AddThreeKinds("m3");
  StartAll();
  // The query is "find qq": {4, -4} and {2, -2}; of a document the longest word counts.
  json body = {{"query", "qq"}, {"texts", {"a", "ccc bb", "dd"}}, {"return_text", true}};
  EXPECT_EQ(Post("/rerank", body), json::parse(R"([
    {"index": 1, "text": "ccc bb", "score": 18}, {"index": 2, "text": "dd", "score": 12},
    {"index": 0, "text": "a", "score": 6}])"));
  body = {{"query", "qq"}, {"documents", {"a", "ccc"}}, {"top_n", 1}};
  const json reply = Post("/v2/rerank", body);
  EXPECT_EQ(reply.at("results")[0].at("relevance_score"), 18);
  EXPECT_EQ(reply.at("usage").at("total_tokens"), 4 + 3 + 3);
  EXPECT_EQ(Post("/v1/rerank", body)[0].at("score"), 18);
  const json error = Post("/v1/rerank",
                          {{"query", std::string(40, 'q') + " a b c d e f g h i j k l m n o"},
                           {"documents", {"a"}}},
                          400)
                         .at("error");
  EXPECT_EQ(error.at("param"), "query");
}

TEST_F(SparseTest, RerankerIsDefaultUnlessOtherModelNamed) {
  AddThreeKinds("m3");
  AddScores("judge");
  StartAll();
  const json body = {{"query", "q"}, {"documents", {"ccc"}}, {"raw_scores", true}};
  EXPECT_EQ(Post("/v1/rerank", body)[0].at("score"), -1);  // 5 tokens less 6
  json named = body;
  named["model"] = "m3";
  EXPECT_EQ(Post("/v1/rerank", named)[0].at("score"), (4 * 3 * 2 + 1 * 3 * 2) / 2);
}

}  // namespace
}  // namespace shortlist
