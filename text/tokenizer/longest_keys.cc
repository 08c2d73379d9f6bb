#include "text/tokenizer/longest_keys.h"

#include <algorithm>

namespace shortlist {

LongestKeys::LongestKeys(const std::vector<std::string>& keys) {
  Keys reversed;
  for (size_t i = 0; i < keys.size(); ++i) {
    max_bytes_ = std::max(max_bytes_, keys[i].size());
    if (keys[i].empty()) continue;
    reversed.emplace_back(std::string(keys[i].rbegin(), keys[i].rend()), static_cast<int32_t>(i));
  }
  std::sort(reversed.begin(), reversed.end());
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  reversed.erase(std::unique(reversed.begin(), reversed.end(), same), reversed.end());
  BuildTrie(reversed);
  LinkSuffixes();
}

void LongestKeys::BuildTrie(const Keys& keys) {
  struct Range {  // the keys that begin with the node's string
    uint32_t begin, end, depth;
  };
  std::vector<Range> ranges = {{0, static_cast<uint32_t>(keys.size()), 0}};
  label_ = {0};
  for (size_t node = 0; node < ranges.size(); ++node) {
    auto [begin, end, depth] = ranges[node];
    const bool is_key = begin < end && keys[begin].first.size() == depth;
    value_.push_back(is_key ? keys[begin].second : kNone);
    first_child_.push_back(static_cast<uint32_t>(ranges.size()));
    if (is_key) ++begin;
    while (begin < end) {
      const char label = keys[begin].first[depth];
      uint32_t next = begin + 1;
      while (next < end && keys[next].first[depth] == label) ++next;
      if (node == 0) root_children_[static_cast<uint8_t>(label)] = ranges.size();
      label_.push_back(static_cast<uint8_t>(label));
      ranges.push_back({begin, next, depth + 1});
      begin = next;
    }
  }
  first_child_.push_back(static_cast<uint32_t>(ranges.size()));
}

void LongestKeys::LinkSuffixes() {
  suffix_.assign(label_.size(), 0);
  for (uint32_t node = 0; node < label_.size(); ++node) {
    for (uint32_t child = first_child_[node]; child < first_child_[node + 1]; ++child) {
      if (node > 0) suffix_[child] = Next(suffix_[node], label_[child]);
      if (value_[child] == kNone) value_[child] = value_[suffix_[child]];
    }
  }
}

uint32_t LongestKeys::Child(uint32_t node, uint8_t label) const {
  if (node == 0) return root_children_[label];
  const auto begin = label_.begin() + first_child_[node],
             end = label_.begin() + first_child_[node + 1];
  const auto found = std::lower_bound(begin, end, label);
  return found == end || *found != label ? 0 : static_cast<uint32_t>(found - label_.begin());
}

uint32_t LongestKeys::Next(uint32_t node, uint8_t label) const {
  uint32_t child = Child(node, label);
  while (child == 0 && node != 0) {
    node = suffix_[node];
    child = Child(node, label);
  }
  return child;
}

void LongestKeys::Find(std::string_view text, size_t from, std::vector<int32_t>& found) const {
  uint32_t node = 0;
  // A key that begins before `end` ends before end + max_bytes_.
  const size_t end = from + found.size();
  for (size_t at = std::min(end + max_bytes_, text.size()); at-- > from;) {
    node = Next(node, static_cast<uint8_t>(text[at]));
    if (at < end) found[at - from] = value_[node];
  }
}

}  // namespace shortlist
