#include "vocab/request_tail.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace shortlist {

int64_t RequestTail::Add(std::span<const TokenId> ids, const ActiveVocab& active, RowSource source,
                         int64_t budget) {
  Reconcile(active);
  const int64_t most = std::min(capacity_, budget);
  if (active.is_full_head() || most <= 0) return 0;

  // Only the last `most` distinct new ids can stay, so the loop runs backwards.
  std::vector<int32_t> newest;
  std::unordered_set<int32_t> seen;
  for (auto id = ids.rbegin(); id != ids.rend() && std::ssize(newest) < most; ++id) {
    const bool may_enter = !active.Contains(*id) && active.base()->HasHeadRow(*id);
    if (may_enter && seen.insert(Raw(*id)).second) newest.push_back(Raw(*id));
  }
  std::reverse(newest.begin(), newest.end());

  // Ids already in the tail become recent first, so that no new id takes their rows.
  std::vector<std::pair<int32_t, uint64_t>> missing;
  for (const int32_t id : newest) {
    ++clock_;
    const auto here = std::find(ids_.begin(), ids_.end(), id);
    if (here == ids_.end()) {
      missing.emplace_back(id, clock_);
      continue;
    }
    Row& row = rows_[here - ids_.begin()];
    row.last_used = clock_;
    --num_rows_[Index(row.source)];
    row.source = std::min(row.source, source);
    ++num_rows_[Index(row.source)];
  }
  for (const auto& [id, time] : missing) Insert(id, time, source, budget);
  return std::ssize(missing);
}

void RequestTail::Insert(int32_t id, uint64_t time, RowSource source, int64_t budget) {
  const bool takes_own = num_rows_[Index(source)] >= budget;
  if (!takes_own && size() < capacity_) {
    ids_.push_back(id);
    rows_.push_back({time, source});
    ++num_rows_[Index(source)];
    return;
  }
  int64_t oldest = -1;
  for (int64_t row = 0; row < size(); ++row) {
    if (takes_own && rows_[row].source != source) continue;
    if (oldest < 0 || rows_[row].last_used < rows_[oldest].last_used) oldest = row;
  }
  --num_rows_[Index(rows_[oldest].source)];
  ++num_rows_[Index(source)];
  ids_[oldest] = id;
  rows_[oldest] = {time, source};
}

void RequestTail::Reconcile(const ActiveVocab& active) {
  if (active.serial() == active_serial_) return;
  active_serial_ = active.serial();
  for (size_t row = 0; row < ids_.size();) {
    if (!active.Contains(TokenId{ids_[row]})) {
      ++row;
      continue;
    }
    --num_rows_[Index(rows_[row].source)];
    ids_[row] = ids_.back();
    rows_[row] = rows_.back();
    ids_.pop_back();
    rows_.pop_back();
  }
}

RowSource RequestTail::SourceOf(TokenId id) const {
  const auto found = std::find(ids_.begin(), ids_.end(), Raw(id));
  return found == ids_.end() ? RowSource::kNone : rows_[found - ids_.begin()].source;
}

std::vector<TokenId> RequestTail::IdsUpTo(RowSource last) const {
  std::vector<TokenId> ids;
  for (int64_t row = 0; row < size(); ++row) {
    if (rows_[row].source <= last) ids.push_back(TokenId{ids_[row]});
  }
  return ids;
}

}  // namespace shortlist
