#include "vocab/vocab_sizer.h"

#include <utility>

#include "base/check.h"

namespace shortlist {

VocabSizer::VocabSizer(DynamicVocabularyManager& manager, std::shared_ptr<const BaseLadder> ladder,
                       int64_t max_draft_tokens)
    : manager_(manager), max_draft_tokens_(max_draft_tokens) {
  Take(std::move(ladder));
  base_ = manager_.Active()->base();
}

void VocabSizer::Take(std::shared_ptr<const BaseLadder> ladder) {
  ladder_ = std::move(ladder);
  control_ = std::make_unique<SizeControl>(
      SizeControl::Options{.rows = {ladder_->rows().begin(), ladder_->rows().end()},
                           .start = ladder_->start(),
                           .max_draft_tokens = max_draft_tokens_});
}

void VocabSizer::Replace(std::shared_ptr<const BaseLadder> ladder) {
  const std::lock_guard lock(mutex_);
  next_ = std::move(ladder);
  has_next_ = true;
}

void VocabSizer::Cancel() {
  const std::lock_guard lock(mutex_);
  next_ = nullptr;
  has_next_ = false;
}

bool VocabSizer::TakeNext() {
  if (!has_next_.load(std::memory_order_relaxed)) return false;
  std::shared_ptr<const BaseLadder> next;
  {
    const std::lock_guard lock(mutex_);
    next = std::exchange(next_, nullptr);
    has_next_ = false;
  }
  if (next == nullptr) return false;
  Take(std::move(next));
  SetBase();
  return true;
}

void VocabSizer::CountToken(TokenId last, TokenId id, bool is_held) {
  control_->CountToken(is_held ? 0 : ladder_->FirstSize(last, id));
}

void VocabSizer::AddStep(const SizeControl::Step& step, const ActiveVocab& active) {
  if (active.base() != base_) return;
  const size_t before = control_->size();
  control_->AddStep(step);
  // Somebody may have replaced the base since the step began.
  if (control_->size() == before || manager_.Active()->base() != base_) return;
  num_changes_.fetch_add(1, std::memory_order_relaxed);
  SetBase();
}

void VocabSizer::SetBase() {
  absl::StatusOr<std::shared_ptr<const VocabBase>> base = ladder_->Base(control_->size());
  SHORTLIST_CHECK(base.ok());  // BaseLadder::Create has seen the largest one made
  base_ = *std::move(base);
  SHORTLIST_CHECK(manager_.ReplaceBase(base_).ok());
}

}  // namespace shortlist
