#include "model/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "model/eagle_model.h"
#include "tests/model/model_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_llama.h"

namespace shortlist {
namespace {

constexpr int64_t kNumSlots = 200;

/// Sizes that no vector length divides.
TinyLlamaOptions OddShape(DType dtype) {
  TinyLlamaOptions options;
  options.vocab_size = 77;
  options.hidden = 36;
  options.intermediate = 51;
  options.num_heads = 6;
  options.num_kv_heads = 2;
  options.head_dim = 10;
  options.dtype = dtype;
  return options;
}

/// All slots in an order of their own.
std::vector<int32_t> ShuffledSlots(uint64_t seed) {
  std::vector<int32_t> slots = Iota(kNumSlots);
  std::mt19937_64 random(seed);
  std::shuffle(slots.begin(), slots.end(), random);
  return slots;
}

void ExpectSameBits(std::span<const float> got, std::span<const float> want) {
  ASSERT_EQ(got.size(), want.size());
  EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size_bytes()), 0);
}

/// A target and its draft with one interface, so that each property is tested on both. The draft's
/// features are a fixed function of sequence position.
class Network {
 public:
  Network(const std::string& dir, DType dtype, bool eagle, ThreadPool& pool) : eagle_(eagle) {
    const TinyLlamaOptions options = OddShape(dtype);
    EXPECT_TRUE(WriteTinyLlama(dir + "/target", options, /*seed=*/5).ok());
    target_ = LoadOrDie(dir + "/target", dtype, pool);
    if (!eagle) return;
    EXPECT_TRUE(WriteTinyEagle(dir + "/draft", options, /*seed=*/6).ok());
    draft_ = EagleModel::Load(ModelSource::OfDirectory(dir + "/draft"), *target_, pool).value();
    std::mt19937_64 random(7);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < kNumSlots * options.hidden; ++i) features_.push_back(normal(random));
  }

  const ModelConfig& config() const { return eagle_ ? draft_->config() : target_->config(); }
  KvCache NewCache() const {
    return KvCache::Create(config(), kNumSlots, target_->dtype()).value();
  }

  std::vector<float> Forward(const ForwardBatch& batch, KvCache& cache) {
    if (!eagle_) return ToVector(target_->Forward(batch, cache).value());
    std::vector<float> rows;
    for (const int32_t position : batch.positions()) {
      const auto row = features_.begin() + position * config().hidden;
      rows.insert(rows.end(), row, row + config().hidden);
    }
    return ToVector(
        draft_->Forward(batch, FromVector(rows, config().hidden), cache).value().features);
  }

  /// `tokens` from position 0 in chunks, in slots slots[position].
  std::vector<float> Chain(std::span<const TokenId> tokens, size_t chunk,
                           std::span<const int32_t> slots) {
    KvCache cache = NewCache();
    std::vector<float> out;
    for (size_t begin = 0; begin < tokens.size(); begin += chunk) {
      const size_t end = std::min(tokens.size(), begin + chunk);
      ForwardBatch batch;
      batch.AddChain(tokens.subspan(begin, end - begin), static_cast<int64_t>(begin),
                     slots.first(end));
      const std::vector<float> rows = Forward(batch, cache);
      out.insert(out.end(), rows.begin(), rows.end());
    }
    return out;
  }

 private:
  bool eagle_;
  std::unique_ptr<Decoder> target_;
  std::unique_ptr<EagleModel> draft_;
  std::vector<float> features_;
};

using Parameter = std::tuple<DType, bool>;

std::string ParameterName(const testing::TestParamInfo<Parameter>& info) {
  const auto [dtype, eagle] = info.param;
  return std::string(DTypeName(dtype)) + (eagle ? "_eagle" : "_llama");
}

class DecoderInvarianceTest : public testing::TestWithParam<Parameter> {
 protected:
  ~DecoderInvarianceTest() override { SetIsa(DetectIsa()); }

  Network Make(ThreadPool& pool) {
    return Network(dir_.path(), std::get<DType>(GetParam()), std::get<bool>(GetParam()), pool);
  }

  /// Runs `body` under each instruction set of this machine.
  void ForEachIsa(const std::function<void()>& body) {
    for (const Isa isa : SupportedIsas()) {
      SCOPED_TRACE(IsaName(isa));
      SetIsa(isa);
      body();
    }
  }

  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/2};
};

TEST_P(DecoderInvarianceTest, ChunksAndSlotsDoNotChangeBits) {
  ForEachIsa([this] {
    Network network = Make(pool_);
    const std::vector<TokenId> tokens = RandomTokens(45, network.config().vocab_size, /*seed=*/1);
    const std::vector<float> whole = network.Chain(tokens, /*chunk=*/45, Iota(kNumSlots));
    for (const size_t chunk : {1, 2, 7, 16, 44}) {
      SCOPED_TRACE(chunk);
      ExpectSameBits(network.Chain(tokens, chunk, ShuffledSlots(/*seed=*/chunk)), whole);
    }
  });
}

