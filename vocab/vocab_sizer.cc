#include "vocab/vocab_sizer.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace shortlist {
namespace {

constexpr int64_t kFewSteps = 8;

}  // namespace

VocabSizer::VocabSizer(DynamicVocabularyManager& manager, std::shared_ptr<const BaseLadder> ladder,
                       std::vector<int64_t> sketch_rows, int64_t max_draft_tokens,
                       bool awaits_sketch)
    : manager_(manager),
      shares_(sketch_rows.empty() ? std::vector<int64_t>{0} : std::move(sketch_rows)),
      max_draft_tokens_(max_draft_tokens),
      awaits_sketch_(awaits_sketch) {
  base_ = manager_.Active()->base();
  Take(std::move(ladder));
}

/// Begins at the current base, if the ladder has its size.
void VocabSizer::Take(std::shared_ptr<const BaseLadder> ladder) {
  ladder_ = std::move(ladder);
  SizeControl::Options options{.rows = {base_->size()},
                               .shares = shares_,
                               .start_share = shares_.size() - 1,
                               .max_draft_tokens = max_draft_tokens_};
  if (ladder_ != nullptr) {
    options.rows.assign(ladder_->rows().begin(), ladder_->rows().end());
    options.start = ladder_->start();
    options.ends_with_full_head = ladder_->ends_with_full_head();
    for (size_t size = 0; size < options.rows.size(); ++size) {
      if (options.rows[size] == base_->num_rows()) options.start = size;
    }
    options.waits = awaits_sketch_ && !ladder_->has_list();
    // Without a list the other size is the full head, at which drafting is slow.
    if (!ladder_->has_list()) options.probe_steps = kFewSteps;
  }
  control_ = std::make_unique<SizeControl>(std::move(options));
}

void VocabSizer::TellSketch() {
  if (!std::exchange(awaits_sketch_, false)) return;
  const size_t size = control_->size();
  control_->Go();
  if (control_->size() != size) BeginBase();
}

void VocabSizer::Replace(std::shared_ptr<const BaseLadder> ladder) {
  const std::lock_guard lock(mutex_);
  next_ = std::move(ladder);
  has_next_ = true;
  is_cancelled_ = false;
}

void VocabSizer::Cancel() {
  const std::lock_guard lock(mutex_);
  next_ = nullptr;
  has_next_ = false;
  is_cancelled_ = true;
}

bool VocabSizer::TakeNext() {
  if (!has_next_.load(std::memory_order_relaxed)) return false;
  std::shared_ptr<const BaseLadder> next;
  {
    const std::lock_guard lock(mutex_);
    next = next_;
  }
  if (next == nullptr) return false;
  absl::StatusOr<std::shared_ptr<const VocabBase>> base = next->Base(next->start());
  SHORTLIST_CHECK(base.ok());  // BaseLadder::Create has made the largest one
  next_base_ = {};             // waits for one that is being made
  const std::lock_guard lock(mutex_);
  if (next_ != next) return false;  // cancelled, or replaced: the next step takes that one
  next_ = nullptr;
  has_next_ = false;
  SetBase(*std::move(base));
  Take(std::move(next));
  return true;
}

void VocabSizer::CountToken(TokenId last, TokenId id, bool is_held,
                            std::optional<int64_t> sketch_rank) {
  std::optional<size_t> first_share;
  if (sketch_rank.has_value()) {
    first_share = std::ranges::upper_bound(shares_, *sketch_rank) - shares_.begin();
  }
  const size_t first_size = is_held              ? 0
                            : ladder_ != nullptr ? ladder_->FirstSize(last, id)
                                                 : size_t{1};
  control_->CountToken(first_size, first_share);
}

int64_t VocabSizer::num_sketch_rows() const { return shares_[control_->share()]; }

void VocabSizer::AddStep(const SizeControl::Step& step, const ActiveVocab& active) {
  if (ladder_ == nullptr && active.base() != base_) {
    base_ = active.base();  // set by other code; its rows count from now on
    return Take(nullptr);
  }
  if (next_base_.valid()) {
    if (next_base_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    std::shared_ptr<const VocabBase> base = next_base_.get();
    const std::lock_guard lock(mutex_);
    // Other code may have replaced the base meanwhile, or may be about to.
    if (!is_cancelled_ && manager_.Active()->base() == base_) SetBase(std::move(base));
    return;
  }
  if (active.base() != base_) return;
  const size_t size = control_->size(), share = control_->share();
  control_->AddStep(step);
  if (control_->size() == size && control_->share() == share) return;
  num_changes_.fetch_add(1, std::memory_order_relaxed);
  if (control_->size() != size) BeginBase();
}

/// Starts to make the base of the new size.
void VocabSizer::BeginBase() {
  const auto make = [ladder = ladder_, size = control_->size()] {
    absl::StatusOr<std::shared_ptr<const VocabBase>> base = ladder->Base(size);
    SHORTLIST_CHECK(base.ok());  // BaseLadder::Create has made the largest one
    return *std::move(base);
  };
  try {
    next_base_ = std::async(std::launch::async, make);
  } catch (const std::system_error&) {  // no thread available
    next_base_ = std::async(std::launch::deferred, make);
    next_base_.wait();
  }
}

void VocabSizer::SetBase(std::shared_ptr<const VocabBase> base) {
  base_ = std::move(base);
  SHORTLIST_CHECK(manager_.ReplaceBase(base_).ok());
}

}  // namespace shortlist
