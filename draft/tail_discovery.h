#ifndef SHORTLIST_DRAFT_TAIL_DISCOVERY_H_
#define SHORTLIST_DRAFT_TAIL_DISCOVERY_H_

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "draft/step.h"
#include "request/sequence.h"
#include "vocab/active_vocab.h"
#include "vocab/discovery.h"

namespace shortlist {

/// Fills the tails of requests: passes everything new in a request to ExtendTail, once. Pending
/// rows of a request are in its Speculation. Immutable.
class TailDiscovery {
 public:
  /// Continuations may use up to `continuation_rows` of a tail. They are useless without a drafter.
  TailDiscovery(int64_t continuation_rows, bool has_drafter)
      : continuation_rows_(continuation_rows), has_drafter_(has_drafter) {}

  /// Call before a step over `active`: adds the pending rows and the client hints of `work`. Also
  /// adds prompt and output if the tail does not contain them yet or the last vocabulary was the
  /// full head.
  void BeforeStep(const StepWork& work, const ActiveVocab& active) const;

  /// Call after a step: adds the tokens `emitted`.
  void AfterStep(Sequence& sequence, const ActiveVocab& active,
                 std::span<const TokenId> emitted) const;

  /// Maximum useful number of Speculation::continuations for `sequence`; 0: none.
  int64_t num_continuations(const Sequence& sequence) const;

 private:
  int64_t continuation_rows_;
  bool has_drafter_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_TAIL_DISCOVERY_H_
