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

/// Fills the tails of requests: gives ExtendTail everything that a request has brought, once. What
/// waits for a request's next step is in its Speculation. Immutable.
class TailDiscovery {
 public:
  /// Continuations may take `continuation_rows` of a tail. They are of no use without a drafter.
  TailDiscovery(int64_t continuation_rows, bool has_drafter)
      : continuation_rows_(continuation_rows), has_drafter_(has_drafter) {}

  /// Before a step over `active`: adds what waits for it, and what `work` names. Adds prompt and
  /// output too where the vocabulary was not looked at before, or was the full head.
  void BeforeStep(const StepWork& work, const ActiveVocab& active) const;

  /// After a step: adds the tokens `emitted`.
  void AfterStep(Sequence& sequence, const ActiveVocab& active,
                 std::span<const TokenId> emitted) const;

  /// The most of Speculation::continuations that are of use to `sequence`; 0: none.
  int64_t num_continuations(const Sequence& sequence) const;

 private:
  int64_t continuation_rows_;
  bool has_drafter_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_TAIL_DISCOVERY_H_
