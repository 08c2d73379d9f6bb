#include "draft/tail_discovery.h"

#include <algorithm>
#include <iterator>
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
    speculation.tail_has_prompt = false;  // another vocabulary begins anew
    return;
  }
  const std::vector<TokenId> rows = std::exchange(speculation.adopted_rows, {});
  const std::vector<TokenId> continuations = std::exchange(speculation.continuations, {});
  const std::vector<TokenId> likely = std::exchange(speculation.prompt_likely, {});
  Discovered news{.given = work.new_dynamic_tokens,
                  .prefix = rows,
                  .continuations = continuations,
                  .prompt_likely = likely};
  if (!std::exchange(speculation.tail_has_prompt, true)) {
    news.prompt = std::span(sequence.tokens()).first(sequence.prompt_len());
    news.output = sequence.output();
    news.given = given;
  }
  discovery_.Extend(news, active, speculation.tail, sequence.stats.num_rows_added);
}

void TailDiscovery::AfterStep(Sequence& sequence, const ActiveVocab& active,
                              std::span<const TokenId> emitted,
                              std::span<const TokenId> likely) const {
  discovery_.Extend({.output = emitted, .likely = likely}, active, SpeculationOf(sequence).tail,
                    sequence.stats.num_rows_added);
}

bool TailDiscovery::MayGuess(const Sequence& sequence, const ActiveVocab& active) const {
  return has_drafter_ && sequence.max_tail_rows() > 0 && sequence.speculates() &&
         !active.is_full_head();
}

int64_t TailDiscovery::num_target_best() const {
  return std::min(discovery_.target_top_k(), emit_size_);
}

int64_t TailDiscovery::num_prompt_best() const {
  return std::min(discovery_.prompt_top_k(), emit_size_);
}

int64_t TailDiscovery::num_continuations(const Sequence& sequence) const {
  if (!has_drafter_ || !sequence.speculates() || sequence.max_tail_rows() == 0) return 0;
  constexpr int64_t kTokensOfARow = 4;  // many tokens repeat, and many are active anyway
  return options_.continuation_rows * kTokensOfARow;
}

std::vector<TokenId> LikeliestLast(std::span<const TokenId> top, int64_t num_top) {
  std::vector<TokenId> likely;
  for (int64_t rank = num_top - 1; rank >= 0; --rank) {
    for (int64_t i = rank; i < std::ssize(top); i += num_top) {
      if (Raw(top[i]) >= 0) likely.push_back(top[i]);
    }
  }
  return likely;
}

}  // namespace shortlist
