#include "draft/prompt_lookup.h"

#include <algorithm>

namespace shortlist {
namespace {

uint64_t Key(TokenId before_last, TokenId last) {
  static_assert(PromptLookup::kMinLength == 2);
  return static_cast<uint64_t>(static_cast<uint32_t>(Raw(before_last))) << 32 |
         static_cast<uint32_t>(Raw(last));
}

}  // namespace

void PromptLookup::Index(std::span<const TokenId> text) {
  for (auto i = static_cast<int64_t>(earlier_.size()); i < std::ssize(text); ++i) {
    int32_t earlier = -1;
    if (i >= kMinLength) {
      const auto [entry, is_new] =
          latest_.try_emplace(Key(text[i - 2], text[i - 1]), static_cast<int32_t>(i));
      if (!is_new) {
        earlier = entry->second;
        entry->second = static_cast<int32_t>(i);
      }
    }
    earlier_.push_back(earlier);
  }
}

PromptLookup::Match PromptLookup::Find(std::span<const TokenId> text,
                                       std::span<const TokenId> drafted) {
  Index(text);
  const int64_t text_len = std::ssize(text);
  const int64_t len = text_len + std::ssize(drafted);
  if (len < kMinLength) return {};
  // The i-th token from the end of `text` followed by `drafted`.
  const auto from_end = [&](int64_t i) {
    const int64_t position = len - 1 - i;
    return position < text_len ? text[position] : drafted[position - text_len];
  };
  const auto found = latest_.find(Key(from_end(1), from_end(0)));
  Match best;
  int32_t at = found == latest_.end() ? -1 : found->second;
  for (int64_t n = 0; n < kMaxCandidates && at >= 0 && best.length < kMaxLength; ++n) {
    const int64_t longest = std::min<int64_t>(at, kMaxLength);
    int64_t length = kMinLength;
    while (length < longest && text[at - 1 - length] == from_end(length)) ++length;
    if (length > best.length) best = {text[at], length};
    at = earlier_[at];
  }
  return best;
}

}  // namespace shortlist
