// I1 over many random engines: whatever drafts, whatever its costs seem to be, and however requests
// are batched, chunked and restarted, the output is plain decoding's. Models are fake, so a run
// takes milliseconds.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "draft/engine.h"
#include "draft/model_drafter.h"
#include "draft/past_outputs.h"
#include "request/token_bans.h"
#include "request/token_constraint.h"
#include "tests/draft/fake_model.h"
#include "tests/draft/pair.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {
namespace {

constexpr int64_t kVocab = 40;
constexpr int64_t kEmitted = 37;  // the rest is padding
constexpr int64_t kContext = 120;
constexpr int64_t kLane = kContext + 16;  // slots of one request

/// A grammar of random states, in each of which few, most or all tokens may follow. It forces text
/// in half of the states, of which the target chooses about one token in two, and some that may not
/// follow.
class RandomGrammar final : public TokenConstraint {
 public:
  explicit RandomGrammar(uint32_t seed) : seed_(seed) {}

  State Begin() const override { return State{1}; }
  State Next(State state, TokenId token) const override {
    return State{static_cast<int64_t>(Random(state, Raw(token)) % 97)};
  }
  bool Allows(State state, TokenId token) const override {
    const TokenSet set = Allowed(state);
    return std::ranges::binary_search(set.ids(), token) != set.is_exception();
  }
  TokenSet Allowed(State state) const override {
    const uint32_t kind = Random(state, 1000) % 3;
    std::vector<TokenId> ids;
    for (int32_t id = 0; id < kEmitted && kind < 2; ++id) {
      if (Random(state, 2000 + id) % 8 == 0) ids.push_back(TokenId{id});
    }
    if (kind != 0) return TokenSet::AllExcept(ids);
    if (ids.empty()) ids.push_back(TokenId{7});
    return TokenSet::Only(ids);
  }
  std::vector<TokenId> Forced(State state) const override {
    std::vector<TokenId> tokens;
    for (uint32_t left = Random(state, 3000) % 2 * Random(state, 3001) % 7; left > 0; --left) {
      const TokenSet set = Allowed(state);
      const TokenId any{static_cast<int32_t>(Random(state, 3002) % kEmitted)};
      tokens.push_back(set.is_exception() ? any : set.ids().front());
      state = Next(state, tokens.back());
    }
    return tokens;
  }
  bool IsComplete(State state) const override { return static_cast<int64_t>(state) == 0; }

 private:
  uint32_t Random(State state, int64_t salt) const {
    std::seed_seq seeds{seed_, static_cast<uint32_t>(state), static_cast<uint32_t>(salt)};
    uint32_t value = 0;
    seeds.generate(&value, &value + 1);
    return value;
  }
  const uint32_t seed_;
};

/// One random engine, its requests, and how they run.
class RandomRun {
 public:
  explicit RandomRun(uint32_t seed)
      : rng_(seed),
        target_(seed, kVocab, kContext),
        draft_(seed, kVocab, Between(20, 200), Pick<float>({0.0f, 1.0f, 4.0f})) {
    for (int64_t i = Between(1, 5); i > 0; --i) requests_.push_back(RandomRequest());
    while (std::ssize(requests_) < 6 && OneIn(2)) {  // repeats an earlier one
      requests_.push_back(requests_[Between(0, std::ssize(requests_) - 1)]);
      requests_.back().options.cache_salt = RandomSalt();
    }
  }

  /// The outputs without a draft, one request after the other, the prompt in one chunk.
  std::vector<std::vector<TokenId>> Plain() {
    std::vector<std::vector<TokenId>> outputs;
    const auto engine = *SpeculativeEngine::Create(target_, /*drafter=*/nullptr, /*vocab=*/nullptr,
                                                   Options(), pool_);
    std::vector<int32_t> slots(kLane);
    std::iota(slots.begin(), slots.end(), 0);
    for (const Request& request : requests_) {
      const auto sequence = *Sequence::Create(request.prompt, request.options, kEmitted);
      const std::vector<StepWork> one = {{.sequence = sequence.get(), .kv_slots = slots}};
      EXPECT_TRUE(engine->Prefill(one, kContext).ok());
      while (!sequence->finished()) EXPECT_TRUE(engine->Step(one).ok());
      outputs.emplace_back(sequence->output().begin(), sequence->output().end());
    }
    return outputs;
  }

