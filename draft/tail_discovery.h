#ifndef SHORTLIST_DRAFT_TAIL_DISCOVERY_H_
#define SHORTLIST_DRAFT_TAIL_DISCOVERY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "draft/step.h"
#include "request/sequence.h"
#include "vocab/active_vocab.h"
#include "vocab/discovery.h"

namespace shortlist {

/// Gives the tails of requests their rows: tells the sources of Discovery what each request has
/// brought, everything once. What waits for a request's next step is in its Speculation. Immutable.
class TailDiscovery {
 public:
  /// `emit_size` as the engine's; without a drafter nobody looks for guesses.
  TailDiscovery(const DiscoveryOptions& options, int64_t emit_size, bool has_drafter)
      : options_(options), discovery_(options), emit_size_(emit_size), has_drafter_(has_drafter) {}

  /// Before a step over `active`: the tail gets what waits for it, and what `work` names. Where the
  /// vocabulary is not the full head any more, or was never looked at, it gets prompt and output
  /// too.
  void BeforeStep(const StepWork& work, const ActiveVocab& active) const;

  /// After it: the tail gets the tokens `emitted`, and of the guesses at their places, `likely`,
  /// the target's best, likeliest last.
  void AfterStep(Sequence& sequence, const ActiveVocab& active, std::span<const TokenId> emitted,
                 std::span<const TokenId> likely) const;

  /// Whether guesses are of use to a request over `active`: it has rows of its own for them.
  bool MayGuess(const Sequence& sequence, const ActiveVocab& active) const;
  /// Of each row that the target judges, the best tokens that AfterStep wants to know; 0: none.
  int64_t num_target_best() const;
  /// The same of a prompt's last row, for Speculation::prompt_likely.
  int64_t num_prompt_best() const;
  /// The most of Speculation::continuations that are of use to `sequence`; 0: none.
  int64_t num_continuations(const Sequence& sequence) const;

 private:
  DiscoveryOptions options_;
  Discovery discovery_;
  int64_t emit_size_;
  bool has_drafter_;
};

/// `top`: [rows, num_top] the best tokens of each row, likeliest first, -1 where there are no more.
/// All of them, the best of every row last.
std::vector<TokenId> LikeliestLast(std::span<const TokenId> top, int64_t num_top);

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_TAIL_DISCOVERY_H_
