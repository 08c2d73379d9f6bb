// Priority 1 in the Router: each output equals plain decoding of the request alone, bit for bit,
// with any caching, chunks, order, retraction, drafts and concurrent requests.

#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "router/scheduler.h"
#include "tests/draft/pair.h"
#include "tests/router/router_harness.h"

namespace shortlist {
namespace {

struct Case {
  std::string name;
  DrafterKind drafter = DrafterKind::kNone;
  VocabKind vocab = VocabKind::kFullHead;
  SchedulePolicy policy = SchedulePolicy::kLpm;
  int64_t chunk = 64;
  int64_t max_total_tokens = 4000;
  bool disable_radix_cache = false;
  bool retracts = false;           // everything, after every step
  bool every_other_plain = false;  // every other request is not drafted for
  bool keeps_outputs = true;       // for copies by later requests; unless `drafter` is kNone
  int64_t num_clients = 1;
};

std::vector<Case> Cases() {
  return {
      {.name = "plain"},
      {.name = "plain, no cache", .disable_radix_cache = true},
      {.name = "plain, chunks of 1, random", .policy = SchedulePolicy::kRandom, .chunk = 1},
      {.name = "plain, uncut, dfs_weight", .policy = SchedulePolicy::kDfsWeight, .chunk = 0},
      {.name = "plain, retracted", .retracts = true},
      {.name = "plain, short of memory", .max_total_tokens = 190},
      {.name = "suffix", .drafter = DrafterKind::kSuffix},
      {.name = "suffix, uncut, retracted, 2 clients",
       .drafter = DrafterKind::kSuffix,
       .chunk = 0,
       .retracts = true,
       .num_clients = 2},
      {.name = "suffix, short of memory, mixed",
       .drafter = DrafterKind::kSuffix,
       .max_total_tokens = 190,
       .every_other_plain = true},
      {.name = "eagle", .drafter = DrafterKind::kEagle},
      {.name = "eagle, no cache", .drafter = DrafterKind::kEagle, .disable_radix_cache = true},
      {.name = "eagle, list, fcfs, chunks of 7",
       .drafter = DrafterKind::kEagle,
       .vocab = VocabKind::kListAndDynamic,
       .policy = SchedulePolicy::kFcfs,
       .chunk = 7},
      {.name = "eagle, uncut, retracted",
       .drafter = DrafterKind::kEagle,
       .chunk = 0,
       .retracts = true},
      {.name = "eagle, short of memory, mixed",
       .drafter = DrafterKind::kEagle,
       .max_total_tokens = 190,
       .every_other_plain = true},
      {.name = "eagle3", .drafter = DrafterKind::kEagle3},
      {.name = "eagle3, list, fcfs, chunks of 7",
       .drafter = DrafterKind::kEagle3,
       .vocab = VocabKind::kListAndDynamic,
       .policy = SchedulePolicy::kFcfs,
       .chunk = 7},
      {.name = "eagle3, successors, uncut, retracted",
       .drafter = DrafterKind::kEagle3,
       .vocab = VocabKind::kSuccessors,
       .chunk = 0,
       .retracts = true},
      {.name = "eagle3, short of memory, mixed",
       .drafter = DrafterKind::kEagle3,
       .max_total_tokens = 190,
       .every_other_plain = true},
      {.name = "model", .drafter = DrafterKind::kModel},
      {.name = "model, no cache", .drafter = DrafterKind::kModel, .disable_radix_cache = true},
      {.name = "model, list, successors, chunks of 13",
       .drafter = DrafterKind::kModel,
       .vocab = VocabKind::kSuccessors,
       .chunk = 13},
      {.name = "model, uncut, retracted",
       .drafter = DrafterKind::kModel,
       .chunk = 0,
       .retracts = true},
      {.name = "model, short of memory, mixed",
       .drafter = DrafterKind::kModel,
       .max_total_tokens = 190,
       .every_other_plain = true},
  };
}

struct CaseResult {
  std::vector<std::vector<TokenId>> outputs;
  // Of each second request its output's, of each fourth also its prompt's; else empty.
  std::vector<std::vector<float>> logprobs;
  SequenceStats total;
  int64_t num_hit_tokens = 0;
  int64_t num_retractions = 0;
};

class RouterEqualityTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pair_ = DemoPair::Load(/*num_threads=*/2).release();
    // Three requests of each prompt: itself, its first part, and that part with another's end.
    const auto prompts = EqualityPrompts(/*max_len=*/80);
    for (size_t i = 0; i < prompts.size(); ++i) {
      const std::vector<TokenId>& other = prompts[(i + 1) % prompts.size()];
      std::vector<TokenId> part(prompts[i].begin(),
                                prompts[i].begin() + (prompts[i].size() + 1) / 2);
      std::vector<TokenId> joined = part;
      joined.insert(joined.end(), other.end() - std::min<size_t>(other.size(), 9), other.end());
      for (auto& prompt : {prompts[i], part, joined}) prompts_.push_back(prompt);
    }
  }
  static void TearDownTestSuite() { delete pair_; }
  void SetUp() override { ASSERT_NE(pair_, nullptr); }

