#ifndef SHORTLIST_DRAFT_STEP_H_
#define SHORTLIST_DRAFT_STEP_H_

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "request/sequence.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {

/// A sequence's part of one pass of the engine.
struct StepWork {
  Sequence* sequence = nullptr;
  /// Slots by position, at least those of the tokens computed and to be computed. The engine writes
  /// the slots of the tokens that it computes and, when it drafts, the following slots. It drafts
  /// fewer tokens if those are missing.
  std::span<const int32_t> kv_slots;
  /// The vocabulary that the draft scores and that learns from the verdict. It may change from step
  /// to step. Null: the engine's own.
  DynamicVocabularyManager* vocab = nullptr;
  /// Client hints: ids to add to the sequence's tail in this step; in [0, emit_size).
  std::span<const TokenId> new_dynamic_tokens = {};
  /// True if other sequences may share the prompt's keys and values. A drafter that needs features
  /// then computes its own for the whole prompt, even if the sequence ends before it drafts.
  bool shares_prompt = false;
};

/// Result of a pass for one sequence.
struct StepResult {
  int64_t num_emitted = 0;  // emitted tokens, the last ones of the sequence
  int64_t cached_len = 0;   // leading tokens whose keys and values are computed
  // Leading positions that will not be written again, in the drafter's cache too if
  // NeedsDraftedPrefix(); at most cached_len.
  int64_t shareable_len = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_STEP_H_
