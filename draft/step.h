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
  /// By position: those of the tokens computed and to be computed, at least. The engine writes
  /// those of the tokens that it computes and, when it drafts, those right behind; it drafts fewer
  /// tokens where they are missing.
  std::span<const int32_t> kv_slots;
  /// Whose rows its draft scores, and what learns from the verdict: the same one from step to step,
  /// or another. Null: the engine's own.
  DynamicVocabularyManager* vocab = nullptr;
  /// Ids that the sequence's tail gets with this step, because whoever sent the request expects
  /// them; in [0, emit_size).
  std::span<const TokenId> new_dynamic_tokens = {};
  /// Other sequences may share the keys and values of its prompt. The drafter computes its own for
  /// all of the prompt then, also where the sequence ends before it has drafted.
  bool shares_prompt = false;
};

/// What a pass did for a sequence.
struct StepResult {
  int64_t num_emitted = 0;    // tokens, the last of the sequence's
  int64_t cached_len = 0;     // leading tokens whose keys and values are computed
  int64_t shareable_len = 0;  // of these, those that will not be written again, the drafter's
                              // included where the sequence speculates
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_STEP_H_