  /// Where the log-probabilities that request `i` asks for of its prompt begin.
  static int64_t PromptStart(size_t i) { return static_cast<int64_t>(i * 5 % prompts_[i].size()); }

  CaseResult Run(const Case& c, const SamplingParams& sampling) {
    const std::unique_ptr<Drafter> drafter = pair_->NewDrafter(c.drafter, c.max_total_tokens);
    const std::unique_ptr<DynamicVocabularyManager> vocab = pair_->NewVocab(c.vocab, c.drafter);
    auto engine = SpeculativeEngine::Create(pair_->target(), drafter.get(), vocab.get(),
                                            {.num_draft_tokens = 4,
                                             .draft_p_min = 0.2,
                                             .copies_alone = c.drafter == DrafterKind::kSuffix,
                                             .past_output_bytes = c.keeps_outputs ? 1 << 18 : 0,
                                             .num_slots = c.max_total_tokens,
                                             .emit_size = pair_->emit_size()},
                                            pair_->pool());
    EXPECT_TRUE(engine.ok()) << engine.status();
    double now_s = 0.0;
    RouterHarness harness(**engine, {.scheduler = {.policy = c.policy,
                                                   .max_total_tokens = c.max_total_tokens,
                                                   .max_prefill_tokens = 256,
                                                   .chunked_prefill_size = c.chunk,
                                                   .disable_radix_cache = c.disable_radix_cache},
                                     .now = [&now_s] { return now_s += 0.01; }});
    // One comes in every other step, so that each sees others in every state.
    size_t next = 0;
    for (int64_t step = 0; next < prompts_.size() || !harness.router().idle(); ++step) {
      std::vector<RouterMessage> messages;
      if (step % 2 == 0 && next < prompts_.size()) {
        TokenizedGenerateReqInput input;
        input.rid = std::to_string(next);
        input.input_ids = prompts_[next];
        input.sampling_params = sampling;
        input.sampling_params.seed += next;
        if (next % 2 == 1) input.sampling_params.num_logprobs = 1;
        if (next % 4 == 1) input.sampling_params.prompt_logprobs_start = PromptStart(next);
        input.max_tail_rows = TailRows(c.vocab);
        input.cache_salt = absl::StrCat("client ", next % c.num_clients);
        input.speculates = !c.every_other_plain || next % 2 == 0;
        messages.push_back(std::move(input));
        ++next;
      }
      harness.Step(std::move(messages));
      if (c.retracts) harness.router().RetractAll();
      if (step > 500 * std::ssize(prompts_) || HasFailure()) {
        ADD_FAILURE() << c.name << " does not end";
        break;
      }
    }
    harness.ExpectNothingHeld();
    CaseResult result;
    for (size_t i = 0; i < prompts_.size(); ++i) {
      const Served& served = harness.served()[std::to_string(i)];
      EXPECT_TRUE(served.last.status.ok()) << c.name << ": " << served.last.status;
      EXPECT_EQ(served.num_terminal_rows, 1);
      result.outputs.push_back(served.output);
      result.logprobs.emplace_back();
      for (const TokenInfo& info : served.infos) {
        EXPECT_EQ(info.top.size(), i % 2);
        if (i % 2 == 1) result.logprobs.back().push_back(info.logprob);
      }
      const int64_t num_scored = i % 4 == 1 ? std::ssize(prompts_[i]) - 1 - PromptStart(i) : 0;
      EXPECT_EQ(std::ssize(served.prompt_infos), num_scored);
      for (const TokenInfo& info : served.prompt_infos) {
        result.logprobs.back().push_back(info.logprob);
      }
      if (i % 4 == 1) {
        EXPECT_LE(served.last.cached_tokens, PromptStart(i));
      }
      result.total.Add(served.last.stats);
      result.num_hit_tokens += served.last.cached_tokens;
    }
    result.num_retractions = harness.router().scheduler().stats().num_retractions;
    return result;
  }

