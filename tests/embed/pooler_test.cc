#include "embed/pooler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "model/checkpoint.h"
#include "tests/embed/embed_testing.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

uint32_t Seed() {
  const uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  return seed;
}

Pooler MakePooler(Pooler::Options options) {
  auto pooler = Pooler::Create(std::move(options));
  SHORTLIST_CHECK(pooler.ok());
  return *std::move(pooler);
}

/// Vectors by the book, in f64: pool, slice, normalise.
std::vector<double> BruteForce(const OwnedStates& states, int64_t seq, Pooling pooling,
                               int64_t skipped, int64_t dimensions, bool normalize) {
  const int64_t begin = states.seq_begin[seq];
  const int64_t end = states.seq_begin[seq + 1];
  std::vector<double> vector(dimensions);
  for (int64_t i = 0; i < dimensions; ++i) {
    const auto at = [&](int64_t token) -> double { return states.data[token * states.hidden + i]; };
    if (pooling == Pooling::kCls) vector[i] = at(begin + skipped);
    if (pooling == Pooling::kLast) vector[i] = at(end - 1);
    if (pooling != Pooling::kMean) continue;
    for (int64_t token = begin + skipped; token < end; ++token) vector[i] += at(token);
    vector[i] /= static_cast<double>(end - begin - skipped);
  }
  double squares = 0.0;
  for (const double value : vector) squares += value * value;
  if (normalize) {
    for (double& value : vector) value /= std::sqrt(squares);
  }
  return vector;
}

class PoolingTest : public testing::TestWithParam<Pooling> {
 protected:
  ThreadPool pool_{/*num_threads=*/1};
};

TEST_P(PoolingTest, MixedBatchMatchesDefinitionPerSequence) {
  std::mt19937 random(Seed());
  const auto below = [&random](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint32_t>(bound));
  };
  for (int round = 0; round < 50; ++round) {
    const int64_t hidden = 1 + below(70);
    std::vector<int64_t> lengths(below(9));
    for (int64_t& length : lengths) length = 1 + below(40);
    const OwnedStates states = RandomStates(lengths, hidden, random);
    std::vector<VectorRequest> requests;
    for (const int64_t length : lengths) {
      requests.push_back({.dimensions = below(hidden + 1), .num_prompt_tokens = below(length)});
      if (below(2) == 0) requests.back().normalize = below(2) == 0;
    }
    const Pooler pooler = MakePooler({.pooling = GetParam(),
                                      .hidden = hidden,
                                      .include_prompt = below(2) == 0,
                                      .normalize = below(2) == 0});
    const SequenceVectors vectors = pooler.Run(states.view(), requests, pool_);
    ASSERT_EQ(vectors.num_seqs(), std::ssize(lengths));
    for (int64_t seq = 0; seq < vectors.num_seqs(); ++seq) {
      const VectorRequest& request = requests[seq];
      const std::vector<float> got = VectorOf(vectors, seq);
      const std::vector<double> want = BruteForce(
          states, seq, GetParam(), pooler.options().include_prompt ? 0 : request.num_prompt_tokens,
          request.dimensions == 0 ? hidden : request.dimensions,
          request.normalize.value_or(pooler.options().normalize));
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_NEAR(got[i], want[i], 1e-6 * (1.0 + std::abs(want[i])));
      }
    }
  }
}

TEST_P(PoolingTest, BitsAreIndependentOfBatchAndThreads) {
  std::mt19937 random(Seed());
  const OwnedStates states = RandomStates({3, 1, 200, 17, 64, 2, 5}, /*hidden=*/129, random);
  const Pooler pooler = MakePooler({.pooling = GetParam(), .hidden = 129});
  std::vector<VectorRequest> requests(states.num_seqs());
  for (int64_t seq = 0; seq < states.num_seqs(); ++seq) requests[seq].dimensions = 129 - 7 * seq;
  const SequenceVectors batch = pooler.Run(states.view(), requests, pool_);
  for (const int num_threads : {1, 2, 3, 8}) {
    ThreadPool pool(num_threads);
    const SequenceVectors again = pooler.Run(states.view(), requests, pool);
    for (int64_t seq = 0; seq < states.num_seqs(); ++seq) {
      const std::vector<float> want = VectorOf(batch, seq);
      ExpectSameBits(VectorOf(again, seq), want);
      const OwnedStates one = states.Only(seq);
      ExpectSameBits(VectorOf(pooler.Run(one.view(), {&requests[seq], 1}, pool), 0), want);
    }
  }
}

