#include "embed/sparse_pooler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "embed/masked_lm_head.h"
#include "embed/multi_vector.h"
#include "embed/splade_pooler.h"
#include "model/checkpoint.h"
#include "model/checkpoint/encoder_config.h"
#include "tests/embed/embed_testing.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

constexpr int64_t kHidden = 16;  // of the golden layers

uint32_t Seed() {
  const uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  return seed;
}

std::string LayersDir() { return EmbedGoldenDir("../outputs/bge_m3"); }

std::vector<SparseWeight> RandomWeights(std::mt19937& random, int32_t num_ids) {
  std::vector<SparseWeight> weights;
  for (int32_t id = 0; id < num_ids; ++id) {
    if (random() % 3 == 0) continue;
    weights.push_back({TokenId{id}, static_cast<float>(random() % 8) / 4.0f});  // ties are many
  }
  return weights;
}

TEST(CutWeightsTest, KeepsLargestAboveThreshold) {
  std::mt19937 random(Seed());
  for (int round = 0; round < 300; ++round) {
    const std::vector<SparseWeight> all = RandomWeights(random, 1 + random() % 40);
    const SparseCut cut{.top_n = static_cast<int64_t>(random() % 12),
                        .threshold = static_cast<float>(random() % 6) / 4};
    std::vector<SparseWeight> want;
    for (const SparseWeight& one : all) {
      if (one.weight > cut.threshold) want.push_back(one);
    }
    std::stable_sort(want.begin(), want.end(), [](const SparseWeight& a, const SparseWeight& b) {
      return a.weight > b.weight;
    });
    if (cut.top_n > 0 && std::ssize(want) > cut.top_n) want.resize(cut.top_n);
    std::sort(want.begin(), want.end(),
              [](const SparseWeight& a, const SparseWeight& b) { return a.id < b.id; });
    std::vector<SparseWeight> got = all;
    CutWeights(cut, got);
    EXPECT_EQ(got, want);
  }
}

TEST(SparseDotTest, SumsOverCommonIds) {
  std::mt19937 random(Seed());
  for (int round = 0; round < 100; ++round) {
    const auto a = RandomWeights(random, 30), b = RandomWeights(random, 20);
    double want = 0.0;
    for (const SparseWeight& x : a) {
      for (const SparseWeight& y : b) want += x.id == y.id ? x.weight * y.weight : 0.0;
    }
    EXPECT_FLOAT_EQ(SparseDot(a, b), static_cast<float>(want));
  }
}

class TokenWeightPoolerTest : public testing::Test {
 protected:
  TokenWeightPoolerTest() {
    auto pooler = TokenWeightPooler::Load(ModelSource::OfDirectory(LayersDir()), kHidden,
                                          {TokenId{0}, TokenId{2}}, pool_);
    SHORTLIST_CHECK(pooler.ok());
    pooler_ = *std::move(pooler);
  }

  ThreadPool pool_{/*num_threads=*/2};
  std::unique_ptr<TokenWeightPooler> pooler_;
};

TEST_F(TokenWeightPoolerTest, TokenKeepsLargestWeightAndFramingTokensNone) {
  std::mt19937 random(Seed());
  const OwnedStates states = RandomStates({1, 40, 3, 17}, kHidden, random);
  std::vector<TokenId> ids;
  for (size_t i = 0; i < states.data.size() / kHidden; ++i) {
    ids.push_back(TokenId{static_cast<int32_t>(random() % 9)});
  }
  const std::vector<SparseCut> cuts(4);
  const auto results = pooler_->Run(states.view(), ids, cuts, pool_);
  ThreadPool one(1);
  for (int64_t seq = 0; seq < 4; ++seq) {
    const OwnedStates alone = states.Only(seq);
    const std::span<const TokenId> own(ids.data() + states.seq_begin[seq], alone.seq_begin[1]);
    // The weights of single tokens, of which a text's are made.
    std::map<TokenId, float> want;
    for (size_t t = 0; t < own.size(); ++t) {
      OwnedStates token{
          .data = {alone.data.begin() + t * kHidden, alone.data.begin() + (t + 1) * kHidden},
          .hidden = kHidden,
          .seq_begin = {0, 1}};
      const auto weights = pooler_->Run(token.view(), own.subspan(t, 1), {cuts.data(), 1}, one);
      ASSERT_TRUE(weights[0].ok());
      for (const SparseWeight& w : *weights[0]) want[w.id] = std::max(want[w.id], w.weight);
    }
    EXPECT_FALSE(want.contains(TokenId{0}) || want.contains(TokenId{2}));
    std::vector<SparseWeight> listed;
    for (const auto& [id, weight] : want) listed.push_back({id, weight});
    ASSERT_TRUE(results[seq].ok()) << results[seq].status();
    EXPECT_EQ(*results[seq], listed);
  }
}

