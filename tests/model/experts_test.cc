#include "model/experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "model/decoder.h"
#include "nlohmann/json.hpp"
#include "tests/model/model_fixture.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int64_t> ExpertsOf(const Routing& routing) {
  std::vector<int64_t> experts;
  for (const auto& group : routing.groups) experts.push_back(group.expert);
  return experts;
}

TEST(RouteTest, EqualLogitsGoToTheLowestIds) {
  const ExpertShape shape = {.num_experts = 5, .num_used = 2, .normalises = true};
  const std::vector<float> logits = {1, 3, 3, 3, 0,  //
                                     2, 2, 2, 2, 2};
  const Routing routing = Route(shape, logits.data(), /*num_tokens=*/2);
  EXPECT_THAT(ExpertsOf(routing), ElementsAre(0, 1, 2));
  EXPECT_THAT(routing.tokens, ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(routing.weights, ElementsAre(0.5f, 0.5f, 0.5f, 0.5f));
}

TEST(RouteTest, WeightsAreSoftmaxOverAllOrOverTheChosen) {
  ExpertShape shape = {.num_experts = 3, .num_used = 2};
  const std::vector<float> logits = {0.0f, std::log(2.0f), std::log(5.0f)};
  Routing routing = Route(shape, logits.data(), /*num_tokens=*/1);
  EXPECT_THAT(ExpertsOf(routing), ElementsAre(1, 2));
  EXPECT_NEAR(routing.weights[0], 2.0 / 8.0, 1e-6);
  EXPECT_NEAR(routing.weights[1], 5.0 / 8.0, 1e-6);
  shape.normalises = true;
  routing = Route(shape, logits.data(), /*num_tokens=*/1);
  EXPECT_NEAR(routing.weights[0], 2.0 / 7.0, 1e-6);
  EXPECT_NEAR(routing.weights[1], 5.0 / 7.0, 1e-6);
}

TEST(RouteTest, NanIsChosenLast) {
  const ExpertShape shape = {.num_experts = 3, .num_used = 2, .normalises = true};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> one_nan = {nan, 1.0f, 1.0f};
  EXPECT_THAT(ExpertsOf(Route(shape, one_nan.data(), /*num_tokens=*/1)), ElementsAre(1, 2));
  const std::vector<float> all_nan = {nan, nan, nan};
  EXPECT_THAT(ExpertsOf(Route(shape, all_nan.data(), /*num_tokens=*/1)), ElementsAre(0, 1));
}

/// A tiny Qwen3-MoE, whose tensors a test may change before it loads them.
class ExpertsTest : public testing::Test {
 protected:
  ExpertsTest()
      : golden_(ReadJsonFile(SourcePath("tests/reference/golden/decoders/qwen3_moe.json"), 1 << 20)
                    .value()) {
    config_ = golden_["config"];
    // Widths that quantised types can have.
    config_["hidden_size"] = 64;
    config_["moe_intermediate_size"] = 32;
    for (const auto& [name, shape] : golden_["tensors"].items()) {
      auto extents = shape.get<std::vector<int64_t>>();
      for (int64_t& extent : extents) extent = extent == 32 ? 64 : extent == 20 ? 32 : extent;
      Set(name, extents);
    }
  }

  void Set(const std::string& name, const std::vector<int64_t>& shape) {
    tensors_[name] = MakeTensor(name, shape, GoldenWeights(name, shape), DType::kF32);
  }
  /// Joins tensors of whole experts, in the order of `parts`, to one [num_experts, rows, columns].
  void Stack(const std::string& layer, const std::vector<std::string>& parts,
             const std::string& name) {
    StoredTensor stacked = {.name = layer + "experts." + name, .shape = {kNumExperts, 0, 0}};
    for (int64_t expert = 0; expert < kNumExperts; ++expert) {
      for (const std::string& part : parts) {
        const auto found = tensors_.find(absl::StrCat(layer, "experts.", expert, ".", part));
        stacked.bytes += found->second.bytes;
        stacked.shape[1] = found->second.shape[0] * static_cast<int64_t>(parts.size());
        stacked.shape[2] = found->second.shape[1];
        tensors_.erase(found);
      }
    }
    tensors_[stacked.name] = stacked;
  }

  absl::StatusOr<std::unique_ptr<Decoder>> Load(std::optional<DType> dtype = DType::kF32,
                                                std::optional<DType> quantize = std::nullopt) {
    dir_.Write("config.json", config_.dump());
    std::vector<StoredTensor> tensors;
    for (const auto& [name, tensor] : tensors_) tensors.push_back(tensor);
    EXPECT_TRUE(WriteSafetensors(dir_.Join("model.safetensors"), tensors).ok());
    return Decoder::Load(ModelSource::OfDirectory(dir_.path()), dtype, pool_, quantize);
  }
  std::vector<float> Run(std::optional<DType> quantize = std::nullopt) {
    auto decoder = Load(quantize ? std::nullopt : std::optional(DType::kF32), quantize);
    EXPECT_TRUE(decoder.ok()) << decoder.status();
    if (!decoder.ok()) return {};
    return RunChain(**decoder, RandomTokens(/*count=*/30, /*vocab_size=*/61, /*seed=*/3));
  }
  void ExpectRefused(absl::StatusCode code, const testing::Matcher<std::string>& message) {
    const absl::Status status = Load().status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), message);
  }

  static constexpr int64_t kNumExperts = 7;
  const std::string layer_ = "model.layers.1.mlp.";
  json golden_, config_;
  std::map<std::string, StoredTensor> tensors_;
  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/2};
};

