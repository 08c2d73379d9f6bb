#include "vocab/request_tail.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace shortlist {

void RequestTail::Add(std::span<const TokenId> ids, const ActiveVocab& active) {
  Reconcile(active);
  if (active.is_full_head() || capacity_ <= 0) return;

  // Only the last `capacity` distinct newcomers can stay, so the walk goes from the end.
  std::vector<int32_t> newest;
  std::unordered_set<int32_t> seen;
  for (auto id = ids.rbegin(); id != ids.rend() && std::ssize(newest) < capacity_; ++id) {
    if (!active.Contains(*id) && seen.insert(Raw(*id)).second) newest.push_back(Raw(*id));
  }
  std::reverse(newest.begin(), newest.end());

  // First those that are here become recent, so that no newcomer takes their rows.
  std::vector<std::pair<int32_t, uint64_t>> missing;
  for (const int32_t id : newest) {
    ++clock_;
    const auto here = std::find(ids_.begin(), ids_.end(), id);
    if (here == ids_.end()) {
      missing.emplace_back(id, clock_);
    } else {
      last_used_[here - ids_.begin()] = clock_;
    }
  }
  for (const auto& [id, time] : missing) {
    if (size() < capacity_) {
      ids_.push_back(id);
      last_used_.push_back(time);
    } else {
      const auto oldest = std::min_element(last_used_.begin(), last_used_.end());
      ids_[oldest - last_used_.begin()] = id;
      *oldest = time;
    }
  }
}

void RequestTail::Reconcile(const ActiveVocab& active) {
  if (active.serial() == active_serial_) return;
  active_serial_ = active.serial();
  for (size_t row = 0; row < ids_.size();) {
    if (!active.Contains(TokenId{ids_[row]})) {
      ++row;
      continue;
    }
    ids_[row] = ids_.back();
    last_used_[row] = last_used_.back();
    ids_.pop_back();
    last_used_.pop_back();
  }
}

bool RequestTail::Contains(TokenId id) const {
  return std::find(ids_.begin(), ids_.end(), Raw(id)) != ids_.end();
}

}  // namespace shortlist
