#include "serve/admin/token_counts.h"

#include <algorithm>
#include <iterator>

namespace shortlist {

void TokenCounts::Add(const BatchTokenIdOut& out) {
  for (const BatchTokenIdOut::Row& row : out.rows) {
    for (const TokenId id : row.token_ids) {
      counts_[Raw(id)].fetch_add(1, std::memory_order_relaxed);
    }
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

}  // namespace shortlist