TEST_F(ExpertsTest, EveryLayoutGivesTheSameBits) {
  const std::vector<float> one_by_one = Run();
  Stack("model.layers.0.mlp.", {"gate_proj.weight", "up_proj.weight"}, "gate_up_proj");
  Stack("model.layers.0.mlp.", {"down_proj.weight"}, "down_proj");
  for (const char* part : {"gate_proj.weight", "up_proj.weight", "down_proj.weight"}) {
    Stack(layer_, {part}, part);
  }
  EXPECT_EQ(Run(), one_by_one);
}

TEST_F(ExpertsTest, ChunksAndNeighboursDoNotChangeBitsInAnyType) {
  for (const auto quantize :
       {std::optional<DType>(), std::optional(DType::kInt8), std::optional(DType::kInt4)}) {
    SCOPED_TRACE(quantize ? DTypeName(*quantize) : "f32");
    auto decoder = Load(quantize ? std::nullopt : std::optional(DType::kF32), quantize);
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    std::vector<std::vector<TokenId>> sequences;
    for (const int64_t length : {11, 1, 25}) {
      sequences.push_back(RandomTokens(length, /*vocab_size=*/61, /*seed=*/length));
    }
    constexpr int64_t kNumSlots = 37;
    ForwardBatch batch;
    std::vector<float> alone;
    int32_t first_slot = 0;
    for (const auto& tokens : sequences) {
      const int64_t length = std::ssize(tokens);
      const std::vector<float> whole = RunChain(**decoder, tokens);
      KvCache cache = KvCache::Create((*decoder)->config(), length, (*decoder)->dtype()).value();
      EXPECT_EQ(RunChain(**decoder, tokens, /*chunk=*/3, Iota(length), cache), whole);
      alone.insert(alone.end(), whole.begin(), whole.end());
      batch.AddChain(tokens, /*first_position=*/0, Iota(length, first_slot));
      first_slot += static_cast<int32_t>(length);
    }
    KvCache cache = KvCache::Create((*decoder)->config(), kNumSlots, (*decoder)->dtype()).value();
    EXPECT_EQ(ToVector((*decoder)->Forward(batch, cache).value()), alone);
  }
}

TEST_F(ExpertsTest, QuantisedExpertsStayClose) {
  const std::vector<float> exact = Run();
  double sum = 0.0;
  const std::vector<double> cosines = Cosines(Run(DType::kInt8), exact, 64);
  for (const double cosine : cosines) sum += cosine;
  EXPECT_GE(sum / static_cast<double>(cosines.size()), 0.99);
}

TEST_F(ExpertsTest, MissingExpertIsNamed) {
  tensors_.erase(layer_ + "experts.6.up_proj.weight");
  ExpectRefused(absl::StatusCode::kNotFound,
                HasSubstr("no tensor " + layer_ + "experts.6.up_proj.weight"));
}