  /// The outputs of a random engine that drafts.
  std::vector<std::vector<TokenId>> Drafted(SequenceStats& total);
  /// Accepted tokens by place in the chain, from 0.
  const std::vector<int64_t>& num_accepted() const { return num_accepted_; }

 private:
  struct Request {
    std::vector<TokenId> prompt;
    Sequence::Options options;
  };
  struct Lane {
    std::unique_ptr<Sequence> sequence;
    std::vector<int32_t> slots;
    DynamicVocabularyManager* vocab = nullptr;
    int64_t begins = 0;  // round in which it arrives
  };

  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng_);
  }
  bool OneIn(int64_t count) { return Between(1, count) == 1; }
  template <typename T>
  T Pick(std::initializer_list<T> of) {
    return of.begin()[Between(0, std::ssize(of) - 1)];
  }
  std::string RandomSalt() { return Pick<const char*>({"", "", "other"}); }
  TokenId RandomToken() { return TokenId{static_cast<int32_t>(Between(0, kEmitted - 1))}; }
  std::vector<TokenId> RandomTokens(int64_t count) {
    std::vector<TokenId> tokens;
    while (count-- > 0) tokens.push_back(RandomToken());
    return tokens;
  }

  Request RandomRequest();
  SpeculativeEngine::Options Options() const {
    return {
        .num_draft_tokens = 0, .num_slots = kLane * std::ssize(requests_), .emit_size = kEmitted};
  }
  SpeculativeEngine::Options RandomOptions();
  std::unique_ptr<DynamicVocabularyManager> RandomVocab();
  void Disturb(SpeculativeEngine& engine, Lane& lane);
  void CountAccepted(const Sequence& sequence, int64_t num_emitted);

  std::mt19937 rng_;
  std::vector<int64_t> num_accepted_;
  ThreadPool pool_{1};
  FakeModel target_, draft_;
  std::vector<Request> requests_;
  double clock_ms_ = 0.0;
};

RandomRun::Request RandomRun::RandomRequest() {
  Request request{.prompt = RandomTokens(Between(1, 40)), .options = {}};
  SamplingParams& sampling = request.options.sampling;
  sampling.temperature = Pick({0.0, 0.0, 0.6, 1.0, 3.0});
  sampling.top_k = Pick<int64_t>({0, 0, 5});
  sampling.top_p = Pick({1.0, 1.0, 0.8});
  sampling.min_p = Pick({0.0, 0.0, 0.1});
  sampling.repetition_penalty = Pick({1.0, 1.0, 1.3});
  sampling.frequency_penalty = Pick({0.0, 0.0, 0.5});
  sampling.seed = Between(0, 1 << 30);
  sampling.max_new_tokens = Between(1, 70);
  sampling.min_new_tokens = Between(0, sampling.max_new_tokens);
  sampling.num_logprobs = Pick<int64_t>({-1, -1, 2});
  if (OneIn(3)) sampling.stop_token_ids = RandomTokens(2);
  if (OneIn(4)) sampling.logit_bias = {{RandomToken(), 6.0f}};
  if (OneIn(4)) sampling.grammar = std::make_shared<RandomGrammar>(sampling.seed);
  if (OneIn(8)) {
    sampling.bans = std::make_shared<TokenBans>(
        std::vector<TokenId>(),
        std::vector<std::vector<TokenId>>{RandomTokens(1), RandomTokens(2)});
  }
  request.options.max_tail_rows = Pick<int64_t>({0, 4, 30});
  request.options.speculates = !OneIn(6);
  request.options.cache_salt = RandomSalt();
  return request;
}

