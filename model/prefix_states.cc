#include "model/prefix_states.h"

#include <iterator>
#include <utility>

#include "base/check.h"

namespace shortlist {

void PrefixStates::Overwritten(std::span<const int32_t> slots) {
  if (entries_.empty()) return;
  for (const int32_t slot : slots) {
    const auto found = by_slot_.find(slot);
    if (found == by_slot_.end()) continue;
    entries_.erase(found->second);
    by_slot_.erase(found);
  }
}

void PrefixStates::Add(int32_t slot, std::unique_ptr<SequenceState> state) {
  SHORTLIST_CHECK(state->num_pending() == 0 && state->len() > 0);
  if (max_states_ < 1) return;
  Overwritten({&slot, 1});
  if (std::ssize(entries_) == max_states_) {
    by_slot_.erase(entries_.back().slot);
    entries_.pop_back();
  }
  entries_.push_front({slot, std::move(state)});
  by_slot_[slot] = entries_.begin();
}

int64_t PrefixStates::LongestLen(std::span<const int32_t> slots) const {
  if (entries_.empty()) return 0;
  for (int64_t len = std::ssize(slots); len > 0; --len) {
    const auto found = by_slot_.find(slots[len - 1]);
    if (found != by_slot_.end() && found->second->state->len() == len) return len;
  }
  return 0;
}

const SequenceState* PrefixStates::Find(std::span<const int32_t> slots) {
  if (slots.empty()) return nullptr;
  const auto found = by_slot_.find(slots.back());
  if (found == by_slot_.end() || found->second->state->len() != std::ssize(slots)) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return entries_.front().state.get();
}

}  // namespace shortlist
