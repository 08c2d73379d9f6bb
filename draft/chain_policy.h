#ifndef SHORTLIST_DRAFT_CHAIN_POLICY_H_
#define SHORTLIST_DRAFT_CHAIN_POLICY_H_

#include <cstdint>
#include <span>
#include <string>

#include "base/ids.h"
#include "draft/drafted_chain.h"
#include "draft/suffix_index.h"
#include "request/sequence.h"

namespace shortlist {

class PastOutputs;       // draft/past_outputs.h
struct ChainMemory;      // draft/chain_memory.h
struct ChainThresholds;  // draft/draft_policy.h

/// Decides where the chain of one request ends in one step, token by token: by its length, and by
/// the probability that the target accepts it. Modifies only the given chain and the index of the
/// text in the memory.
class ChainPolicy {
 public:
  struct Limits {
    int64_t max_tokens = 0;  // 0: the request does not draft in this step
    // The chain ends after the token that lowers its probability below this; 0: never.
    double p_min = 0.0;
    // If set, used instead of p_min: the lowest probabilities by chain length, [max_tokens] each.
    // Read when the chain grows, so it may be filled after the policy is made.
    const ChainThresholds* thresholds = nullptr;
    bool copies = false;  // tokens that followed the same text earlier may be copied
    // Earlier outputs of the client `cache_salt`, copied from like the request's own text; null:
    // none. Both must outlive the step.
    const PastOutputs* past_outputs = nullptr;
    const std::string* cache_salt = nullptr;
    // The request's coverage so far; 1 over the full head and at narrowed places. Multiplies the
    // probabilities of tokens, to account for rows that are not scored.
    double coverage = 1.0;
    // The request's, with their states after its tokens.
    std::span<const Sequence::Constraint> constraints = {};
  };

  /// Without a memory: max_tokens 0.
  ChainPolicy() = default;
  /// `memory`, `text` (the request's tokens) and constraints must outlive the step.
  ChainPolicy(ChainMemory& memory, std::span<const TokenId> text, const Limits& limits)
      : memory_(&memory), text_(text), limits_(limits) {}

  int64_t max_tokens() const { return limits_.max_tokens; }
  /// True if tokens may be forced.
  bool is_constrained() const { return max_tokens() > 0 && !limits_.constraints.empty(); }
  /// The request does not draft in this step after all.
  void Rest() { limits_.max_tokens = 0; }

  /// True if tokens must be weighed, because the end of the chain depends on it.
  bool weighs() const { return limits_.thresholds != nullptr || limits_.p_min > 0.0; }

  /// Weighs the drafter's next token, before it enters `chain`. `token_probability`: how likely the
  /// target chooses the same token, judged by the scored rows. The request's coverage and forecast
  /// turn it into a likelihood. Returns false if the drafter's part of the chain must end before
  /// this token: the draft is unsure and earlier text suggests another token, or the token is not
  /// worth its row.
  bool Weigh(TokenId token, double token_probability, DraftedChain& chain) const;

  /// Same as Weigh(), but for rejection sampling, which stays exact only if the chain's end does
  /// not depend on the sampled token: hence the largest probability of its distribution, at
  /// temperature 1.
  void WeighDraw(double largest_probability, DraftedChain& chain) const;

  /// Appends the tokens that the request's constraints force after `chain`, while the target is
  /// likely enough to accept them. A forced token costs no draft pass, only a row of the target's
  /// pass.
  void Force(bool wants_distributions, DraftedChain& chain) const;

  /// True if the drafter may append another token to `chain`, which takes `num_passes` passes of
  /// its network. False where the constraints end the output.
  bool WantsMore(const DraftedChain& chain, int64_t num_passes = 1) const;

  /// Appends tokens that followed the end of the chain earlier, in the request's text or its
  /// client's outputs, while the constraints allow them and the target is likely enough to accept
  /// them. A copied token costs no draft pass, only a row of the target's pass.
  void Copy(bool wants_distributions, DraftedChain& chain) const;

 private:
  void Add(const DraftEvidence& of, DraftedChain& chain) const;
  double CoverageOf(const DraftedChain& chain) const;
  SuffixMatch FindCopy(const DraftedChain& chain) const;
  bool IsWorthItsRow(const DraftEvidence& of, const DraftedChain& chain) const;

  ChainMemory* memory_ = nullptr;
  std::span<const TokenId> text_;
  Limits limits_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_CHAIN_POLICY_H_