SpeculativeEngine::Options RandomRun::RandomOptions() {
  SpeculativeEngine::Options options = Options();
  options.num_draft_tokens = Between(1, 12);
  options.draft_p_min = Pick<std::optional<double>>({std::nullopt, std::nullopt, 0.0, 0.35, 1.0});
  // Every pass seems to take a random time, so the policy takes any decision that costs can cause.
  const double typical = Pick({0.0, 1.0, 50.0});
  options.now_ms = [this, typical] {
    const bool is_slow = OneIn(3);
    return clock_ms_ += std::uniform_real_distribution<>(0.0, is_slow ? 100.0 : typical)(rng_);
  };
  options.suffix_drafts = !OneIn(3);
  options.copies_alone = !OneIn(3);
  options.past_output_bytes = Pick<int64_t>({0, PastOutputs::kMinBytes, 1 << 16});
  options.coverage_floor = Pick({0.0, 0.65, 1.0});
  // Rejection sampling draws other tokens than plain decoding, unless it takes the best ones.
  const bool is_greedy = std::ranges::all_of(
      requests_, [](const Request& request) { return request.options.sampling.greedy(); });
  if (is_greedy && OneIn(2)) options.verify = VerifyMode::kRejection;
  return options;
}

std::unique_ptr<DynamicVocabularyManager> RandomRun::RandomVocab() {
  std::vector<TokenId> base;
  const int64_t share = Between(0, 10);
  for (int32_t id = 0; id < kEmitted; ++id) {
    if (Between(1, 10) <= share) base.push_back(TokenId{id});
  }
  return *DynamicVocabularyManager::Create(*VocabBase::Create(base, kVocab),
                                           {.dynamic_capacity = Pick<int64_t>({0, 3, 20})});
}

/// Restarts the request, in other slots or with a prefix of its own, or names tokens to its draft,
/// now and then.
void RandomRun::Disturb(SpeculativeEngine& engine, Lane& lane) {
  if (OneIn(12)) {
    const int64_t most = std::min(lane.sequence->cached_len, lane.sequence->num_tokens() - 1);
    const int64_t wanted = OneIn(2) ? 0 : Between(0, most);
    const int64_t len = engine.ResumableLen(std::span(lane.slots).first(wanted));
    std::shuffle(lane.slots.begin() + len, lane.slots.end(), rng_);
    engine.AdoptPrefix(*lane.sequence, std::span(lane.slots).first(len),
                       RandomTokens(Between(0, 5)));
  } else if (OneIn(8)) {
    engine.AddContinuations(*lane.sequence, RandomTokens(3));
  }
}

/// Counts the places of the last `num_emitted` tokens' chain that were accepted, by their origins.
void RandomRun::CountAccepted(const Sequence& sequence, int64_t num_emitted) {
  const auto origins = std::span(sequence.token_infos).last(num_emitted);
  for (size_t place = 0; place < origins.size() && WasAccepted(origins[place].origin); ++place) {
    num_accepted_.resize(std::max(num_accepted_.size(), place + 1));
    ++num_accepted_[place];
  }
}

