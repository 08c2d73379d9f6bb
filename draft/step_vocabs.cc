#include "draft/step_vocabs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {

StepVocabs::StepVocabs(int64_t vocab_size, DynamicVocabularyManager* own, const Drafter* drafter,
                       std::unique_ptr<DynamicVocabularyManager> all_rows)
    : vocab_size_(vocab_size),
      drafter_(drafter),
      all_rows_(std::move(all_rows)),
      own_(own != nullptr ? own : all_rows_.get()),
      full_head_(all_rows_->Active()) {}

absl::StatusOr<StepVocabs> StepVocabs::Create(int64_t vocab_size, DynamicVocabularyManager* own,
                                              const Drafter* drafter) {
  SHORTLIST_ASSIGN_OR_RETURN(
      std::shared_ptr<const VocabBase> base,
      VocabBase::FullHead(vocab_size, drafter != nullptr ? drafter->head_rows() : nullptr));
  SHORTLIST_ASSIGN_OR_RETURN(auto all_rows,
                             DynamicVocabularyManager::Create(std::move(base), /*options=*/{}));
  StepVocabs vocabs(vocab_size, own, drafter, std::move(all_rows));
  if (own != nullptr) SHORTLIST_RETURN_IF_ERROR(vocabs.CheckFit(*own->Active()));
  return vocabs;
}

absl::Status StepVocabs::CheckFit(const ActiveVocab& active) const {
  if (active.vocab_size() != vocab_size_) {
    return absl::InvalidArgumentError(absl::StrCat("active vocabulary over ", active.vocab_size(),
                                                   " tokens for a target of ", vocab_size_));
  }
  if (drafter_ == nullptr) return absl::OkStatus();
  if (const auto rows = drafter_->head_rows(); active.base()->head_rows() != rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("active vocabulary of ", active.base()->num_rows(),
                     " rows, not chosen among those of the drafter's head, which has ",
                     rows != nullptr ? rows->size() : drafter_->num_rows()));
  }
  int32_t largest = active.base()->largest_id();
  for (const int32_t id : active.rows().subspan(active.base_size())) {
    largest = std::max(largest, id);
  }
  if (largest < drafter_->num_rows()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("active token id ", largest,
                                                 " for a drafter whose head has ",
                                                 drafter_->num_rows(), " rows"));
}

std::span<const StepVocabs::Snapshot> StepVocabs::Take(std::span<const StepWork> work) {
  snapshots_.clear();
  for (const StepWork& of : work) {
    DynamicVocabularyManager* const vocab = &ManagerOf(of);
    if (std::ranges::find(snapshots_, vocab, &Snapshot::of) != snapshots_.end()) continue;
    Snapshot snapshot{.of = vocab, .active = vocab->Active()};
    snapshot.fit = CheckFit(*snapshot.active);
    if (!snapshot.fit.ok()) snapshot.active = full_head_;
    snapshots_.push_back(std::move(snapshot));
  }
  return snapshots_;
}

const StepVocabs::Snapshot& StepVocabs::Of(const StepWork& work) const {
  return *std::ranges::find(snapshots_, &ManagerOf(work), &Snapshot::of);
}

}  // namespace shortlist
