// Cost of the Router's bookkeeping: one scheduling step, matching a cached prompt, and how both
// grow with the tree.

#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "router/radix_cache.h"
#include "router/scheduler.h"

namespace shortlist {
namespace {

std::vector<TokenId> RandomTokens(int64_t len, std::mt19937_64& random) {
  std::vector<TokenId> tokens(len);
  for (TokenId& token : tokens) token = TokenId(static_cast<int32_t>(random() % 32'000));
  return tokens;
}

int32_t Insert(KvPool& pool, RadixCache& cache, int32_t root, std::span<const TokenId> tokens) {
  std::vector<int32_t> slots(tokens.size());
  if (!pool.Allocate(slots)) std::abort();
  const RadixCache::Inserted inserted = cache.Insert(root, tokens, slots, {});
  pool.Free(std::span<const int32_t>(slots).first(inserted.existing_len));
  return inserted.node;
}

/// One step of a full engine. All running requests decode; a waiting request replaces one that has
/// finished and left its tokens in the tree; a new arrival is sorted into the queue.
void BM_SchedulingStep(benchmark::State& state) {
  const int64_t num_running = state.range(0);
  const int64_t num_queued = state.range(1);
  SchedulerOptions options{.max_total_tokens = num_running * 600,
                           .context_length = 4096,
                           .max_prefill_tokens = 1 << 20,
                           .chunked_prefill_size = 1 << 20,
                           .max_running_requests = num_running,
                           .max_queued_requests = num_queued + num_running,
                           .max_wait_s = 1e9};
  const std::unique_ptr<Scheduler> scheduler = *Scheduler::Create(options);
  std::mt19937_64 random(1);
  std::vector<std::vector<TokenId>> groups;
  for (int i = 0; i < 64; ++i) groups.push_back(RandomTokens(256, random));
  std::vector<std::unique_ptr<TokensReq>> reqs;
  double now_s = 0.0;
  const auto add = [&] {
    auto req = std::make_unique<TokensReq>();
    req->tokens = groups[random() % groups.size()];
    const std::vector<TokenId> own = RandomTokens(64, random);
    req->tokens.insert(req->tokens.end(), own.begin(), own.end());
    req->prompt_len = req->num_tokens();
    req->max_new_tokens = 512;
    req->arrival_s = now_s += 0.001;
    if (!scheduler->Add(*req).ok()) std::abort();
    reqs.push_back(std::move(req));
  };
  const TokenId token{7};
  const auto fill = [&] {
    for (Req* req : scheduler->GetNewPrefillBatch(now_s).reqs) {
      const int64_t len = req->num_tokens();
      static_cast<TokensReq*>(req)->tokens.push_back(token);
      scheduler->Computed(*req, len, len);
    }
  };
  const auto decode = [&] {
    for (Req* req : scheduler->PrepareDecode().reqs) {
      const int64_t len = req->num_tokens();
      static_cast<TokensReq*>(req)->tokens.push_back(token);
      scheduler->Computed(*req, len, len);
    }
  };
  while (std::ssize(scheduler->running()) < num_running) {
    add();
    fill();
    decode();
  }
  while (scheduler->num_queued() < num_queued) add();
  for (auto _ : state) {
    fill();
    decode();
    state.PauseTiming();
    scheduler->Finish(*scheduler->running()[random() % num_running]);
    add();
    if (std::ssize(reqs) > 4 * (num_running + num_queued)) {
      std::erase_if(reqs, [](const auto& req) { return req->state == Req::State::kReleased; });
    }
    state.ResumeTiming();
  }
  state.counters["queued"] = static_cast<double>(scheduler->num_queued());
  state.counters["retractions"] = static_cast<double>(scheduler->stats().num_retractions);
}
BENCHMARK(BM_SchedulingStep)
    ->ArgNames({"running", "queued"})
    ->Args({256, 1024})
    ->Args({256, 64})
    ->Unit(benchmark::kMicrosecond);

/// Finds a prompt of 32k tokens, inserted in chunks of 512, in a tree of `nodes` runs, and copies
/// out its slots.
void BM_MatchLongPrompt(benchmark::State& state) {
  constexpr int64_t kLen = 32 * 1024, kChunk = 512, kRun = 16;
  const int64_t nodes = state.range(0);
  KvPool pool(kLen + nodes * kRun + kLen);
  RadixCache cache(pool, {});
  const int32_t root = cache.OpenNamespace("");
  std::mt19937_64 random(1);
  const std::vector<TokenId> prompt = RandomTokens(kLen, random);
  for (int64_t i = 0; i < nodes; ++i) Insert(pool, cache, root, RandomTokens(kRun, random));
  std::vector<int32_t> slots(kLen);
  if (!pool.Allocate(slots)) std::abort();
  for (int64_t len = kChunk; len <= kLen; len += kChunk) {
    cache.Insert(root, std::span(prompt).first(len), std::span(slots).first(len), {});
  }
  for (auto _ : state) {
    const RadixCache::Match match = cache.MatchPrefix(root, prompt);
    cache.CopySlots(match.node, 0, slots);
    benchmark::DoNotOptimize(slots.data());
    if (match.len != kLen) state.SkipWithError("not all of the prompt was found");
  }
  state.SetItemsProcessed(state.iterations() * kLen);
}
BENCHMARK(BM_MatchLongPrompt)
    ->ArgName("nodes")
    ->RangeMultiplier(10)
    ->Range(10, 100'000)
    ->Unit(benchmark::kMicrosecond);

/// In a full tree of `nodes` runs of 16 tokens: evicts one, inserts one, locks and unlocks it.
void BM_InsertAndEvict(benchmark::State& state) {
  constexpr int64_t kRun = 16;
  const int64_t nodes = state.range(0);
  KvPool pool(nodes * kRun);
  RadixCache cache(pool, {});
  const int32_t root = cache.OpenNamespace("");
  std::mt19937_64 random(1);
  for (int64_t i = 0; i < nodes; ++i) Insert(pool, cache, root, RandomTokens(kRun, random));
  std::vector<std::vector<TokenId>> prompts;
  for (int i = 0; i < 1024; ++i) prompts.push_back(RandomTokens(kRun, random));
  size_t next = 0;
  for (auto _ : state) {
    cache.Evict(kRun);
    const int32_t node = Insert(pool, cache, root, prompts[next++ % prompts.size()]);
    cache.Lock(node);
    cache.Unlock(node);
  }
  state.SetItemsProcessed(state.iterations() * kRun);
}
BENCHMARK(BM_InsertAndEvict)->ArgName("nodes")->RangeMultiplier(10)->Range(10, 100'000);

}  // namespace
}  // namespace shortlist

BENCHMARK_MAIN();
