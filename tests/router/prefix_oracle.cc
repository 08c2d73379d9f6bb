#include "tests/router/prefix_oracle.h"

#include <algorithm>
#include <limits>

namespace shortlist {

std::string PrefixOracle::Key(char space, std::span<const TokenId> tokens, int64_t position) const {
  std::string key(1, space);
  for (TokenId token : tokens.first(position + 1 + look_ahead_)) {
    key.push_back(static_cast<char>(Raw(token)));
  }
  return key;
}

int64_t PrefixOracle::MatchLen(char space, std::span<const TokenId> tokens) const {
  int64_t len = 0;
  const int64_t most = static_cast<int64_t>(tokens.size()) - look_ahead_;
  while (len < most && entries_.contains(Key(space, tokens, len))) ++len;
  return len;
}

std::vector<int32_t> PrefixOracle::Slots(char space, std::span<const TokenId> tokens,
                                         int64_t len) const {
  std::vector<int32_t> slots;
  for (int64_t i = 0; i < len; ++i) slots.push_back(entries_.at(Key(space, tokens, i)).slot);
  return slots;
}

std::vector<TokenId> PrefixOracle::Rows(char space, std::span<const TokenId> tokens,
                                        int64_t len) const {
  std::vector<TokenId> rows;
  for (int64_t i = 0; i < len; ++i) {
    const std::vector<TokenId>& here = entries_.at(Key(space, tokens, i)).rows;
    rows.insert(rows.end(), here.begin(), here.end());
  }
  return rows;
}

void PrefixOracle::Lock(char space, std::span<const TokenId> tokens, int64_t len) {
  for (int64_t i = 0; i < len; ++i) ++entries_.at(Key(space, tokens, i)).num_locks;
}

void PrefixOracle::Unlock(char space, std::span<const TokenId> tokens, int64_t len) {
  ++now_;
  for (int64_t i = 0; i < len; ++i) {
    Entry& entry = entries_.at(Key(space, tokens, i));
    if (--entry.num_locks == 0) entry.used = now_;
  }
}

int64_t PrefixOracle::Insert(char space, std::span<const TokenId> tokens,
                             std::span<const int32_t> slots, std::span<const TokenId> rows) {
  ++now_;
  int64_t existing = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto [entry, is_new] = entries_.try_emplace(Key(space, tokens, i));
    entry->second.used = now_;
    if (is_new) {
      entry->second.slot = slots[i];
    } else {
      ++existing;
    }
    if (i + 1 == slots.size() && !rows.empty()) entry->second.rows.assign(rows.begin(), rows.end());
  }
  return existing;
}

int64_t PrefixOracle::DropFreed(const KvPool& pool) {
  int64_t newest_freed = -1;
  int64_t oldest_left = std::numeric_limits<int64_t>::max();
  int64_t count = 0;
  for (const auto& [key, entry] : entries_) {
    if (!pool.held(entry.slot)) {
      if (entry.num_locks > 0) return -1;
      newest_freed = std::max(newest_freed, entry.used);
      ++count;
    } else if (entry.num_locks == 0) {
      oldest_left = std::min(oldest_left, entry.used);
    }
  }
  if (newest_freed > oldest_left) return -1;
  std::erase_if(entries_, [&](const auto& item) { return !pool.held(item.second.slot); });
  for (const auto& [key, entry] : entries_) {
    const bool is_first = key.size() == 2 + static_cast<size_t>(look_ahead_);
    if (!is_first && !entries_.contains(key.substr(0, key.size() - 1))) return -1;
  }
  return count;
}

int64_t PrefixOracle::evictable_len() const {
  return std::count_if(entries_.begin(), entries_.end(),
                       [](const auto& item) { return item.second.num_locks == 0; });
}

}  // namespace shortlist
