#include "draft/token_logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/sampling.h"

namespace shortlist {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

double LogSumExp(std::span<const float> logits, std::span<const float> padding) {
  const double tokens = LogSumExpCpu(logits.data(), std::ssize(logits));
  if (padding.empty()) return tokens;
  const double others = LogSumExpCpu(padding.data(), std::ssize(padding));
  const double larger = std::max(tokens, others);
  if (std::isinf(larger)) return larger;
  return larger + std::log1p(std::exp(std::min(tokens, others) - larger));
}

}  // namespace

void AddLogprobs(std::span<const float> logits, const RowIds& ids, TokenId token, int64_t num_top,
                 TokenInfo& info, std::span<const float> padding) {
  const double log_sum_exp = LogSumExp(logits, padding);
  const auto logprob = [&](float logit) {
    if (std::isinf(log_sum_exp)) return logit == log_sum_exp ? 0.0f : kNone;
    return logit > kNone ? static_cast<float>(logit - log_sum_exp) : kNone;
  };
  const std::optional<DraftId> row = ids.Find(token);
  info.logprob = row.has_value() ? logprob(logits[Raw(*row)]) : kNone;

  info.top.clear();
  if (num_top == 0) return;
  // The best so far as a heap with the worst of them at the front; few logits ever enter it.
  using Entry = std::pair<float, TokenId>;
  const auto better = [](const Entry& a, const Entry& b) {
    return a.first != b.first ? a.first > b.first : Raw(a.second) < Raw(b.second);
  };
  std::vector<Entry> best;
  for (size_t s = 0; s < logits.size(); ++s) {
    const bool full = static_cast<int64_t>(best.size()) == num_top;
    if (!(logits[s] > kNone)) continue;
    if (full && logits[s] < best.front().first) continue;
    const Entry entry{logits[s], ids.TokenAt(DraftId{static_cast<int32_t>(s)})};
    if (full) {
      if (!better(entry, best.front())) continue;
      std::pop_heap(best.begin(), best.end(), better);
      best.pop_back();
    }
    best.push_back(entry);
    std::push_heap(best.begin(), best.end(), better);
  }
  std::sort(best.begin(), best.end(), better);
  for (const auto& [logit, id] : best) info.top.emplace_back(id, logprob(logit));
}

}  // namespace shortlist
