#include "vocab/counting/build_list.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

/// Share of a token's count that is added to its novelty: texts differ more than parts of one
/// corpus do. Of 0, 0.01, 0.03, 0.1, 0.3 and 1, this value covered most of code and mathematics.
constexpr double kCountShare = 0.1;

/// Returns the factor of each corpus's counts in the list.
absl::StatusOr<std::vector<double>> Scales(const std::vector<CorpusCounts>& corpora) {
  double all_weights = 0;
  std::vector<double> weights;
  for (const CorpusCounts& corpus : corpora) {
    all_weights += corpus.weight;
    weights.push_back(corpus.weight);
  }
  const int64_t all_tokens = NumTokens(corpora);
  if (all_tokens == 0) return absl::InvalidArgumentError("the texts hold no token");
  SHORTLIST_RETURN_IF_ERROR(CheckWeights(weights));
  std::vector<double> scales;
  for (const CorpusCounts& corpus : corpora) {
    if (all_weights == 0) {
      scales.push_back(1.0);
    } else if (corpus.num_tokens == 0) {
      return absl::InvalidArgumentError(absl::StrCat(corpus.name, " holds no token"));
    } else {
      scales.push_back(corpus.weight / all_weights * static_cast<double>(all_tokens) /
                       static_cast<double>(corpus.num_tokens));
    }
  }
  return scales;
}

absl::Status ChooseIds(const BuildOptions& options, VocabList& list) {
  std::vector<bool> is_pinned(list.vocab_size);
  for (const TokenId id : options.pinned) is_pinned[Raw(id)] = true;
  const int64_t num_pinned = std::ssize(options.pinned);
  int64_t num_unpinned = 0;
  for (const TokenId id : list.ids) num_unpinned += is_pinned[Raw(id)] ? 0 : 1;

  const std::optional<int64_t> wanted = options.num_ids(list.vocab_size);
  if (wanted.has_value() && num_pinned + num_unpinned < *wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("the texts hold ", list.ids.size(), " different tokens, with those pinned ",
                     num_pinned + num_unpinned, ", fewer than the ", *wanted, " asked for"));
  }
  // Pinned ids that occur keep their rank among `ids`.
  const double all = std::accumulate(list.counts.begin(), list.counts.end(), 0.0);
  double covered = 0;
  for (size_t i = 0; i < list.ids.size() && options.coverage.has_value(); ++i) {
    if (is_pinned[Raw(list.ids[i])]) covered += static_cast<double>(list.counts[i]);
  }
  int64_t num_taken = num_pinned;
  size_t end = 0;
  for (; end < list.ids.size(); ++end) {
    if (is_pinned[Raw(list.ids[end])]) continue;
    if (wanted.has_value() && num_taken == *wanted) break;
    if (options.coverage.has_value() && covered >= *options.coverage * all) break;
    covered += static_cast<double>(list.counts[end]);
    ++num_taken;
  }
  for (size_t i = end; i < list.ids.size(); ++i) {
    if (!is_pinned[Raw(list.ids[i])]) continue;
    list.ids[end] = list.ids[i];
    list.counts[end] = list.counts[i];
    ++end;
  }
  list.ids.resize(end);
  list.counts.resize(end);
  list.pinned = options.pinned;
  return absl::OkStatus();
}

/// A pair, summed over the corpora.
struct Pair {
  uint64_t key;
  float rate;
  uint32_t count;
};

std::vector<Pair> MixPairs(const std::vector<CorpusCounts>& corpora,
                           const std::vector<double>& scales, const std::vector<bool>& is_common) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < corpora.size(); ++i) {
    corpora[i].pairs.ForEach([&](uint64_t key, uint32_t count) {
      if (is_common[Raw(PairCounts::NextOf(key))]) return;
      pairs.push_back({key, static_cast<float>(count * scales[i]), count});
    });
  }
  std::ranges::sort(pairs, {}, &Pair::key);
  size_t end = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (end > 0 && pairs[end - 1].key == pairs[i].key) {
      pairs[end - 1].rate += pairs[i].rate;
      pairs[end - 1].count += std::min(pairs[i].count, UINT32_MAX - pairs[end - 1].count);
    } else {
      pairs[end++] = pairs[i];
    }
  }
  pairs.resize(end);
  return pairs;
}

