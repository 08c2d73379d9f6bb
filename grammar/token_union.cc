#include "grammar/token_union.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "grammar/token_bits.h"

namespace shortlist {
namespace {

// Above this share of the vocabulary, bits sort faster.
constexpr int64_t kMinTokensPerId = 256;

/// `ids` are those in the set, or those that are not.
TokenBits BitsOf(std::span<const TokenId> ids, int64_t vocab_size) {
  TokenBits bits(vocab_size);
  bits.Add(ids);
  return bits;
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

void RemoveTokens(std::span<const TokenId> others, std::vector<TokenId>& ids) {
  auto out = ids.begin();
  auto begin = ids.begin();  // of what is not moved to `out` yet
  for (const TokenId other : others) {
    const auto found = std::lower_bound(begin, ids.end(), other);
    if (found == ids.end()) break;
    if (*found != other) continue;
    out = out == begin ? found : std::move(begin, found, out);
    begin = found + 1;
  }
  if (out != begin) ids.erase(std::move(begin, ids.end(), out), ids.end());
}

void TokenUnion::AddAllExcept(std::span<const TokenId> ids, std::span<const TokenId> others) {
  std::vector<TokenId> all;
  all.reserve(ids.size() + others.size());
  if (others.empty()) {
    all.assign(ids.begin(), ids.end());
  } else {
    std::ranges::set_union(ids, others, std::back_inserter(all));
  }
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
    RemoveTokens(set.ids, *exceptions_);
    set.ids = *std::move(exceptions_);
  }
  if (std::ssize(set.ids) > vocab_size_ / 2) {
    set.ids = BitsOf(set.ids, vocab_size_).Ids(/*included=*/false);
    set.is_exception = !set.is_exception;
  }
  return set;
}

}  // namespace shortlist
