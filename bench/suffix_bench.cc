// Cost of suffix drafts on the CPU, in addition to a step's passes: tokens appended to a full
// index, and searches of the end of a text in it.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <random>
#include <span>
#include <vector>

#include "draft/suffix_index.h"

namespace shortlist {
namespace {

constexpr int64_t kCapacity = 1 << 20;
constexpr int64_t kOutputTokens = 512;  // of one text

/// Random tokens, of which about `percent` repeat earlier pieces of 50 to 450 tokens.
std::vector<TokenId> MakeText(int64_t len, int64_t percent, std::mt19937_64& random) {
  std::vector<TokenId> text;
  while (std::ssize(text) < len) {
    const auto piece = static_cast<int64_t>(50 + random() % 400);
    const bool repeats = std::ssize(text) > piece && static_cast<int64_t>(random() % 100) < percent;
    const int64_t from = repeats ? random() % (text.size() - piece) : 0;
    for (int64_t i = 0; i < piece; ++i) {
      text.push_back(repeats ? text[from + i] : TokenId{static_cast<int32_t>(random() % 150'000)});
    }
  }
  text.resize(len);
  return text;
}

void AppendAll(std::span<const TokenId> text, SuffixIndex& index) {
  for (; !text.empty(); text = text.subspan(std::min<size_t>(text.size(), kOutputTokens))) {
    index.Append(/*owner=*/0, text.first(std::min<size_t>(text.size(), kOutputTokens)));
    index.EndText();
  }
}

double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t num_pages = 0, num_resident = 0;
  statm >> num_pages >> num_resident;
  return static_cast<double>(num_resident * sysconf(_SC_PAGESIZE));
}

/// Fills an index of 2^20 tokens. Reports its resident bytes per token.
void BM_Fill(benchmark::State& state) {
  std::mt19937_64 random(1);
  const std::vector<TokenId> text = MakeText(kCapacity, state.range(0), random);
  for (auto _ : state) {
    const double before = ResidentBytes();
    SuffixIndex index(kCapacity);
    AppendAll(text, index);
    state.counters["bytes_per_token"] = (ResidentBytes() - before) / kCapacity;
  }
  state.SetItemsProcessed(state.iterations() * kCapacity);
}
BENCHMARK(BM_Fill)->ArgName("repeats")->Arg(0)->Arg(75)->Unit(benchmark::kMillisecond);

/// Appends outputs to a full index, which drops as many tokens.
void BM_AppendToFull(benchmark::State& state) {
  std::mt19937_64 random(1);
  const std::vector<TokenId> text = MakeText(2 * kCapacity, state.range(0), random);
  SuffixIndex index(kCapacity);
  AppendAll(text, index);
  int64_t at = 0;
  for (auto _ : state) {
    AppendAll(std::span(text).subspan(at, kOutputTokens), index);
    at = (at + kOutputTokens) % kCapacity;
  }
  state.SetItemsProcessed(state.iterations() * kOutputTokens);
}
BENCHMARK(BM_AppendToFull)->ArgName("repeats")->Arg(0)->Arg(75)->Unit(benchmark::kMicrosecond);

/// Searches a full index for the end of a text from a random place of it.
void BM_Find(benchmark::State& state) {
  std::mt19937_64 random(1);
  const std::vector<TokenId> text = MakeText(kCapacity, state.range(0), random);
  SuffixIndex index(kCapacity);
  AppendAll(text, index);
  double num_places = 0.0;
  for (auto _ : state) {
    const size_t end = 64 + random() % (text.size() - 64);
    num_places += index.Find(/*owner=*/0, std::span(text).first(end), {}).num_places;
  }
  state.counters["places"] = num_places / static_cast<double>(state.iterations());
}
BENCHMARK(BM_Find)->ArgName("repeats")->Arg(0)->Arg(75)->Arg(99)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace shortlist

BENCHMARK_MAIN();
