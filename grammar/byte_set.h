#ifndef SHORTLIST_GRAMMAR_BYTE_SET_H_
#define SHORTLIST_GRAMMAR_BYTE_SET_H_

#include <array>
#include <bit>
#include <cstdint>

namespace shortlist {

/// A set of bytes.
class ByteSet {
 public:
  constexpr ByteSet() = default;
  /// The bytes from `first` to `last`, both included.
  static constexpr ByteSet Range(uint8_t first, uint8_t last) {
    ByteSet set;
    for (int byte = first; byte <= last; ++byte) set.Add(static_cast<uint8_t>(byte));
    return set;
  }

  constexpr void Add(uint8_t byte) { words_[byte / 64] |= uint64_t{1} << (byte % 64); }
  constexpr bool Contains(uint8_t byte) const { return words_[byte / 64] >> (byte % 64) & 1; }
  constexpr bool empty() const { return size() == 0; }
  /// The lowest byte of a set that is not empty.
  constexpr uint8_t first() const {
    int word = 0;
    while (words_[word] == 0) ++word;
    return static_cast<uint8_t>(word * 64 + std::countr_zero(words_[word]));
  }
  constexpr int size() const {
    int count = 0;
    for (const uint64_t word : words_) count += std::popcount(word);
    return count;
  }

  constexpr ByteSet operator|(const ByteSet& other) const {
    ByteSet set;
    for (int i = 0; i < 4; ++i) set.words_[i] = words_[i] | other.words_[i];
    return set;
  }
  constexpr ByteSet operator&(const ByteSet& other) const {
    ByteSet set;
    for (int i = 0; i < 4; ++i) set.words_[i] = words_[i] & other.words_[i];
    return set;
  }
  constexpr ByteSet operator~() const {
    ByteSet set;
    for (int i = 0; i < 4; ++i) set.words_[i] = ~words_[i];
    return set;
  }
  constexpr bool operator==(const ByteSet&) const = default;

  template <typename H>
  friend H AbslHashValue(H h, const ByteSet& set) {
    return H::combine(std::move(h), set.words_);
  }

 private:
  std::array<uint64_t, 4> words_{};
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_BYTE_SET_H_
