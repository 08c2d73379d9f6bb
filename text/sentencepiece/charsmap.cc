#include "text/sentencepiece/charsmap.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/utf8.h"

namespace shortlist {
namespace {

// Fields of a unit in the layout of Darts-clone.
bool IsValue(uint32_t unit) { return (unit >> 31) != 0; }
bool HasValue(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t Value(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t Label(uint32_t unit) { return unit & 0x800000FF; }
uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

class DoubleArray {
 public:
  DoubleArray(std::vector<uint32_t> units, std::string_view replacements)
      : units_(std::move(units)), replacements_(replacements) {}

  bool IsSound() const { return StaysInside() && KeysAreSound(); }

 private:
  /// Returns the base of the unit at `at`: its children are at Base(at) ^ label.
  uint32_t Base(uint32_t at) const { return at ^ Offset(units_[at]); }

  /// True if no step from any unit leaves the array and no value leaves the replacements.
  bool StaysInside() const {
    for (uint32_t at = 0; at < units_.size(); ++at) {
      if (IsValue(units_[at]) && at != 0) continue;
      if ((Base(at) | 0xFF) >= units_.size()) return false;
      if (HasValue(units_[at]) && Value(units_[Base(at)]) >= replacements_.size()) return false;
    }
    return true;
  }

  template <typename Visit>
  void ForEachChild(uint32_t at, Visit visit) const {
    const uint32_t base = Base(at);
    for (uint32_t label = 0; label < 256; ++label) {
      const uint32_t child = base ^ label;
      // In an array with zeros in its gaps, a NUL leads back to the unit it was read from.
      if (child == at && !HasValue(units_[at])) continue;
      if (Label(units_[child]) == label) visit(child);
    }
  }

  /// Returns the size of the replacement of the unit at `at`, with each space as U+2581.
  size_t ReplacementBytes(uint32_t at) const {
    const size_t begin = Value(units_[Base(at)]);
    const size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
    const std::string_view text = replacements_.substr(begin, end - begin);
    return text.size() + 2 * static_cast<size_t>(std::count(text.begin(), text.end(), ' '));
  }

  /// Checks the keys that walks from the root reach. Visits units in topological order, parents
  /// before children, since the trie shares equal parts. A cycle leaves units unvisited.
  bool KeysAreSound() const {
    struct Node {
      uint32_t num_parents = 0;     // parents not visited yet
      uint32_t depth = UINT32_MAX;  // size of the shortest key that leads here, in bytes
      uint32_t num_values = 0;      // maximum number of values on a path to this unit
    };
    std::vector<Node> nodes(units_.size());
    std::vector<uint32_t> reached = {0};
    std::vector<bool> is_reached(units_.size());
    is_reached[0] = true;
    for (size_t i = 0; i < reached.size(); ++i) {
      ForEachChild(reached[i], [&](uint32_t child) {
        ++nodes[child].num_parents;
        if (!is_reached[child]) reached.push_back(child);
        is_reached[child] = true;
      });
    }
    if (nodes[0].num_parents > 0) return false;
    nodes[0].depth = 0;
    std::vector<uint32_t> ready = {0};
    size_t num_visited = 0;
    bool sound = true;
    for (; !ready.empty() && sound; ++num_visited) {
      const uint32_t at = ready.back();
      ready.pop_back();
      const Node node = nodes[at];
      ForEachChild(at, [&](uint32_t child) {
        Node& next = nodes[child];
        next.depth = std::min(next.depth, node.depth + 1);
        next.num_values =
            std::max(next.num_values, node.num_values + (HasValue(units_[child]) ? 1 : 0));
        if (next.num_values > kMaxNestedKeys) sound = false;
        if (--next.num_parents > 0) return;
        ready.push_back(child);
        if (HasValue(units_[child]) && !ReplacementIsSound(child, next.depth)) sound = false;
      });
    }
    return sound && num_visited == reached.size();
  }

  bool ReplacementIsSound(uint32_t at, size_t key_bytes) const {
    const char first = replacements_[Value(units_[Base(at)])];
    return (first & 0xC0) != 0x80 && ReplacementBytes(at) <= kMaxCharsmapGrowth * key_bytes;
  }

  const std::vector<uint32_t> units_;
  const std::string_view replacements_;
};

}  // namespace

bool CharsmapIsSound(std::string_view charsmap) {
  if (charsmap.empty()) return true;
  uint32_t trie_bytes = 0;
  if (charsmap.size() < sizeof(trie_bytes) || charsmap.size() > kMaxCharsmapBytes) return false;
  std::memcpy(&trie_bytes, charsmap.data(), sizeof(trie_bytes));
  charsmap.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes >= charsmap.size()) return false;

  std::vector<uint32_t> units(trie_bytes / 4);
  std::memcpy(units.data(), charsmap.data(), trie_bytes);
  const std::string_view replacements = charsmap.substr(trie_bytes);
  if (FindInvalidUtf8(replacements).has_value()) return false;
  return DoubleArray(std::move(units), replacements).IsSound();
}

}  // namespace shortlist
