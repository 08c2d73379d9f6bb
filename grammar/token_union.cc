#include "grammar/token_union.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "grammar/token_bits.h"

namespace shortlist {
namespace {

// Above this share of the vocabulary, bits sort faster.
constexpr int64_t kMinTokensPerId = 256;

TokenBits BitsOf(std::span<const TokenId> ids, int64_t vocab_size) {
  TokenBits bits(vocab_size);
  bits.Add(ids);
  return bits;
}

using Iterator = std::span<const TokenId>::iterator;

/// std::lower_bound(), quick if the place is near `begin`.
Iterator LowerBound(Iterator begin, Iterator end, TokenId id) {
  int64_t step = 8;
  for (; step < end - begin && begin[step] < id; step *= 2) begin += step;
  return std::lower_bound(begin, step < end - begin ? begin + step : end, id);
}

}  // namespace

void SortTokens(std::vector<TokenId>& ids, int64_t vocab_size) {
  if (std::ssize(ids) > vocab_size / kMinTokensPerId) {
    ids = BitsOf(ids, vocab_size).Ids(/*included=*/true);
    return;
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
}

std::vector<TokenId> MergeTokens(std::span<const TokenId> ids, std::span<const TokenId> others,
                                 bool with_others) {
  std::vector<TokenId> merged;
  merged.reserve(ids.size() + others.size());
  auto begin = ids.begin();
  for (const TokenId other : others) {
    const auto end = LowerBound(begin, ids.end(), other);
    merged.insert(merged.end(), begin, end);
    begin = end != ids.end() && *end == other ? end + 1 : end;
    if (with_others) merged.push_back(other);
  }
  merged.insert(merged.end(), begin, ids.end());
  return merged;
}

void TokenUnion::AddAllExcept(std::span<const TokenId> ids, std::span<const TokenId> others) {
  std::vector<TokenId> all = MergeTokens(ids, others, /*with_others=*/true);
  if (exceptions_.has_value()) {
    std::vector<TokenId> both;
    std::ranges::set_intersection(all, *exceptions_, std::back_inserter(both));
    all = std::move(both);
  }
  exceptions_ = std::move(all);
}

AllowedTokens TokenUnion::Build() && {
  SortTokens(ids_, vocab_size_);
  AllowedTokens set{.is_exception = exceptions_.has_value(), .ids = std::move(ids_)};
  if (set.is_exception) {
    set.ids = MergeTokens(*exceptions_, set.ids, /*with_others=*/false);
  }
  if (std::ssize(set.ids) > vocab_size_ / 2) {
    set.ids = BitsOf(set.ids, vocab_size_).Ids(/*included=*/false);
    set.is_exception = !set.is_exception;
  }
  // Sets are cached, and charged by their size.
  if (set.ids.capacity() > 2 * set.ids.size()) set.ids.shrink_to_fit();
  return set;
}

}  // namespace shortlist
