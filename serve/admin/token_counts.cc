#include "serve/admin/token_counts.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace shortlist {

void TokenCounts::Add(const BatchTokenIdOut& out) {
  const std::lock_guard lock(mutex_);
  for (const BatchTokenIdOut::Row& row : out.rows) {
    for (const TokenId id : row.token_ids) {
      counts_[Raw(id)].fetch_add(1, std::memory_order_relaxed);
      const auto [last, is_first] = lasts_.try_emplace(row.rid, id);
      if (!is_first) CountPair(std::exchange(last->second, id), id);
    }
    if (row.finished) lasts_.erase(row.rid);
  }
}

void TokenCounts::CountPair(TokenId last, TokenId next) {
  const uint64_t pair = uint64_t{static_cast<uint32_t>(Raw(last))} << 32 | Raw(next);
  ++pairs_[pair];
  if (pairs_.size() <= kMaxPairs) return;
  // Frees a quarter, so that not every new pair scans all of them.
  for (int64_t rare = 1; pairs_.size() > kMaxPairs / 4 * 3; rare *= 2) {
    std::erase_if(pairs_, [rare](const auto& counted) { return counted.second <= rare; });
  }
}

std::vector<std::pair<TokenId, int64_t>> TokenCounts::Ranked() const {
  std::vector<std::pair<TokenId, int64_t>> ranked;
  for (int64_t id = 0; id < std::ssize(counts_); ++id) {
    const int64_t count = counts_[id].load(std::memory_order_relaxed);
    if (count > 0) ranked.emplace_back(TokenId{static_cast<int32_t>(id)}, count);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return ranked;
}

std::vector<std::vector<TokenId>> TokenCounts::Successors(int64_t max_successors) const {
  std::vector<std::pair<uint64_t, int64_t>> pairs;
  {
    const std::lock_guard lock(mutex_);
    pairs.assign(pairs_.begin(), pairs_.end());
  }
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first >> 32, -a.second, a.first) <
           std::tuple(b.first >> 32, -b.second, b.first);
  });
  std::vector<std::vector<TokenId>> successors(counts_.size());
  for (const auto& [pair, count] : pairs) {
    std::vector<TokenId>& of = successors[pair >> 32];
    if (std::ssize(of) == max_successors) continue;
    of.push_back(TokenId{static_cast<int32_t>(pair & 0xffffffffu)});
  }
  return successors;
}

}  // namespace shortlist