  void ExpectAllEqualPlain(double temperature) {
    SamplingParams sampling{.temperature = temperature, .seed = 77, .max_new_tokens = 20};
    sampling.stop_token_ids = {TokenId{2}};
    const RunResult expected = pair_->Run(prompts_, {.sampling = sampling});
    std::optional<std::vector<std::vector<float>>> logprobs;  // of the first case
    for (const Case& c : Cases()) {
      const CaseResult actual = Run(c, sampling);
      std::printf("%-32s accept length %.3f, %lld cached tokens, %lld retractions\n",
                  c.name.c_str(), actual.total.accept_length(),
                  static_cast<long long>(actual.num_hit_tokens),
                  static_cast<long long>(actual.num_retractions));
      for (size_t i = 0; i < prompts_.size(); ++i) {
        ASSERT_EQ(actual.outputs[i], expected.outputs[i]) << c.name << ", request " << i;
      }
      if (!logprobs) logprobs = actual.logprobs;
      EXPECT_EQ(actual.logprobs, *logprobs) << c.name;
      EXPECT_EQ(actual.num_hit_tokens > 0, !c.disable_radix_cache) << c.name;
      if (c.retracts) {
        EXPECT_GT(actual.num_retractions, std::ssize(prompts_)) << c.name;
      }
      if (c.drafter != DrafterKind::kNone) {
        // Sampled text hardly repeats itself.
        const double least = c.drafter == DrafterKind::kSuffix ? 1.02 : 1.05;
        EXPECT_GT(actual.total.accept_length(), least) << c.name;
      }
    }
  }

  static DemoPair* pair_;
  static std::vector<std::vector<TokenId>> prompts_;
};
DemoPair* RouterEqualityTest::pair_ = nullptr;
std::vector<std::vector<TokenId>> RouterEqualityTest::prompts_;

TEST_F(RouterEqualityTest, GreedyOutputEqualsPlainDecoding) {
  ExpectAllEqualPlain(/*temperature=*/0.0);
}

TEST_F(RouterEqualityTest, SampledOutputEqualsPlainDecodingForSameSeed) {
  ExpectAllEqualPlain(/*temperature=*/0.8);
}

/// Requests that end before anything is drafted for them: by their length, or by a stop.
TEST_F(RouterEqualityTest, ShortRequestsSharePromptsWithAnyDraft) {
  struct Short {
    int64_t max_new_tokens;
    bool stops;  // with its first token
    int64_t chunk;
  };
  for (const Short& of : {Short{1, false, 512}, Short{2, false, 512}, Short{16, true, 512},
                          Short{1, false, 16}, Short{1, false, 0}}) {
    SCOPED_TRACE(testing::Message() << of.max_new_tokens << " tokens, chunks of " << of.chunk);
    std::vector<Served> plain;
    for (const DrafterKind kind :
         {DrafterKind::kNone, DrafterKind::kEagle, DrafterKind::kEagle3, DrafterKind::kModel}) {
      const std::unique_ptr<Drafter> drafter = pair_->NewDrafter(kind, /*num_slots=*/8000);
      const std::unique_ptr<SpeculativeEngine> engine = *SpeculativeEngine::Create(
          pair_->target(), drafter.get(), /*vocab=*/nullptr,
          {.num_draft_tokens = 4, .num_slots = 8000, .emit_size = pair_->emit_size()},
          pair_->pool());
      RouterHarness harness(
          *engine, {.scheduler = {.max_total_tokens = 8000, .chunked_prefill_size = of.chunk}});
      // Each prompt twice, then what follows from a prefix that a short request has left.
      for (size_t i = 0; i < 2 * prompts_.size(); ++i) {
        TokenizedGenerateReqInput input;
        input.rid = std::to_string(i);
        input.input_ids = prompts_[i % prompts_.size()];
        input.sampling_params.max_new_tokens = of.max_new_tokens;
        if (of.stops) input.stop = [](TokenId) { return true; };
        harness.Step({std::move(input)});
        harness.StepUntilIdle();
        const Served& served = harness.served()[std::to_string(i)];
        ASSERT_TRUE(served.last.status.ok()) << served.last.status;
        if (kind == DrafterKind::kNone) {
          plain.push_back(served);
          continue;
        }
        EXPECT_EQ(served.output, plain[i].output) << Name(kind) << ", request " << i;
        // A key of two tokens sees where prefixes part one token earlier.
        const int64_t look_ahead = kind == DrafterKind::kModel ? 0 : 1;
        EXPECT_GE(served.last.cached_tokens, plain[i].last.cached_tokens - look_ahead)
            << Name(kind) << ", request " << i;
        EXPECT_LE(served.last.cached_tokens, plain[i].last.cached_tokens);
      }
      harness.ExpectNothingHeld();
    }
  }
}

