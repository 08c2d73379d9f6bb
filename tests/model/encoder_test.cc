#include "model/encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tests/model/encoder_fixture.h"
#include "tests/model/model_fixture.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

class EncoderTest : public testing::Test {
 protected:
  absl::Status LoadStatus(const GoldenEncoder& golden) {
    return Encoder::Load(ModelSource::OfDirectory(golden.Write()), std::nullopt, pool_).status();
  }
  static StoredTensor& Find(GoldenEncoder& golden, const std::string& name) {
    return *std::find_if(golden.tensors.begin(), golden.tensors.end(),
                         [&name](const StoredTensor& tensor) { return tensor.name == name; });
  }
  static void Rename(GoldenEncoder& golden, const std::string& from, const std::string& to) {
    for (StoredTensor& tensor : golden.tensors) {
      const size_t at = tensor.name.find(from);
      if (at != std::string::npos) tensor.name.replace(at, from.size(), to);
    }
  }
  static void ExpectError(const absl::Status& status, absl::StatusCode code,
                          const std::vector<std::string>& parts) {
    EXPECT_EQ(status.code(), code) << status;
    for (const std::string& part : parts) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(part));
    }
  }
  ThreadPool pool_{/*num_threads=*/2};
};

TEST_F(EncoderTest, ReportsLoadedModel) {
  const GoldenEncoder golden("bert_classification");
  const auto encoder = LoadEncoderOrDie(golden.Write(), DType::kBf16, pool_, DType::kInt8);
  EXPECT_EQ(encoder->config().architecture, "BertForSequenceClassification");
  EXPECT_EQ(encoder->dtype(), DType::kBf16);
  EXPECT_EQ(encoder->weight_dtype(), DType::kInt8);
  EXPECT_EQ(encoder->tensor_prefix(), "bert.");
  const GoldenEncoder plain("modernbert");
  EXPECT_EQ(LoadEncoderOrDie(plain.Write(), std::nullopt, pool_)->tensor_prefix(), "");
}

TEST_F(EncoderTest, RejectsMismatchByValueAndBound) {
  for (const char* name : {"bert", "xlm_roberta", "modernbert"}) {
    SCOPED_TRACE(name);
    const GoldenEncoder golden(name);
    const auto encoder = LoadEncoderOrDie(golden.Write(), std::nullopt, pool_);
    const auto run = [&](const std::vector<int32_t>& ids, const std::vector<int32_t>& types,
                         const std::vector<int32_t>& begin) {
      return encoder->Forward({ids, types, begin}).status();
    };
    const std::vector<int32_t> longest(30, 5), too_long(31, 5);
    EXPECT_TRUE(run(longest, {}, {0, 30}).ok());
    EXPECT_TRUE(run({5}, {}, {0, 1}).ok());
    EXPECT_TRUE(run({}, {}, {0}).ok());
    const auto kInvalid = absl::StatusCode::kInvalidArgument;
    ExpectError(run(too_long, {}, {0, 31}), kInvalid, {"sequence 0 has 31 tokens", "[1, 30]"});
    ExpectError(run({5}, {}, {0, 1, 1}), kInvalid, {"sequence 1 has 0 tokens", "[1, 30]"});
    ExpectError(run({5, 97}, {}, {0, 2}), kInvalid, {"token id 97 of token 1", "[0, 97)"});
    ExpectError(run({-1}, {}, {0, 1}), kInvalid, {"token id -1 of token 0", "[0, 97)"});
    const bool has_types = encoder->config().num_token_types == 2;
    ExpectError(run({5}, {2}, {0, 1}), kInvalid,
                {"token type id 2 of token 0", has_types ? "[0, 2)" : "[0, 1)"});
  }
}

TEST_F(EncoderTest, MissingTypesMeanTypeZero) {
  const GoldenEncoder golden("bert");
  const auto encoder = LoadEncoderOrDie(golden.Write(), std::nullopt, pool_);
  const std::vector<int32_t> ids = {3, 4, 5}, zeros = {0, 0, 0}, begin = {0, 3};
  EXPECT_EQ(ToVector(encoder->Forward({ids, {}, begin}).value()),
            ToVector(encoder->Forward({ids, zeros, begin}).value()));
}

TEST_F(EncoderTest, DamagedCheckpointsAreRejectedByName) {
  const std::string query = "encoder.layer.1.attention.self.query.weight";
  GoldenEncoder missing("bert");
  Rename(missing, query, "pooler.of.some.kind");
  ExpectError(LoadStatus(missing), absl::StatusCode::kNotFound, {"no tensor " + query});

  GoldenEncoder further("bert");
  further.tensors.push_back(MakeTensor("encoder.layer.2.bias", {1}, {0.0f}, DType::kF32));
  ExpectError(LoadStatus(further), absl::StatusCode::kInvalidArgument,
              {"encoder.layer.2.bias", "no place"});

  GoldenEncoder shaped("bert");
  Find(shaped, query).shape = {18, 72};
  ExpectError(LoadStatus(shaped), absl::StatusCode::kInvalidArgument,
              {query, "[18, 72]", "[36, 36]"});

  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::string& name : {query, std::string("embeddings.LayerNorm.bias"),
                                  std::string("encoder.layer.0.output.dense.bias"),
                                  std::string("embeddings.position_embeddings.weight")}) {
    GoldenEncoder spoiled("bert");
    Find(spoiled, name).bytes.replace(4, 4, reinterpret_cast<const char*>(&nan), 4);
    ExpectError(LoadStatus(spoiled), absl::StatusCode::kInvalidArgument, {name, "NaN"});
  }
}

TEST_F(EncoderTest, ReadsOlderExportNames) {
  GoldenEncoder golden("bert");
  const auto want = Encode(*LoadEncoderOrDie(golden.Write(), std::nullopt, pool_), golden.texts);
  for (StoredTensor& tensor : golden.tensors) tensor.name = "bert." + tensor.name;
  Rename(golden, "LayerNorm.weight", "LayerNorm.gamma");
  Rename(golden, "LayerNorm.bias", "LayerNorm.beta");
  golden.tensors.push_back(MakeTensor("cls.seq_relationship.bias", {2}, {0, 0}, DType::kF32));
  EXPECT_EQ(Encode(*LoadEncoderOrDie(golden.Write(), std::nullopt, pool_), golden.texts), want);
}

TEST_F(EncoderTest, WideLocalLayerEqualsGlobalLayer) {
  // Layers that see further than any sequence is long give what global layers do.
  GoldenEncoder golden("modernbert");
  golden.config["rope_parameters"]["sliding_attention"] =
      golden.config["rope_parameters"]["full_attention"];
  golden.config["local_attention"] = 60;
  const auto wide = Encode(*LoadEncoderOrDie(golden.Write(), std::nullopt, pool_), golden.texts);
  golden.config["layer_types"] = std::vector<std::string>(5, "full_attention");
  EXPECT_EQ(Encode(*LoadEncoderOrDie(golden.Write(), std::nullopt, pool_), golden.texts), wide);
  golden.config["local_attention"] = 4;
  golden.config.erase("layer_types");
  EXPECT_NE(Encode(*LoadEncoderOrDie(golden.Write(), std::nullopt, pool_), golden.texts), wide);
}

}  // namespace
}  // namespace shortlist