TEST_P(PoolingTest, NonFiniteStateFailsItsSequenceOnly) {
  std::mt19937 random(Seed());
  const OwnedStates good = RandomStates({4, 6, 5}, /*hidden=*/9, random);
  const Pooler pooler = MakePooler({.pooling = GetParam(), .hidden = 9});
  const SequenceVectors want = pooler.Run(good.view(), {}, pool_);
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (int64_t token = 0; token < 6; ++token) {
      OwnedStates states = good;
      states.Token(1, token)[7] = bad;
      const SequenceVectors vectors = pooler.Run(states.view(), {}, pool_);
      ExpectError(vectors.of_sequence(1).status(), absl::StatusCode::kInternal,
                  {"sequence 1", "element 7", "token " + std::to_string(token)});
      ExpectSameBits(VectorOf(vectors, 0), VectorOf(want, 0));
      ExpectSameBits(VectorOf(vectors, 2), VectorOf(want, 2));
    }
  }
}

TEST_P(PoolingTest, ZeroVectorFailsOnlyWhenNormalised) {
  std::mt19937 random(Seed());
  OwnedStates states = RandomStates({2, 3, 2}, /*hidden=*/6, random);
  for (int64_t token = 0; token < 3; ++token) {
    for (int64_t i = 0; i < 4; ++i) states.Token(1, token)[i] = 0.0f;
  }
  const Pooler pooler = MakePooler({.pooling = GetParam(), .hidden = 6});
  std::vector<VectorRequest> requests(3);
  EXPECT_EQ(VectorOf(pooler.Run(states.view(), requests, pool_), 1).size(), 6u);
  requests[1].dimensions = 4;
  const SequenceVectors sliced = pooler.Run(states.view(), requests, pool_);
  ExpectError(sliced.of_sequence(1).status(), absl::StatusCode::kInternal,
              {"sequence 1", "4 dimensions is zero"});
  EXPECT_EQ(VectorOf(sliced, 0).size(), 6u);
  EXPECT_EQ(VectorOf(sliced, 2).size(), 6u);
  requests[1].normalize = false;
  EXPECT_EQ(VectorOf(pooler.Run(states.view(), requests, pool_), 1), std::vector<float>(4, 0.0f));
}

TEST_P(PoolingTest, ExtremeStatesNeitherOverflowNorVanish) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
  const Pooler pooler = MakePooler({.pooling = GetParam(), .hidden = 4});
  for (const float value : {kLargest, kSmallest}) {
    OwnedStates states = {.data = std::vector<float>(12, value), .hidden = 4, .seq_begin = {0, 3}};
    EXPECT_EQ(VectorOf(pooler.Run(states.view(), {}, pool_), 0), std::vector<float>(4, 0.5f));
  }
}

TEST_P(PoolingTest, BadRequestsFailTheirSequencesOnly) {
  std::mt19937 random(Seed());
  const OwnedStates states = RandomStates({2, 0, 3, 1, 2}, /*hidden=*/8, random);
  const Pooler pooler = MakePooler({.pooling = GetParam(), .hidden = 8, .include_prompt = false});
  std::vector<VectorRequest> requests(5);
  requests[0].dimensions = 9;
  requests[2].num_prompt_tokens = 3;
  requests[3].dimensions = -1;
  const SequenceVectors vectors = pooler.Run(states.view(), requests, pool_);
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  ExpectError(vectors.of_sequence(0).status(), kInvalid,
              {"sequence 0: dimensions = 9 not in [1, 8]"});
  ExpectError(vectors.of_sequence(1).status(), kInvalid, {"sequence 1", "0 tokens"});
  ExpectError(vectors.of_sequence(2).status(), kInvalid, {"sequence 2", "3 of its 3 tokens"});
  ExpectError(vectors.of_sequence(3).status(), kInvalid,
              {"sequence 3: dimensions = -1 not in [1, 8]"});
  EXPECT_EQ(VectorOf(vectors, 4).size(), 8u);
}

INSTANTIATE_TEST_SUITE_P(Poolings, PoolingTest,
                         testing::Values(Pooling::kLast, Pooling::kCls, Pooling::kMean),
                         [](const auto& info) { return PoolingName(info.param); });

TEST(PoolerTest, EmptyBatchIsEmpty) {
  ThreadPool pool(2);
  const OwnedStates none = {.hidden = 3};
  EXPECT_EQ(MakePooler({.hidden = 3}).Run(none.view(), {}, pool).num_seqs(), 0);
}

