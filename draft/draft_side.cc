#include "draft/draft_side.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "draft/speculation.h"

namespace shortlist {

bool DraftSide::DraftsFor(const Sequence& sequence) const {
  return drafter_ != nullptr && sequence.speculates() &&
         sequence.prompt_len() < drafter_->context_len();
}

bool DraftSide::HasState(const Sequence& sequence) const {
  const Speculation* const speculation = FindSpeculation(sequence);
  return speculation != nullptr && speculation->draft_state != nullptr;
}

int64_t DraftSide::ShareableLen(const Sequence& sequence) const {
  if (!DraftsFor(sequence)) return sequence.cached_len;
  const Speculation* const speculation = FindSpeculation(sequence);
  if (speculation == nullptr) return 0;
  if (speculation->draft_state == nullptr) return speculation->shareable_len;
  return std::min(sequence.cached_len, drafter_->CachedLen(sequence));
}

void DraftSide::Adopt(Sequence& sequence, int64_t len) {
  const bool drafts = DraftsFor(sequence) && len <= drafter_->context_len();
  Speculation& speculation = SpeculationOf(sequence);
  speculation.draft_state = drafts ? drafter_->NewState(len) : nullptr;
  speculation.shareable_len = 0;
}

void DraftSide::Accept(const StepWork& work, const Matrix& features) {
  Sequence& sequence = *work.sequence;
  if (!DraftsFor(sequence)) return;
  if (sequence.finished() && !LacksPrompt(work)) return;
  std::unique_ptr<DrafterState>& draft_state = SpeculationOf(sequence).draft_state;
  if (sequence.cached_len > drafter_->context_len()) {  // too long for this drafter from now on
    draft_state = nullptr;
    return;
  }
  if (draft_state == nullptr) {
    // A drafter starts with the sequence or not at all: it must see every position once.
    if (sequence.cached_len != features.rows()) return;
    draft_state = drafter_->NewState(/*cached_len=*/0);
  }
  if (const absl::Status status = drafter_->Accept(work, features); !status.ok()) {
    draft_state = nullptr;  // this sequence decodes plainly from here on
    CountFailure(status);
  }
}

/// True if the drafter lacks part of a shareable prompt, other than the prompt's last token.
bool DraftSide::LacksPrompt(const StepWork& work) const {
  const Sequence& sequence = *work.sequence;
  if (!work.shares_prompt || sequence.finish_reason() == FinishReason::kError) return false;
  return ShareableLen(sequence) < sequence.prompt_len() - 1;
}

void DraftSide::CompletePrompts(std::span<const StepWork> work) {
  std::vector<StepWork> ended;
  for (const StepWork& of : work) {
    const bool drafts = HasState(*of.sequence);
    if (of.sequence->finished() && drafts && LacksPrompt(of)) ended.push_back(of);
  }
  if (ended.empty()) return;
  const absl::Status status = drafter_->CatchUp(ended);
  if (status.ok()) return;
  for (const StepWork& of : ended) SpeculationOf(*of.sequence).draft_state = nullptr;
  CountFailure(status);
}

void DraftSide::EndIdle(std::span<const StepWork> work) {
  constexpr int64_t kMostLeft = 192;
  for (const StepWork& of : work) {
    Sequence& sequence = *of.sequence;
    if (!HasState(sequence) || sequence.finished()) continue;
    const int64_t left = sequence.num_tokens() - drafter_->CachedLen(sequence);
    if (left <= kMostLeft) continue;
    const int64_t shareable = ShareableLen(sequence);
    Speculation& ended = SpeculationOf(sequence);
    ended.draft_state = nullptr;
    ended.shareable_len = shareable;
  }
}

void DraftSide::CountFailure(const absl::Status& why) {
  ++num_failures_;
  error_ = why;
}

}  // namespace shortlist
