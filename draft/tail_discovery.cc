#include "draft/tail_discovery.h"

#include <utility>

#include "draft/speculation.h"

namespace shortlist {

void TailDiscovery::BeforeStep(const StepWork& work, const ActiveVocab& active) const {
  Sequence& sequence = *work.sequence;
  Speculation& speculation = SpeculationOf(sequence);
  speculation.tail.Reconcile(active);
  std::vector<TokenId>& given = speculation.given;
  given.insert(given.end(), work.new_dynamic_tokens.begin(), work.new_dynamic_tokens.end());
  if (active.is_full_head()) {
    speculation.tail_has_prompt = false;  // a later vocabulary starts again with the prompt
    return;
  }
  const std::vector<TokenId> rows = std::exchange(speculation.adopted_rows, {});
  const std::vector<TokenId> continuations = std::exchange(speculation.continuations, {});
  Discovered news{.given = work.new_dynamic_tokens, .prefix = rows, .continuations = continuations};
  if (!std::exchange(speculation.tail_has_prompt, true)) {
    news.prompt = std::span(sequence.tokens()).first(sequence.prompt_len());
    news.output = sequence.output();
    news.given = given;
  }
  ExtendTail(news, continuation_rows_, active, speculation.tail, sequence.stats.num_rows_added);
}

void TailDiscovery::AfterStep(Sequence& sequence, const ActiveVocab& active,
                              std::span<const TokenId> emitted) const {
  ExtendTail({.output = emitted}, continuation_rows_, active, SpeculationOf(sequence).tail,
             sequence.stats.num_rows_added);
}

int64_t TailDiscovery::num_continuations(const Sequence& sequence) const {
  if (!has_drafter_ || !sequence.speculates() || sequence.max_tail_rows() == 0) return 0;
  constexpr int64_t kTokensOfARow = 4;  // many tokens repeat, and many are active anyway
  return continuation_rows_ * kTokensOfARow;
}

}  // namespace shortlist