TEST_P(DecoderInvarianceTest, ThreadCountsDoNotChangeBits) {
  ForEachIsa([this] {
    std::vector<float> reference;
    for (const int num_threads : {1, 2, 3, 5}) {
      SCOPED_TRACE(num_threads);
      ThreadPool pool(num_threads);
      Network network = Make(pool);
      const std::vector<TokenId> tokens = RandomTokens(33, network.config().vocab_size, /*seed=*/2);
      const std::vector<float> out = network.Chain(tokens, /*chunk=*/17, Iota(kNumSlots));
      if (reference.empty()) reference = out;
      ExpectSameBits(out, reference);
    }
  });
}

TEST_P(DecoderInvarianceTest, BatchNeighboursDoNotChangeBits) {
  ForEachIsa([this] {
    Network network = Make(pool_);
    const std::vector<int32_t> slots = ShuffledSlots(/*seed=*/3);
    const std::vector<int64_t> lengths = {19, 1, 40, 8};
    std::vector<std::vector<TokenId>> sequences;
    for (size_t i = 0; i < lengths.size(); ++i) {
      sequences.push_back(RandomTokens(lengths[i], network.config().vocab_size, /*seed=*/10 + i));
    }
    ForwardBatch batch;
    std::vector<float> want;
    size_t first_slot = 0;
    for (const auto& tokens : sequences) {
      batch.AddChain(tokens, /*first_position=*/0,
                     std::span(slots).subspan(first_slot, tokens.size()));
      first_slot += tokens.size();
      const std::vector<float> alone =
          network.Chain(tokens, /*chunk=*/tokens.size(), Iota(kNumSlots));
      want.insert(want.end(), alone.begin(), alone.end());
    }
    KvCache cache = network.NewCache();
    ExpectSameBits(network.Forward(batch, cache), want);
  });
}

