#include "head/row_tails.h"

#include <iterator>

namespace shortlist {

void RowTails::Clear(const ActiveVocab& active) {
  active_ = &active;
  ids_.clear();
  begin_.clear();
}

void RowTails::Add(std::span<const int32_t> request_tail, TokenId last,
                   std::span<const int32_t> sketch_rows) {
  begin_.push_back(ids_.size());
  ids_.insert(ids_.end(), request_tail.begin(), request_tail.end());
  const std::span<const int32_t> successors =
      Raw(last) < 0 ? std::span<const int32_t>() : active_->base()->SuccessorsOf(last);
  if (successors.empty() && sketch_rows.empty()) return;
  ++num_adds_;
  if (std::ssize(marked_) < active_->vocab_size()) marked_.resize(active_->vocab_size());
  for (const int32_t id : request_tail) marked_[id] = num_adds_;
  const bool has_dynamic = active_->size() > active_->base_size();
  for (const int32_t id : successors) {
    if (marked_[id] == num_adds_ || (has_dynamic && active_->Contains(TokenId{id}))) continue;
    marked_[id] = num_adds_;
    ids_.push_back(id);
  }
  for (const int32_t id : sketch_rows) {
    if (marked_[id] == num_adds_ || active_->Contains(TokenId{id})) continue;
    ids_.push_back(id);
  }
}

std::span<const std::span<const int32_t>> RowTails::of_tokens() {
  of_tokens_.clear();
  for (size_t m = 0; m < begin_.size(); ++m) {
    const size_t end = m + 1 < begin_.size() ? begin_[m + 1] : ids_.size();
    of_tokens_.push_back(std::span(ids_).subspan(begin_[m], end - begin_[m]));
  }
  return of_tokens_;
}

}  // namespace shortlist
