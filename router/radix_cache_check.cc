// RadixCache::CheckInvariants: checks that links, counts, locks and recency agree.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "router/radix_cache.h"

namespace shortlist {

absl::Status RadixCache::CheckNode(int32_t index) const {
  const Node& node = nodes_[index];
  const auto broken = [index](absl::string_view what) {
    return absl::InternalError(absl::StrCat("radix node ", index, ": ", what));
  };
  if (node.parent < 0) {
    if (!node.slots.empty() || !node.tokens.empty() || node.end != 0) {
      return broken("a root with tokens");
    }
    const auto root = node.salt == nullptr ? roots_.end() : roots_.find(*node.salt);
    if (root == roots_.end() || root->second != index) return broken("a root without a name");
    if (node.num_children == 0 && node.num_locks == 0) return broken("an unused root");
    return absl::OkStatus();
  }
  const Node& parent = nodes_[node.parent];
  if (parent.born == 0) return broken("its parent is gone");
  if (node.slots.empty()) return broken("no positions");
  if (node.tokens.size() != node.slots.size() + look_ahead_) return broken("number of tokens");
  if (node.end != parent.end + node.len()) return broken("where it ends");
  if (node.num_locks > parent.num_locks) return broken("more locks than its parent");
  if (FindChild(node.parent, reinterpret_cast<const TokenId*>(node.tokens.data())) != index) {
    return broken("not found below its parent");
  }
  const bool is_linked =
      (node.newer_sibling >= 0 ? nodes_[node.newer_sibling].older_sibling : parent.newest_child) ==
          index &&
      (node.older_sibling < 0 || (nodes_[node.older_sibling].newer_sibling == index &&
                                  nodes_[node.older_sibling].parent == node.parent));
  if (!is_linked) return broken("its place among its siblings");
  const bool bigrams_join =
      look_ahead_ == 0 || parent.parent < 0 || parent.tokens.back() == node.tokens.front();
  if (!bigrams_join) return broken("look-ahead token of its parent");
  return absl::OkStatus();
}

absl::Status RadixCache::CheckRecency() const {
  std::vector<bool> seen(nodes_.size());
  int64_t len = 0;
  int64_t count = 0;
  for (int32_t index = oldest_, before = -1; index >= 0;
       before = index, index = nodes_[index].newer) {
    const Node& node = nodes_[index];
    if (seen[index] || node.born == 0 || node.older != before || node.num_locks != 0 ||
        node.parent < 0 || seen[node.parent]) {
      return absl::InternalError(absl::StrCat("radix node ", index, ": place in recency"));
    }
    seen[index] = true;
    len += node.len();
    ++count;
    if (node.newer < 0 && index != newest_) {
      return absl::InternalError("the newest radix node is not the last");
    }
  }
  const int64_t num_unlocked = std::count_if(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.born != 0 && node.parent >= 0 && node.num_locks == 0;
  });
  if (len != evictable_len_ || count != num_unlocked) {
    return absl::InternalError(absl::StrCat("recency lists ", count, " nodes of ", len,
                                            " positions; unlocked are ", num_unlocked, " of ",
                                            evictable_len_));
  }
  return absl::OkStatus();
}

absl::Status RadixCache::CheckInvariants(std::vector<bool>& seen) const {
  std::vector<int32_t> num_children(nodes_.size());
  int64_t len = 0;
  int64_t count = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.born == 0) continue;
    SHORTLIST_RETURN_IF_ERROR(CheckNode(static_cast<int32_t>(i)));
    if (node.parent >= 0) ++num_children[node.parent];
    for (const int32_t slot : node.slots) {
      if (slot < 0 || slot >= pool_.capacity() || !pool_.held(slot) || seen[slot]) {
        return absl::InternalError(absl::StrCat("slot ", slot, " in radix node ", i));
      }
      seen[slot] = true;
    }
    len += node.len();
    ++count;
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].num_children != num_children[i]) {
      return absl::InternalError(absl::StrCat("radix node ", i, ": number of children"));
    }
  }
  if (len != len_ || count != num_nodes_) {
    return absl::InternalError(absl::StrCat("the tree counts ", num_nodes_, " nodes of ", len_,
                                            " positions; there are ", count, " of ", len));
  }
  return CheckRecency();
}

}  // namespace shortlist