void AddSuccessors(const std::vector<CorpusCounts>& corpora, const std::vector<double>& scales,
                   const BuildOptions& options, VocabList& list) {
  std::vector<bool> is_common(list.vocab_size);
  const auto num_common = std::min(options.num_common, std::ssize(list.ids));
  for (int64_t i = 0; i < num_common; ++i) is_common[Raw(list.ids[i])] = true;
  std::vector<Pair> pairs = MixPairs(corpora, scales, is_common);
  std::erase_if(pairs, [&](const Pair& pair) { return pair.count < options.min_pair_count; });
  std::ranges::sort(pairs, [](const Pair& a, const Pair& b) {
    return std::tuple(PairCounts::LastOf(a.key), -a.rate, a.key) <
           std::tuple(PairCounts::LastOf(b.key), -b.rate, b.key);
  });
  list.successors.resize(list.vocab_size);
  for (const Pair& pair : pairs) {
    std::vector<TokenId>& of_token = list.successors[Raw(PairCounts::LastOf(pair.key))];
    if (std::ssize(of_token) < options.max_successors) {
      of_token.push_back(PairCounts::NextOf(pair.key));
    }
  }
}

}  // namespace

std::optional<int64_t> BuildOptions::num_ids(int64_t vocab_size) const {
  if (!ratio.has_value()) return top_n;
  return static_cast<int64_t>(*ratio * static_cast<double>(vocab_size));
}

absl::Status BuildOptions::Validate(int64_t vocab_size) const {
  if (top_n.has_value() + ratio.has_value() + coverage.has_value() > 1) {
    return absl::InvalidArgumentError("more than one of top_n, ratio and coverage is set");
  }
  for (const auto& [name, share] : {std::pair("ratio", ratio), std::pair("coverage", coverage)}) {
    // Written so that NaN fails.
    if (share.has_value() && !(*share > 0 && *share <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat(name, " ", *share, " not in (0, 1]"));
    }
  }
  const std::optional<int64_t> wanted = num_ids(vocab_size);
  if (!wanted.has_value()) return absl::OkStatus();
  if (*wanted < 1 || *wanted > vocab_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(*wanted, " ids asked for, not in [1, ", vocab_size, "]"));
  }
  if (std::ssize(pinned) > *wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat(pinned.size(), " pinned ids are more than the ", *wanted, " asked for"));
  }
  return absl::OkStatus();
}

absl::Status CheckWeights(std::span<const double> weights) {
  const auto num_weighted =
      std::ranges::count_if(weights, [](double weight) { return weight > 0; });
  if (num_weighted == 0 || num_weighted == std::ssize(weights)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(num_weighted, " of ", weights.size(),
                                                 " corpora have a weight; give it to all or none"));
}

absl::StatusOr<VocabList> BuildList(const std::vector<CorpusCounts>& corpora,
                                    const BuildOptions& options) {
  if (corpora.empty()) return absl::InvalidArgumentError("no text");
  SHORTLIST_RETURN_IF_ERROR(options.Validate(std::ssize(corpora.front().tokens)));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<double> scales, Scales(corpora));
  VocabList list{.vocab_size = std::ssize(corpora.front().tokens), .ranked = true};
  std::vector<double> rates(list.vocab_size);
  for (size_t i = 0; i < corpora.size(); ++i) {
    for (int64_t id = 0; id < list.vocab_size; ++id) {
      rates[id] += static_cast<double>(corpora[i].tokens[id]) * scales[i];
    }
  }
  if (options.rank == BuildOptions::Rank::kNovelty) {
    for (double& rate : rates) rate *= kCountShare;
    for (size_t i = 0; i < corpora.size(); ++i) {
      corpora[i].pairs.ForEach([&](uint64_t key, uint32_t count) {
        if (count == 1) rates[Raw(PairCounts::NextOf(key))] += scales[i];
      });
    }
  }
  for (int32_t id = 0; id < list.vocab_size; ++id) {
    if (rates[id] > 0) list.ids.push_back(TokenId{id});
  }
  std::ranges::stable_sort(list.ids,
                           [&](TokenId a, TokenId b) { return rates[Raw(a)] > rates[Raw(b)]; });
  for (const TokenId id : list.ids) {
    list.counts.push_back(std::max<int64_t>(1, std::llround(std::min(rates[Raw(id)], 9e18))));
  }
  // Before ids are dropped: an id that is rare in the list may often follow a token.
  if (options.max_successors > 0) AddSuccessors(corpora, scales, options, list);
  SHORTLIST_RETURN_IF_ERROR(ChooseIds(options, list));
  SHORTLIST_RETURN_IF_ERROR(list.Validate());
  return list;
}

}  // namespace shortlist
