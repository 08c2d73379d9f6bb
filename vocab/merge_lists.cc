#include "vocab/merge_lists.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/counted.h"
#include "base/excerpt.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

double TotalCount(const VocabList& list) {
  return std::accumulate(list.counts.begin(), list.counts.end(), 0.0);
}

constexpr double kMostWeight = 1e9;  // keeps sums of weights finite

absl::Status CheckWeights(const std::vector<NamedList>& lists, const std::vector<double>& weights) {
  if (lists.empty()) return absl::InvalidArgumentError("no list");
  if (!weights.empty() && weights.size() != lists.size()) {
    return absl::InvalidArgumentError(absl::StrCat(Counted(std::ssize(weights), "weight"), " for ",
                                                   Counted(std::ssize(lists), "list")));
  }
  for (const double weight : weights) {
    if (weight > 0 && weight <= kMostWeight) continue;  // false for NaN
    return absl::InvalidArgumentError(
        absl::StrCat("weight ", weight, " not in (0, ", kMostWeight, "]"));
  }
  return absl::OkStatus();
}

absl::Status CheckLists(const std::vector<NamedList>& lists) {
  const auto& [first_name, first] = lists.front();
  for (const auto& [name, list] : lists) {
    if (const absl::Status valid = list.Validate(); !valid.ok()) {
      return absl::Status(valid.code(), absl::StrCat(name, ": ", std::string(valid.message())));
    }
    if (list.vocab_size != first.vocab_size) {
      return absl::FailedPreconditionError(absl::StrCat(name, ": vocab_size ", list.vocab_size,
                                                        ", that of ", first_name, " is ",
                                                        first.vocab_size));
    }
    if (list.fingerprint != first.fingerprint) {
      return absl::FailedPreconditionError(
          absl::StrCat(name, ": the tokenizer's fingerprint is \"", Excerpt(list.fingerprint),
                       "\", that of ", first_name, " \"", Excerpt(first.fingerprint), "\""));
    }
    if (list.counts.empty() != first.counts.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(list.counts.empty() ? name : first_name, " has no counts, and ",
                       list.counts.empty() ? first_name : name, " has"));
    }
    if (!list.counts.empty() && TotalCount(list) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": its counts are all 0"));
    }
  }
  return absl::OkStatus();
}

/// Returns [vocab_size] the share of each token in the list, times `weight`.
std::vector<double> Rates(const VocabList& list, double weight) {
  std::vector<double> rates(list.vocab_size);
  const double total = TotalCount(list);
  for (size_t i = 0; i < list.ids.size(); ++i) {
    const double share = list.counts.empty() ? 1.0 / static_cast<double>(i + 1)
                                             : static_cast<double>(list.counts[i]) / total;
    rates[Raw(list.ids[i])] = weight * share;
  }
  return rates;
}

void MergeSuccessors(const std::vector<NamedList>& lists,
                     const std::vector<std::vector<double>>& rates, VocabList& merged) {
  size_t longest = 0;
  for (const auto& [name, list] : lists) {
    for (const auto& of_token : list.successors) longest = std::max(longest, of_token.size());
  }
  if (longest == 0) return;
  merged.successors.resize(merged.vocab_size);
  for (int64_t last = 0; last < merged.vocab_size; ++last) {
    std::vector<std::pair<TokenId, double>> scored;
    std::unordered_map<int32_t, size_t> place;
    for (size_t i = 0; i < lists.size(); ++i) {
      if (lists[i].list.successors.empty()) continue;
      const std::vector<TokenId>& of_token = lists[i].list.successors[last];
      for (size_t rank = 0; rank < of_token.size(); ++rank) {
        const auto [it, is_new] = place.emplace(Raw(of_token[rank]), scored.size());
        if (is_new) scored.emplace_back(of_token[rank], 0.0);
        // A token that a list does not rank occurs there, but rarely.
        scored[it->second].second += (rates[i][last] + 1e-12) / static_cast<double>(rank + 1);
      }
    }
    std::ranges::stable_sort(scored, std::greater<>(), &std::pair<TokenId, double>::second);
    if (scored.size() > longest) scored.resize(longest);
    for (const auto& [id, score] : scored) merged.successors[last].push_back(id);
  }
}

}  // namespace

absl::StatusOr<VocabList> MergeLists(const std::vector<NamedList>& lists,
                                     const std::vector<double>& weights) {
  SHORTLIST_RETURN_IF_ERROR(CheckWeights(lists, weights));
  SHORTLIST_RETURN_IF_ERROR(CheckLists(lists));
  const double all_weights = weights.empty() ? static_cast<double>(lists.size())
                                             : std::accumulate(weights.begin(), weights.end(), 0.0);
  VocabList merged{.vocab_size = lists.front().list.vocab_size,
                   .fingerprint = lists.front().list.fingerprint,
                   .ranked = true};
  double all_counts = 0;
  std::vector<bool> is_pinned(merged.vocab_size), is_listed(merged.vocab_size);
  std::vector<std::vector<double>> rates;
  for (size_t i = 0; i < lists.size(); ++i) {
    const auto& [name, list] = lists[i];
    const double weight = (weights.empty() ? 1.0 : weights[i]) / all_weights;
    rates.push_back(Rates(list, weight));
    all_counts += TotalCount(list);
    merged.ranked &= list.ranked;
    absl::StrAppend(&merged.source, i > 0 ? "; " : "", list.source.empty() ? name : list.source,
                    " (", weight, ")");
    for (const TokenId id : list.pinned) {
      if (!is_pinned[Raw(id)]) merged.pinned.push_back(id);
      is_pinned[Raw(id)] = true;
    }
    for (const TokenId id : list.ids) {
      if (!is_listed[Raw(id)]) merged.ids.push_back(id);
      is_listed[Raw(id)] = true;
    }
  }
  std::vector<double> rate_of(merged.vocab_size);
  for (const std::vector<double>& of_list : rates) {
    for (int64_t id = 0; id < merged.vocab_size; ++id) rate_of[id] += of_list[id];
  }
  if (merged.ranked) {
    std::ranges::stable_sort(
        merged.ids, [&](TokenId a, TokenId b) { return rate_of[Raw(a)] > rate_of[Raw(b)]; });
  }
  if (all_counts > 0) {
    for (const TokenId id : merged.ids) {
      merged.counts.push_back(std::llround(std::min(rate_of[Raw(id)] * all_counts, 9e18)));
    }
  }
  MergeSuccessors(lists, rates, merged);
  SHORTLIST_RETURN_IF_ERROR(merged.Validate());
  return merged;
}

}  // namespace shortlist
