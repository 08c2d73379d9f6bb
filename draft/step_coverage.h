#ifndef SHORTLIST_DRAFT_STEP_COVERAGE_H_
#define SHORTLIST_DRAFT_STEP_COVERAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "draft/constraint_path.h"
#include "draft/drafter.h"
#include "vocab/active_vocab.h"
#include "vocab/row_source.h"
#include "vocab/vocab_sizer.h"

namespace shortlist {

/// A verified step of one request.
struct JudgedStep {
  const DraftTask* task;      // its sequence's last num_emitted tokens resulted from it
  const ActiveVocab* active;  // the request's own; differs from task->active after a fallback
  bool has_sketch = false;    // a sketch chooses rows, except over the full head
  int64_t num_accepted = 0;   // leading emitted tokens that were drafted
  int64_t num_emitted = 0;
  // The constraints' states before the emitted tokens; nullopt: there are none, or no draft.
  std::optional<ConstraintPath> path = {};

  bool fell_back() const { return task->active != active; }
  /// The token before the emitted ones.
  TokenId before() const { return task->sequence->tokens().rbegin()[num_emitted]; }
};

/// Coverage source of each token of a step.
struct StepCoverage {
  // [num_emitted] by the request's own vocabulary, whether or not a draft pass scored the token.
  std::vector<RowSource> sources;
  // Emitted tokens for which the draft scored rows.
  std::vector<TokenId> scored;
  std::vector<RowSource> held;  // [scored.size()] their sources; kFallback for the full head
  // The other emitted tokens: no draft pass reached them, so the sketch's choice is unknown, or a
  // constraint named the rows (kGrammar), which says nothing about the vocabulary.
  std::vector<TokenId> unscored;
  // Tokens that the draft proposed from the rows shared by all requests.
  std::vector<TokenId> shared_drafted;
};

/// Counts a verified step. A token at a place where a constraint forced the draft or allows few
/// tokens counts for kGrammar alone: whatever the vocabulary, a draft can propose it. Updates the
/// coverage in the sequence's stats, marks escapes in its token_infos, and passes every scored
/// token to its CoverageGuard with `coverage_floor`. Call before the tail is updated with the step.
StepCoverage CountCoverage(const JudgedStep& step, double coverage_floor);

/// Passes every emitted token of the step to `sizer`, with its rank in the sketch.
void TellSizerOfTokens(const JudgedStep& step, const StepCoverage& coverage, VocabSizer& sizer);

/// True if the emitted token `id`, covered by `source`, would also be covered without a sketch and
/// (if `sizes_base`) for any base size: by another part of the vocabulary, or because it occurred
/// in the request before.
bool IsHeldAnyway(const Sequence& sequence, RowSource source, TokenId id, bool sizes_base);

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_STEP_COVERAGE_H_
