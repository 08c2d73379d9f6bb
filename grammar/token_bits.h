#ifndef SHORTLIST_GRAMMAR_TOKEN_BITS_H_
#define SHORTLIST_GRAMMAR_TOKEN_BITS_H_

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace shortlist {

/// A set of tokens as one bit for each.
class TokenBits {
 public:
  explicit TokenBits(int64_t vocab_size) : vocab_size_(vocab_size), words_(vocab_size / 64 + 1) {}

  void Add(TokenId id) { words_[Raw(id) / 64] |= uint64_t{1} << (Raw(id) % 64); }
  void Add(std::span<const TokenId> ids) {
    for (const TokenId id : ids) Add(id);
  }
  void Remove(std::span<const TokenId> ids) {
    for (const TokenId id : ids) words_[Raw(id) / 64] &= ~(uint64_t{1} << (Raw(id) % 64));
  }
  /// `other` is of the same vocabulary.
  void Add(const TokenBits& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }

  int64_t size() const {
    int64_t count = 0;
    for (const uint64_t word : words_) count += std::popcount(word);
    return count;
  }
  /// The tokens that are in the set, or those that are not; ascending.
  std::vector<TokenId> Ids(bool included) const {
    std::vector<TokenId> ids;
    ids.reserve(included ? size() : vocab_size_ - size());
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t word = included ? words_[i] : ~words_[i]; word != 0; word &= word - 1) {
        const int64_t id = static_cast<int64_t>(i) * 64 + std::countr_zero(word);
        if (id < vocab_size_) ids.push_back(TokenId{static_cast<int32_t>(id)});
      }
    }
    return ids;
  }
  int64_t num_bytes() const { return static_cast<int64_t>(words_.size() * sizeof(uint64_t)); }

 private:
  int64_t vocab_size_;
  std::vector<uint64_t> words_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_TOKEN_BITS_H_
