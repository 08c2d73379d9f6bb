// States of recurrent layers: continued, taken back, kept for others.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/isa.h"
#include "model/decoder.h"
#include "model/prefix_states.h"
#include "tests/model/model_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_hybrid.h"

namespace shortlist {
namespace {

constexpr int64_t kLen = 90;
constexpr int64_t kSlots = 400;

class RecurrentTest : public testing::Test {
 protected:
  RecurrentTest() {
    EXPECT_TRUE(WriteTinyHybrid(dir_.path(), /*seed=*/3).ok());
    decoder_ = LoadOrDie(dir_.path(), DType::kF32, pool_);
    std::mt19937 random(4);
    for (int64_t i = 0; i < kLen; ++i) {
      tokens_.push_back(TokenId{static_cast<int32_t>(random() % decoder_->config().vocab_size)});
    }
    expected_ = RunChain(*decoder_, tokens_);
  }

  int64_t width() const { return decoder_->config().hidden; }
  /// The states of tokens [begin, end), computed in one chain.
  std::vector<float> Expected(int64_t begin, int64_t end) const {
    return {expected_.begin() + begin * width(), expected_.begin() + end * width()};
  }
  std::span<const TokenId> Tokens(int64_t begin, int64_t end) const {
    return std::span(tokens_).subspan(begin, end - begin);
  }