TEST_P(DecoderInvarianceTest, EveryTreePathMatchesChainBits) {
  ForEachIsa([this] {
    Network network = Make(pool_);
    const int64_t vocab_size = network.config().vocab_size;
    const size_t hidden = static_cast<size_t>(network.config().hidden);
    const std::vector<int32_t> slots = ShuffledSlots(/*seed=*/4);
    const std::vector<TokenId> prefix = RandomTokens(21, vocab_size, /*seed=*/20);
    const std::vector<TokenId> other = RandomTokens(9, vocab_size, /*seed=*/21);
    const std::vector<TokenId> nodes = RandomTokens(14, vocab_size, /*seed=*/22);
    std::vector<int32_t> parents;
    std::mt19937_64 random(23);
    for (int32_t i = 0; i < 14; ++i)
      parents.push_back(static_cast<int32_t>(random() % (i + 1)) - 1);

    // One pass holds an unrelated sequence and the tree; the prefix was computed before.
    KvCache cache = network.NewCache();
    ForwardBatch batch;
    batch.AddChain(prefix, /*first_position=*/0, std::span(slots).first(21));
    network.Forward(batch, cache);
    batch.Clear();
    batch.AddChain(other, /*first_position=*/0, std::span(slots).subspan(50, 9));
    batch.AddTree(nodes, parents, std::span(slots).first(21), std::span(slots).subspan(80, 14));
    const std::vector<float> out = network.Forward(batch, cache);

    for (int32_t node = 0; node < 14; ++node) {
      SCOPED_TRACE(node);
      std::vector<TokenId> path;
      for (int32_t i = node; i >= 0; i = parents[i]) path.insert(path.begin(), nodes[i]);
      path.insert(path.begin(), prefix.begin(), prefix.end());
      const std::vector<float> chain = network.Chain(path, /*chunk=*/path.size(), Iota(kNumSlots));
      ExpectSameBits(std::span(out).subspan((other.size() + node) * hidden, hidden),
                     std::span(chain).last(hidden));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Networks, DecoderInvarianceTest,
                         testing::Combine(testing::Values(DType::kF32, DType::kF16, DType::kBf16),
                                          testing::Bool()),
                         ParameterName);

class DecoderTest : public testing::Test {
 protected:
  std::unique_ptr<Decoder> Write(const TinyLlamaOptions& options) {
    EXPECT_TRUE(WriteTinyLlama(dir_.path(), options, /*seed=*/9).ok());
    return LoadOrDie(dir_.path(), std::nullopt, pool_);
  }
  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/1};
};

using DecoderDeathTest = DecoderTest;

TEST_F(DecoderTest, TiedHeadSharesEmbeddingMemory) {
  TinyLlamaOptions options;
  options.tied = true;
  options.dtype = DType::kBf16;
  const auto decoder = Write(options);
  EXPECT_EQ(decoder->head_weight().rows, decoder->embedding_weight().rows);
  EXPECT_EQ(decoder->head_weight().dtype, DType::kBf16);
}

TEST_F(DecoderTest, UntiedHeadHasOwnTensor) {
  const auto decoder = Write(TinyLlamaOptions());
  EXPECT_NE(decoder->head_weight().rows, decoder->embedding_weight().rows);
  EXPECT_EQ(decoder->head_weight().vocab_size, 96);
  EXPECT_EQ(decoder->head_weight().hidden, 32);
}

TEST_F(DecoderTest, EmptyBatchGivesNoRows) {
  const auto decoder = Write(TinyLlamaOptions());
  KvCache cache = KvCache::Create(decoder->config(), /*num_slots=*/4, decoder->dtype()).value();
  const auto hidden = decoder->Forward(ForwardBatch(), cache);
  ASSERT_TRUE(hidden.ok());
  EXPECT_EQ(hidden->rows(), 0);
  EXPECT_EQ(hidden->cols(), 32);
}

TEST_F(DecoderDeathTest, IdsPositionsAndSlotsOutOfRangeAbort) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TinyLlamaOptions options;
  options.context_len = 8;
  const auto decoder = Write(options);
  KvCache cache = KvCache::Create(decoder->config(), /*num_slots=*/16, decoder->dtype()).value();
  const auto run = [&](TokenId token, int64_t position, int32_t first_slot) {
    ForwardBatch batch;
    batch.AddChain(std::span(&token, 1), position, Iota(position + 1, first_slot));
    return decoder->Forward(batch, cache).ok();
  };
  EXPECT_TRUE(run(TokenId{95}, /*position=*/7, /*first_slot=*/8));
  EXPECT_DEATH(run(TokenId{96}, /*position=*/0, /*first_slot=*/0), "vocab_size");
  EXPECT_DEATH(run(TokenId{-1}, /*position=*/0, /*first_slot=*/0), "vocab_size");
  EXPECT_DEATH(run(TokenId{3}, /*position=*/8, /*first_slot=*/0), "context_len");
  EXPECT_DEATH(run(TokenId{3}, /*position=*/7, /*first_slot=*/9), "num_slots");
}

TEST(ShippedPairTest, DraftPredictsTarget) {
  ThreadPool pool(/*num_threads=*/2);
  const auto target = LoadOrDie(SourcePath("models/demo/target"), std::nullopt, pool);
  auto draft =
      EagleModel::Load(ModelSource::OfDirectory(SourcePath("models/demo/draft")), *target, pool);
  ASSERT_TRUE(draft.ok()) << draft.status();
  EXPECT_EQ(target->dtype(), DType::kBf16);

  constexpr int64_t kSteps = 64;
  const int64_t hidden = target->config().hidden;
  const auto argmax = [&](const std::vector<float>& row) {
    const std::vector<float> logits = Logits(*target, row, pool);
    return TokenId(std::max_element(logits.begin(), logits.end()) - logits.begin());
  };
  const auto row_of = [&](const std::vector<float>& rows, int64_t i) {
    return std::vector<float>(rows.begin() + i * hidden, rows.begin() + (i + 1) * hidden);
  };
  std::vector<TokenId> tokens = {TokenId{1}};
  std::vector<float> features;
  KvCache cache = KvCache::Create(target->config(), kSteps, target->dtype()).value();
  for (int64_t i = 0; i < kSteps; ++i) {
    ForwardBatch batch;
    batch.AddChain(std::span(tokens).last(1), i, Iota(i + 1));
    const std::vector<float> row = ToVector(target->Forward(batch, cache).value());
    features.insert(features.end(), row.begin(), row.end());
    tokens.push_back(argmax(row));
  }
  KvCache draft_cache = KvCache::Create((*draft)->config(), kSteps, target->dtype()).value();
  ForwardBatch batch;
  batch.AddChain(std::span(tokens).subspan(1), /*first_position=*/0, Iota(kSteps));
  const std::vector<float> predicted =
      ToVector((*draft)->Forward(batch, FromVector(features, hidden), draft_cache)->features);
  int num_hits = 0;
  for (int64_t i = 0; i + 1 < kSteps; ++i)
    num_hits += argmax(row_of(predicted, i)) == tokens[i + 2];
  EXPECT_GE(num_hits, (kSteps - 1) / 2) << "of " << kSteps - 1;
  RecordProperty("draft_hits", num_hits);
}

}  // namespace
}  // namespace shortlist