TEST_F(ExpertsTest, MissingRouterIsNamed) {
  tensors_.erase(layer_ + "gate.weight");
  ExpectRefused(absl::StatusCode::kNotFound, HasSubstr("no tensor " + layer_ + "gate.weight"));
}

TEST_F(ExpertsTest, ExtraExpertIsNamed) {
  Set(layer_ + "experts.7.up_proj.weight", {32, 64});
  ExpectRefused(absl::StatusCode::kInvalidArgument,
                AllOf(HasSubstr(layer_ + "experts.7.up_proj.weight"), HasSubstr("has no place")));
}

TEST_F(ExpertsTest, DoubledExpertIsNamed) {
  Stack(layer_, {"down_proj.weight"}, "down_proj");
  Set(layer_ + "experts.2.down_proj.weight", {64, 32});
  ExpectRefused(
      absl::StatusCode::kInvalidArgument,
      AllOf(HasSubstr("tensor \"" + layer_ + "experts.2.down_proj.weight\" is also a part of"),
            HasSubstr(layer_ + "experts.down_proj\"")));
}

TEST_F(ExpertsTest, WrongShapesAreNamedWithTheRightOnes) {
  Set(layer_ + "experts.3.down_proj.weight", {64, 31});
  ExpectRefused(absl::StatusCode::kInvalidArgument,
                AllOf(HasSubstr("experts.3.down_proj.weight is [64, 31]"), HasSubstr("[64, 32]")));
  Set(layer_ + "experts.3.down_proj.weight", {64, 32});
  Set(layer_ + "gate.weight", {8, 64});
  ExpectRefused(absl::StatusCode::kInvalidArgument,
                AllOf(HasSubstr("gate.weight is [8, 64]"), HasSubstr("[7, 64]")));
  Set(layer_ + "gate.weight", {7, 64});
  Stack(layer_, {"down_proj.weight"}, "down_proj");
  tensors_[layer_ + "experts.down_proj"].shape = {64, 7, 32};
  ExpectRefused(absl::StatusCode::kInvalidArgument,
                AllOf(HasSubstr("experts.down_proj is [64, 7, 32]"), HasSubstr("[7, 64, 32]")));
}

TEST_F(ExpertsTest, NanInARouterIsNamed) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(7 * 64, 0.5f);
  values[100] = nan;
  const std::string name = layer_ + "gate.weight";
  tensors_[name] = MakeTensor(name, {7, 64}, values, DType::kF32);
  ExpectRefused(absl::StatusCode::kInvalidArgument,
                AllOf(HasSubstr(name), HasSubstr("NaN or infinite")));
}

TEST_F(ExpertsTest, MutatedFilesGiveErrorsOrModels) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  ASSERT_TRUE(Load().ok());
  int num_refused = 0;
  for (const char* name : {"config.json", "model.safetensors"}) {
    const std::string path = dir_.Join(name);
    const std::string whole = *ReadFile(path, int64_t{1} << 24);
    // The header of the weights is in the first part.
    const size_t reach = std::min<size_t>(whole.size(), 4000);
    for (int i = 0; i < 100; ++i) {
      std::string mutated = whole;
      for (int n = 0; n <= i % 3; ++n) {
        mutated[random() % reach] = static_cast<char>(random() % 256);
      }
      ASSERT_TRUE(WriteFileAtomically(path, mutated).ok());
      const absl::Status status =
          Decoder::Load(ModelSource::OfDirectory(dir_.path()), DType::kF32, pool_).status();
      EXPECT_FALSE(absl::IsInternal(status)) << status;
      num_refused += status.ok() ? 0 : 1;
    }
    ASSERT_TRUE(WriteFileAtomically(path, whole).ok());
  }
  EXPECT_GT(num_refused, 50);
}

TEST_F(ExpertsTest, DenseLayerHasNoExperts) {
  config_["mlp_only_layers"] = {1};
  ExpectRefused(absl::StatusCode::kNotFound, HasSubstr("no tensor " + layer_ + "gate_proj.weight"));
}

}  // namespace
}  // namespace shortlist