/// A checkpoint of one layer called "linear".
DenseLayer MakeLayer(const TempDir& dir, const DenseShape& shape, const std::vector<float>& weight,
                     const std::vector<float>& bias, ThreadPool& pool) {
  std::vector<StoredTensor> tensors = {
      MakeTensor("linear.weight", {shape.out_features, shape.in_features}, weight, DType::kF32)};
  if (shape.has_bias) {
    tensors.push_back(MakeTensor("linear.bias", {shape.out_features}, bias, DType::kF32));
  }
  SHORTLIST_CHECK(WriteSafetensors(dir.Join("model.safetensors"), tensors).ok());
  auto checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir.path()), {});
  SHORTLIST_CHECK(checkpoint.ok());
  auto layer = DenseLayer::Load(*checkpoint, "linear", shape, pool);
  SHORTLIST_CHECK(layer.ok());
  return *std::move(layer);
}

TEST(PoolerLayersTest, ApplyBetweenPoolingAndSlicing) {
  ThreadPool pool(2);
  const TempDir dir;
  const DenseShape wide = {2, 3, /*has_bias=*/true, HeadActivation::kRelu};
  const DenseShape narrow = {3, 2, /*has_bias=*/false, HeadActivation::kIdentity};
  const Pooler pooler =
      MakePooler({.pooling = Pooling::kMean,
                  .hidden = 2,
                  .layers = {MakeLayer(dir, wide, {1, 0, 0, 1, -1, -1}, {0, 1, 0}, pool),
                             MakeLayer(dir, narrow, {3, 0, 5, 0, 2, 0}, {}, pool)}});
  EXPECT_EQ(pooler.size(), 2);
  // The mean is (1, 1); the first layer gives (1, 2, 0), the second (3, 4).
  const OwnedStates states = {
      .data = {0, 2, 2, 0, 0, 2, 2, 0}, .hidden = 2, .seq_begin = {0, 2, 4}};
  const std::vector<VectorRequest> requests = {{}, {.dimensions = 1, .normalize = false}};
  const SequenceVectors vectors = pooler.Run(states.view(), requests, pool);
  EXPECT_EQ(VectorOf(vectors, 0), (std::vector<float>{0.6f, 0.8f}));
  EXPECT_EQ(VectorOf(vectors, 1), std::vector<float>{3.0f});
}

TEST(PoolerLayersTest, OverflowFailsItsSequenceOnly) {
  ThreadPool pool(2);
  const TempDir dir;
  const DenseShape shape = {1, 1, /*has_bias=*/false};
  const Pooler pooler =
      MakePooler({.hidden = 1, .layers = {MakeLayer(dir, shape, {1e30f}, {}, pool)}});
  const OwnedStates states = {.data = {2.0f, 1e30f, 3.0f}, .hidden = 1, .seq_begin = {0, 1, 2, 3}};
  const SequenceVectors vectors = pooler.Run(states.view(), {}, pool);
  ExpectError(vectors.of_sequence(1).status(), absl::StatusCode::kInternal,
              {"sequence 1", "dense layer 0", "inf"});
  EXPECT_EQ(VectorOf(vectors, 0), std::vector<float>{1.0f});
  EXPECT_EQ(VectorOf(vectors, 2), std::vector<float>{1.0f});
}

TEST(PoolerLayersTest, BitsAreIndependentOfBatch) {
  std::mt19937 random(Seed());
  std::normal_distribution<float> normal;
  const TempDir dir;
  ThreadPool one_thread(1), three_threads(3);
  const DenseShape shape = {65, 33, /*has_bias=*/true, HeadActivation::kTanh};
  std::vector<float> weight(65 * 33), bias(33);
  for (float& value : weight) value = 0.1f * normal(random);
  for (float& value : bias) value = normal(random);
  const Pooler pooler =
      MakePooler({.hidden = 65, .layers = {MakeLayer(dir, shape, weight, bias, one_thread)}});
  const OwnedStates states = RandomStates(std::vector<int64_t>(21, 3), /*hidden=*/65, random);
  const SequenceVectors batch = pooler.Run(states.view(), {}, three_threads);
  for (int64_t seq = 0; seq < states.num_seqs(); ++seq) {
    const OwnedStates one = states.Only(seq);
    ExpectSameBits(VectorOf(pooler.Run(one.view(), {}, one_thread), 0), VectorOf(batch, seq));
  }
}

TEST(PoolerLayersTest, MismatchedLayerIsRejected) {
  ThreadPool pool(1);
  const TempDir dir;
  const DenseShape shape = {1, 2, /*has_bias=*/false};
  auto options = Pooler::Options{.hidden = 3, .layers = {MakeLayer(dir, shape, {1, 2}, {}, pool)}};
  ExpectError(Pooler::Create(std::move(options)).status(), absl::StatusCode::kInvalidArgument,
              {"dense layer 0 takes 1 features, not the 3"});
}

}  // namespace
}  // namespace shortlist
