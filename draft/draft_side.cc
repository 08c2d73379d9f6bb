#include "draft/draft_side.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "draft/speculation.h"

namespace shortlist {

/// True if the drafter may compute keys and values for `sequence`.
bool DraftSide::DraftsFor(const Sequence& sequence) const {
  return drafter_ != nullptr && sequence.speculates() &&
         sequence.prompt_len() < drafter_->context_len();
}

bool DraftSide::HasState(const Sequence& sequence) const {
  const Speculation* const speculation = FindSpeculation(sequence);
  return speculation != nullptr && speculation->draft_state != nullptr;
}

bool DraftSide::NeedsDraftedPrefix(const Sequence& sequence) const {
  return DraftsFor(sequence) && drafter_->needs_features();
}

bool DraftSide::CanDraft(const Sequence& sequence) const {
  return HasState(sequence) || (DraftsFor(sequence) && !drafter_->needs_features());
}

bool DraftSide::Start(const StepWork& work) {
  Sequence& sequence = *work.sequence;
  if (HasState(sequence) || !CanDraft(sequence)) return HasState(sequence);
  const int64_t written = drafter_->WrittenLen(work.kv_slots.first(sequence.cached_len));
  SpeculationOf(sequence).draft_state = drafter_->NewState(written);
  return true;
}

int64_t DraftSide::ShareableLen(const Sequence& sequence) const {
  if (!NeedsDraftedPrefix(sequence)) return sequence.cached_len;
  const Speculation* const speculation = FindSpeculation(sequence);
  if (speculation == nullptr) return 0;
  if (speculation->draft_state == nullptr) return speculation->shareable_len;
  return std::min(sequence.cached_len, drafter_->CachedLen(sequence));
}

void DraftSide::Adopt(Sequence& sequence, int64_t len) {
  const bool drafts = NeedsDraftedPrefix(sequence) && len <= drafter_->context_len();
  Speculation& speculation = SpeculationOf(sequence);
  speculation.draft_state = drafts ? drafter_->NewState(len) : nullptr;
  speculation.shareable_len = 0;
}

void DraftSide::Accept(const StepWork& work, const Matrix& features) {
  Sequence& sequence = *work.sequence;
  if (drafter_ == nullptr) return;
  drafter_->Overwritten(
      work.kv_slots.subspan(sequence.cached_len - features.rows(), features.rows()));
  if (!NeedsDraftedPrefix(sequence)) return;
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
  if (!ended.empty()) CatchUp(ended);
}

int64_t DraftSide::CatchUp(std::span<const StepWork> work) {
  const absl::StatusOr<int64_t> computed = drafter_->CatchUp(work);
  if (computed.ok()) return *computed;
  for (const StepWork& of : work) SpeculationOf(*of.sequence).draft_state = nullptr;
  CountFailure(computed.status());
  return 0;
}

void DraftSide::EndIdle(const StepWork& work) {
  constexpr int64_t kMostLeft = 192;
  constexpr int64_t kFewOutput = 128;  // a rest at the beginning may be short
  Sequence& sequence = *work.sequence;
  if (!NeedsDraftedPrefix(sequence) || !HasState(sequence) || sequence.finished()) return;
  if (sequence.num_output() < kFewOutput) return;
  if (sequence.num_tokens() - drafter_->CachedLen(sequence) <= kMostLeft) return;
  const int64_t shareable = ShareableLen(sequence);
  Speculation& ended = SpeculationOf(sequence);
  ended.draft_state = nullptr;
  ended.shareable_len = shareable;
}

void DraftSide::CountFailure(const absl::Status& why) {
  ++num_failures_;
  error_ = why;
}

}  // namespace shortlist