  TempDir dir_;
  ThreadPool pool_{/*num_threads=*/2};
  std::unique_ptr<Decoder> decoder_;
  std::vector<TokenId> tokens_;
  std::vector<float> expected_;
};

TEST_F(RecurrentTest, RejectedTokensLeaveNoTrace) {
  std::mt19937 random(5);
  const auto at_most = [&](int64_t bound) { return static_cast<int64_t>(random() % (bound + 1)); };
  for (int round = 0; round < 20; ++round) {
    KvCache cache = KvCache::Create(decoder_->config(), kSlots, DType::kF32).value();
    const std::vector<int32_t> slots = Iota(kSlots);
    SequenceState state(decoder_->config());
    for (int64_t begin = 0; begin < kLen;) {
      // One certain token, then right ones, then wrong ones.
      const int64_t right = std::min(1 + at_most(4), kLen - begin), wrong = at_most(4);
      std::vector<TokenId> chain(tokens_.begin() + begin, tokens_.begin() + begin + right);
      for (int64_t i = 0; i < wrong; ++i) chain.push_back(TokenId{static_cast<int32_t>(i)});
      ForwardBatch batch;
      batch.AddChain(chain, begin, std::span(slots).first(begin + right + wrong),
                     {.state = &state, .final_len = begin + at_most(1)});
      std::vector<float> hidden = ToVector(decoder_->Forward(batch, cache).value());
      hidden.resize(right * width());
      ASSERT_EQ(hidden, Expected(begin, begin + right)) << "round " << round;
      begin += right;
    }
  }
}

TEST_F(RecurrentTest, SequencesOfABatchKeepTheirStates) {
  KvCache cache = KvCache::Create(decoder_->config(), kSlots, DType::kF32).value();
  std::vector<int32_t> slots = Iota(kSlots);
  SequenceState first(decoder_->config()), second(decoder_->config());
  const std::span<const int32_t> own = std::span(slots).first(kLen);
  const std::span<const int32_t> other = std::span(slots).subspan(kLen, kLen);
  // The second one lags by 7 tokens.
  ForwardBatch batch;
  batch.AddChain(Tokens(0, 7), 0, own.first(7), {.state = &first});
  ASSERT_TRUE(decoder_->Forward(batch, cache).ok());
  for (int64_t begin = 7; begin < kLen; begin += 3) {
    const int64_t end = std::min<int64_t>(begin + 3, kLen);
    batch.Clear();
    batch.AddChain(Tokens(begin - 7, end - 7), begin - 7, other.first(end - 7), {.state = &second});
    batch.AddChain(Tokens(begin, end), begin, own.first(end), {.state = &first});
    std::vector<float> expected = Expected(begin - 7, end - 7);
    const std::vector<float> rest = Expected(begin, end);
    expected.insert(expected.end(), rest.begin(), rest.end());
    ASSERT_EQ(ToVector(decoder_->Forward(batch, cache).value()), expected);
  }
}

TEST_F(RecurrentTest, PrefixesAreResumedWhereAStateWasKept) {
  const std::unique_ptr<Executor> executor = decoder_->NewExecutor(kSlots).value();
  std::vector<int32_t> slots = Iota(kSlots);
  const std::span<const int32_t> own = std::span(slots).first(kLen);
  std::unique_ptr<SequenceState> state = executor->NewState({});
  ForwardBatch batch;
  batch.AddChain(Tokens(0, 50), 0, own.first(50), {.state = state.get(), .ends_prompt = true});
  ASSERT_TRUE(executor->Forward(batch).ok());
  // A prompt's state before its last token.
  EXPECT_EQ(executor->ResumableLen(own.first(50)), 49);
  EXPECT_EQ(executor->ResumableLen(own.first(48)), 0);
  EXPECT_EQ(executor->NewState(own.first(48)), nullptr);

  // Another sequence goes on from there, in slots of its own.
  std::vector<int32_t> mixed(own.begin(), own.begin() + 49);
  for (int32_t slot = 200; std::ssize(mixed) < kLen; ++slot) mixed.push_back(slot);
  std::unique_ptr<SequenceState> resumed = executor->NewState(own.first(49));
  ASSERT_NE(resumed, nullptr);
  batch.Clear();
  batch.AddChain(Tokens(49, 60), 49, std::span(mixed).first(60),
                 {.state = resumed.get(), .final_len = 52});
  EXPECT_EQ(ToVector(executor->Forward(batch).value()), Expected(49, 60));

  // It ends; of its pending tokens, those before 57 stay.
  executor->Keep(std::move(resumed), std::span(mixed).first(57));
  EXPECT_EQ(executor->ResumableLen(std::span(mixed).first(60)), 57);
  resumed = executor->NewState(std::span(mixed).first(57));
  ASSERT_NE(resumed, nullptr);
  batch.Clear();
  batch.AddChain(Tokens(57, kLen), 57, mixed, {.state = resumed.get()});
  EXPECT_EQ(ToVector(executor->Forward(batch).value()), Expected(57, kLen));

  // A slot that is written again loses its state.
  batch.Clear();
  batch.AddChain(Tokens(0, 1), 0, std::span(slots).subspan(48, 1), {});
  ASSERT_TRUE(executor->Forward(batch).ok());
  EXPECT_EQ(executor->ResumableLen(own.first(50)), 0);
}

TEST_F(RecurrentTest, MemoryIsAsComputed) {
  const ModelConfig& config = decoder_->config();
  SequenceState state(config);
  int64_t floats = 0;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const SequenceState::Layer& layer = state.layer(i);
    floats += std::ssize(layer.state) + std::ssize(layer.rows);
    EXPECT_EQ(layer.state.empty(), !config.IsRecurrent(i));
  }
  EXPECT_EQ(SequenceState::Bytes(config), floats * 4);
  // A pending token holds its channels and gates, not a copy of the state.
  KvCache cache = KvCache::Create(config, kSlots, DType::kF32).value();
  EXPECT_EQ(cache.layer(0).keys, nullptr);
  const std::vector<int32_t> slots = Iota(kSlots);
  ForwardBatch batch;
  batch.AddChain(Tokens(0, 5), 0, std::span(slots).first(5), {.state = &state, .final_len = 1});
  ASSERT_TRUE(decoder_->Forward(batch, cache).ok());
  EXPECT_EQ(state.num_pending(), 4);
  int64_t with_pending = 0;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const SequenceState::Layer& layer = state.layer(i);
    with_pending += std::ssize(layer.state) + std::ssize(layer.rows) + std::ssize(layer.gates);
  }
  EXPECT_EQ((with_pending - floats) * 4, 4 * SequenceState::PendingBytes(config));
  EXPECT_LT(SequenceState::PendingBytes(config), SequenceState::Bytes(config));
}

TEST(PrefixStatesTest, LeastRecentlyUsedGoesFirst) {
  ModelConfig config;
  PrefixStates states(/*max_states=*/2);
  const auto add = [&](int32_t slot, int64_t len) {
    auto state = std::make_unique<SequenceState>(config);
    state->SetLen(len, /*num_pending=*/0);
    states.Add(slot, std::move(state));
  };
  const std::vector<int32_t> slots = {5, 6, 7};
  const std::span<const int32_t> all(slots);
  EXPECT_EQ(states.LongestLen(all), 0);
  EXPECT_EQ(states.Find({}), nullptr);
  add(5, 1);
  add(6, 2);
  EXPECT_EQ(states.LongestLen(all), 2);
  EXPECT_NE(states.Find(all.first(1)), nullptr);  // now the other one is older
  add(7, 3);
  EXPECT_EQ(states.LongestLen(all), 3);
  EXPECT_EQ(states.LongestLen(all.first(2)), 1);
  // A state after another number of tokens is not of this sequence.
  add(7, 9);
  EXPECT_EQ(states.LongestLen(all), 1);
  EXPECT_EQ(states.Find(all), nullptr);
  states.Overwritten(all);
  EXPECT_EQ(states.LongestLen(all), 0);
}

}  // namespace
}  // namespace shortlist