TEST_F(RouterEqualityTest, AcceptanceUnchangedAfterShortRequest) {
  for (const DrafterKind kind : {DrafterKind::kEagle, DrafterKind::kEagle3, DrafterKind::kModel}) {
    SequenceStats stats[2];
    std::vector<std::vector<TokenId>> outputs[2];
    for (const bool is_cached : {false, true}) {
      const std::unique_ptr<Drafter> drafter = pair_->NewDrafter(kind, /*num_slots=*/8000);
      const std::unique_ptr<SpeculativeEngine> engine = *SpeculativeEngine::Create(
          pair_->target(), drafter.get(), /*vocab=*/nullptr,
          {.num_draft_tokens = 4, .num_slots = 8000, .emit_size = pair_->emit_size()},
          pair_->pool());
      RouterHarness harness(*engine, {.scheduler = {.max_total_tokens = 8000}});
      for (size_t i = 0; i < prompts_.size(); i += 3) {
        for (const int64_t max_new_tokens : {1, 24}) {
          if (max_new_tokens == 1 && !is_cached) continue;
          TokenizedGenerateReqInput input;
          input.rid = absl::StrCat(i, " ", max_new_tokens);
          input.input_ids = prompts_[i];
          input.sampling_params.max_new_tokens = max_new_tokens;
          harness.Step({std::move(input)});
          harness.StepUntilIdle();
        }
        const Served& served = harness.served()[absl::StrCat(i, " 24")];
        EXPECT_EQ(served.last.cached_tokens >= std::ssize(prompts_[i]) - 2, is_cached);
        stats[is_cached].Add(served.last.stats);
        outputs[is_cached].push_back(served.output);
      }
    }
    EXPECT_EQ(outputs[0], outputs[1]) << Name(kind);
    EXPECT_EQ(stats[0].num_drafted, stats[1].num_drafted) << Name(kind);
    EXPECT_EQ(stats[0].num_accepted, stats[1].num_accepted) << Name(kind);
  }
}

TEST_F(RouterEqualityTest, AcceptanceUnchangedAfterCachedPrefix) {
  SamplingParams sampling{.max_new_tokens = 24};
  for (DrafterKind drafter : {DrafterKind::kEagle, DrafterKind::kEagle3, DrafterKind::kModel}) {
    const CaseResult cached =
        Run({.name = "cached", .drafter = drafter, .keeps_outputs = false}, sampling);
    const CaseResult computed = Run({.name = "computed",
                                     .drafter = drafter,
                                     .disable_radix_cache = true,
                                     .keeps_outputs = false},
                                    sampling);
    EXPECT_GT(cached.num_hit_tokens, 50);
    EXPECT_EQ(cached.total.num_drafted, computed.total.num_drafted);
    EXPECT_EQ(cached.total.num_accepted, computed.total.num_accepted);
    EXPECT_EQ(cached.total.num_verify_steps, computed.total.num_verify_steps);
  }
}

TEST_F(RouterEqualityTest, OnlyOwnPastOutputsAreDrafted) {
  const std::unique_ptr<SpeculativeEngine> engine = *SpeculativeEngine::Create(
      pair_->target(), /*drafter=*/nullptr, /*vocab=*/nullptr,
      {.copies_alone = true, .num_slots = 2000, .emit_size = pair_->emit_size()}, pair_->pool());
  RouterHarness harness(*engine, {.scheduler = {.max_total_tokens = 2000}});
  const auto serve = [&](const std::string& salt, const std::string& rid) {
    TokenizedGenerateReqInput input{.rid = rid, .input_ids = prompts_[0], .cache_salt = salt};
    input.sampling_params.max_new_tokens = 40;
    harness.Step({std::move(input)});
    harness.StepUntilIdle();
    return harness.served()[rid].last.stats;
  };
  const SequenceStats first = serve("a", "first"), other = serve("b", "other");
  const SequenceStats again = serve("a", "again");
  EXPECT_EQ(other.num_accepted, first.num_accepted);
  EXPECT_EQ(other.num_drafted, first.num_drafted);
  EXPECT_GT(again.num_accepted, first.num_accepted + 10);
  EXPECT_EQ(harness.served()["again"].output, harness.served()["first"].output);
}

}  // namespace
}  // namespace shortlist
