#ifndef SHORTLIST_TEXT_TOKENIZER_LONGEST_KEYS_H_
#define SHORTLIST_TEXT_TOKENIZER_LONGEST_KEYS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shortlist {

/// Finds the longest of many keys at each byte of a text, in time linear in the text for any keys.
/// An automaton (Aho and Corasick 1975) over the reversed keys reads the text from its end. At each
/// byte it gives the longest key that begins there. Immutable.
class LongestKeys {
 public:
  /// The key with index i has value i. Empty keys are never found; of equal keys, the first is
  /// used. Time and memory are linear in the bytes of all keys, except for sorting them.
  explicit LongestKeys(const std::vector<std::string>& keys);

  static constexpr int32_t kNone = -1;

  /// Sets found[i] to the value of the longest key at byte from + i of `text`, or to kNone, for i
  /// in [0, found.size()). Requires from + found.size() <= text.size().
  void Find(std::string_view text, size_t from, std::vector<int32_t>& found) const;

  size_t max_bytes() const { return max_bytes_; }  // size of the longest key

 private:
  using Keys = std::vector<std::pair<std::string, int32_t>>;  // reversed keys, values

  void BuildTrie(const Keys& keys);
  void LinkSuffixes();
  uint32_t Child(uint32_t node, uint8_t label) const;  // 0: none, since the root is never a child
  uint32_t Next(uint32_t node, uint8_t label) const;

  // [nodes] in order of depth; the children of a node are adjacent, with ascending labels.
  std::vector<uint8_t> label_;
  std::vector<uint32_t> first_child_;  // [nodes + 1]
  std::vector<uint32_t> suffix_;       // the longest proper suffix that is a node
  std::vector<int32_t> value_;         // of the longest key that is a suffix of the node, or kNone
  std::array<uint32_t, 256> root_children_{};
  size_t max_bytes_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_LONGEST_KEYS_H_
