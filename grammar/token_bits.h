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
    for (const uint64_t word : words_) count += CountBits(word);
    return count;
  }
  /// The tokens that are in the set, or those that are not; ascending.
  std::vector<TokenId> Ids(bool included) const {
    std::vector<TokenId> ids(included ? size() : vocab_size_ - size());
    auto next = ids.begin();
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t word = included ? words_[i] : ~words_[i]; word != 0; word &= word - 1) {
        if (next == ids.end()) return ids;  // what follows is beyond the vocabulary
        *next++ = TokenId{static_cast<int32_t>(i * 64 + std::countr_zero(word))};
      }
    }
    return ids;
  }
  int64_t num_bytes() const { return static_cast<int64_t>(words_.size() * sizeof(uint64_t)); }

 private:
  /// std::popcount() without a call, which it is for processors of any age; a compiler can
  /// vectorise this.
  static int64_t CountBits(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return static_cast<int64_t>(word * 0x0101010101010101 >> 56);
  }

  int64_t vocab_size_;
  std::vector<uint64_t> words_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_TOKEN_BITS_H_