std::vector<std::vector<TokenId>> RandomRun::Drafted(SequenceStats& total) {
  const SpeculativeEngine::Options options = RandomOptions();
  std::unique_ptr<ModelDrafter> drafter;  // null: copies and forced text alone
  if (!OneIn(4)) drafter = *ModelDrafter::Create(draft_, options.num_slots, kEmitted, pool_);
  const auto vocab = OneIn(3) ? nullptr : RandomVocab(), other_vocab = RandomVocab();
  const auto engine =
      *SpeculativeEngine::Create(target_, drafter.get(), vocab.get(), options, pool_);
  std::vector<int32_t> slots(options.num_slots);
  std::iota(slots.begin(), slots.end(), 0);
  std::shuffle(slots.begin(), slots.end(), rng_);
  std::vector<Lane> lanes;
  for (const Request& request : requests_) {
    const auto first = slots.begin() + kLane * std::ssize(lanes);
    lanes.push_back({.sequence = *Sequence::Create(request.prompt, request.options, kEmitted),
                     .slots = {first, first + kLane},
                     .vocab = OneIn(4) ? other_vocab.get() : nullptr,
                     .begins = Between(0, OneIn(2) ? 20 : 100)});
  }
  const std::vector<TokenId> hints = RandomTokens(2);
  const auto is_done = [](const Lane& lane) { return lane.sequence->finished(); };
  for (int64_t round = 0; !std::ranges::all_of(lanes, is_done); ++round) {
    std::vector<StepWork> prefill, step;
    for (Lane& lane : lanes) {
      if (is_done(lane) || round < lane.begins) continue;
      if (round > lane.begins) Disturb(*engine, lane);
      StepWork work{.sequence = lane.sequence.get(), .kv_slots = lane.slots, .vocab = lane.vocab};
      if (OneIn(9)) work.new_dynamic_tokens = hints;
      work.shares_prompt = OneIn(2);
      (lane.sequence->prefilled() ? step : prefill).push_back(work);
    }
    if (!prefill.empty()) {
      const absl::Status status = engine->Prefill(prefill, Between(1, 50)).status();
      EXPECT_TRUE(status.ok()) << status;
    }
    if (!step.empty() && !OneIn(5)) {
      const auto results = engine->Step(step);
      EXPECT_TRUE(results.ok()) << results.status();
      for (size_t i = 0; results.ok() && i < step.size(); ++i) {
        CountAccepted(*step[i].sequence, (*results)[i].num_emitted);
      }
    }
  }
  std::vector<std::vector<TokenId>> outputs;
  for (const Lane& lane : lanes) {
    outputs.emplace_back(lane.sequence->output().begin(), lane.sequence->output().end());
    total.Add(lane.sequence->stats);
  }
  return outputs;
}

/// `num_accepted`: by place, counted from the outputs.
void ExpectPlaces(const SequenceStats& stats, std::vector<int64_t> num_accepted) {
  std::array<int64_t, kNumProposalSources> drafted{};
  std::vector<int64_t> accepted;
  for (const PlaceCounts& place : stats.by_place) {
    for (size_t i = 0; i < kNumProposalSources; ++i) drafted[i] += place.num_drafted[i];
    accepted.push_back(std::reduce(place.num_accepted.begin(), place.num_accepted.end()));
  }
  const auto of = [&drafted](ProposalSource source) {
    return drafted[static_cast<size_t>(source)];
  };
  EXPECT_EQ(of(ProposalSource::kCopied), stats.num_copied);
  EXPECT_EQ(of(ProposalSource::kForced), stats.num_forced);
  EXPECT_EQ(std::reduce(drafted.begin(), drafted.end()), stats.num_drafted);
  num_accepted.resize(accepted.size());
  EXPECT_EQ(accepted, num_accepted);
}

TEST(RandomEngineTest, OutputsEqualPlainDecoding) {
  SequenceStats total;
  const uint32_t count = kShortSuites ? 200 : 2000;
  for (uint32_t seed = 1; seed <= count; ++seed) {
    RandomRun run(seed);
    const auto expected = run.Plain();
    SequenceStats stats;
    ASSERT_EQ(run.Drafted(stats), expected) << "seed " << seed;
    ExpectPlaces(stats, run.num_accepted());
    total.Add(stats);
  }
  // All ways of drafting took part.
  EXPECT_GT(total.num_accepted, 1000);
  EXPECT_GT(total.num_drafted - total.num_accepted, 1000);
  EXPECT_GT(total.num_copied, 100);
  EXPECT_GT(total.num_forced, 100);
  EXPECT_GT(total.num_fallback_steps, 100);
  EXPECT_GT(total.num_steps_beyond_draft, 100);
  EXPECT_EQ(total.num_mapping_faults, 0);
}

}  // namespace
}  // namespace shortlist
