#ifndef SHORTLIST_DRAFT_STEP_COVERAGE_H_
#define SHORTLIST_DRAFT_STEP_COVERAGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "draft/drafter.h"
#include "vocab/active_vocab.h"
#include "vocab/row_source.h"
#include "vocab/vocab_sizer.h"

namespace shortlist {

/// A step that has been verified, for one request.
struct JudgedStep {
  const DraftTask* task;      // with its sequence, whose last num_emitted tokens came of it
  const ActiveVocab* active;  // the request's; task->active is another where it fell back
  bool has_sketch = false;    // a sketch chooses rows, unless over the full head
  int64_t num_accepted = 0;   // of the emitted tokens, the first, which were drafted
  int64_t num_emitted = 0;

  bool fell_back() const { return task->active != active; }
  /// The token in front of the emitted ones.
  TokenId before() const { return task->sequence->tokens().rbegin()[num_emitted]; }
};

/// Which part of the vocabulary held the tokens of a step.
struct StepCoverage {
  // [num_emitted] by the request's own vocabulary, whether or not a draft pass scored it.
  std::vector<RowSource> sources;
  // The emitted tokens that the draft scored rows for, and what of these held them: kFallback where
  // the full head stood in.
  std::vector<TokenId> scored;
  std::vector<RowSource> held;  // [scored.size()]
  // The others: no draft pass came to them, and nobody knows what the sketch would have chosen.
  std::vector<TokenId> unscored;
  // Tokens that the draft proposed from the rows that requests share.
  std::vector<TokenId> shared_drafted;
};

/// Counts a step of a request: sets the coverage in its stats, the escapes among its token_infos,
/// and tells its CoverageGuard of every token, with `coverage_floor`. Before the tail learns of the
/// step.
StepCoverage CountCoverage(const JudgedStep& step, double coverage_floor);

/// Tells `sizer` of every emitted token of the step, with the rank that the sketch gave it.
void TellSizerOfTokens(const JudgedStep& step, const StepCoverage& coverage, VocabSizer& sizer);

/// Whether a draft could propose the emitted token `id`, held by `source`, whatever the size of the
/// base (where that `sizes_base` can change) and without a sketch: another part of the vocabulary
/// holds it, or would, since the request's text had it before.
bool IsHeldAnyway(const Sequence& sequence, RowSource source, TokenId id, bool sizes_base);

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_STEP_COVERAGE_H_