TEST_F(TokenWeightPoolerTest, NonFiniteStateFailsItsSequenceOnly) {
  std::mt19937 random(Seed());
  OwnedStates states = RandomStates({3, 3}, kHidden, random);
  states.Token(0, 1)[4] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<TokenId> ids(6, TokenId{5});
  const std::vector<SparseCut> cuts(2);
  const auto results = pooler_->Run(states.view(), ids, cuts, pool_);
  ExpectError(results[0].status(), absl::StatusCode::kInternal, {"sequence 0", "token 1", "nan"});
  EXPECT_TRUE(results[1].ok()) << results[1].status();
}

TEST(SpladePoolerTest, NanLogitFailsItsSequenceOnly) {
  std::mt19937 random(Seed());
  ThreadPool pool(2);
  const std::string dir = EmbedGoldenDir("../outputs/splade_bert");
  const auto config = ReadEncoderConfig(ModelSource::OfDirectory(dir));
  ASSERT_TRUE(config.ok()) << config.status();
  auto checkpoint = Checkpoint::Open(ModelSource::OfDirectory(dir), {});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  auto head = MaskedLmHead::Load(*checkpoint, *config, DType::kF32, pool);
  ASSERT_TRUE(head.ok()) << head.status();
  const SpladePooler pooler(*std::move(head));
  // A finite state with non-finite logits, before and after others.
  OwnedStates states = RandomStates({3, 2, 3}, config->hidden, random);
  for (const auto& [seq, token] : {std::pair(0, 0), std::pair(2, 2)}) {
    for (float& value : states.Token(seq, token)) value = 3e38f;
  }
  const std::vector<TokenId> ids(8, TokenId{5});
  const std::vector<SparseCut> cuts(3);
  const auto results = pooler.Run(states.view(), ids, cuts, pool);
  ExpectError(results[0].status(), absl::StatusCode::kInternal, {"sequence 0", "logit", "nan"});
  ASSERT_TRUE(results[1].ok()) << results[1].status();
  EXPECT_FALSE(results[1]->empty());
  ExpectError(results[2].status(), absl::StatusCode::kInternal, {"sequence 2", "logit", "nan"});
}

TEST(StateDictTest, DamagedOrWrongFileIsRejected) {
  ThreadPool pool(1);
  for (const char* name : {"sparse_linear.pt", "colbert_linear.pt"}) {
    const TempDir dir;
    const auto load = [&](int64_t hidden) {
      if (std::string(name) == "sparse_linear.pt") {
        return TokenWeightPooler::Load(ModelSource::OfDirectory(dir.path()), hidden, {}, pool)
            .status();
      }
      return MultiVectorHead::Load(ModelSource::OfDirectory(dir.path()), hidden, DType::kF32, pool)
          .status();
    };
    EXPECT_TRUE(absl::IsNotFound(load(kHidden)));
    const std::string bytes = ReadFile(LayersDir() + "/" + name, 1 << 16).value();
    const auto write = [&](const std::string& contents) {
      std::ofstream(dir.Join(name), std::ios::binary) << contents;
    };
    write(bytes);
    EXPECT_TRUE(load(kHidden).ok()) << load(kHidden);
    ExpectError(load(kHidden + 1), absl::StatusCode::kInvalidArgument, {"weight", "17"});
    for (size_t size = 0; size < bytes.size(); size += 7) {
      write(bytes.substr(0, size));
      EXPECT_FALSE(load(kHidden).ok()) << size;
    }
  }
}

TEST(MaxSimTest, MeanOfLargestDotProducts) {
  std::mt19937 random(Seed());
  std::normal_distribution<float> normal;
  ThreadPool one(1), two(2);
  for (const auto& [num_query, num_document] :
       {std::pair(1, 1), std::pair(5, 300), std::pair(33, 7)}) {
    constexpr int64_t kWidth = 24;
    std::vector<float> query(num_query * kWidth), document(num_document * kWidth);
    for (float& value : query) value = normal(random);
    for (float& value : document) value = normal(random);
    double sum = 0.0;
    for (int q = 0; q < num_query; ++q) {
      double best = -1e30;
      for (int d = 0; d < num_document; ++d) {
        double dot = 0.0;
        for (int64_t i = 0; i < kWidth; ++i) {
          dot += static_cast<double>(query[q * kWidth + i]) * document[d * kWidth + i];
        }
        best = std::max(best, dot);
      }
      sum += best;
    }
    const MaxSim scorer(query, kWidth, one);
    const auto score = scorer.Score(document, one);
    ASSERT_TRUE(score.ok());
    EXPECT_NEAR(*score, sum / num_query, 1e-4);
    EXPECT_EQ(*score, *scorer.Score(document, two));
    EXPECT_FALSE(scorer.Score({}, one).ok());
  }
}

}  // namespace
}  // namespace shortlist
