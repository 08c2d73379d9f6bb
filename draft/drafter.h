#ifndef SHORTLIST_DRAFT_DRAFTER_H_
#define SHORTLIST_DRAFT_DRAFTER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "draft/draft_policy.h"
#include "draft/speculation.h"
#include "draft/step.h"
#include "request/sequence.h"
#include "vocab/active_vocab.h"

namespace shortlist {

/// A draft distribution over its support alone, never scattered to the full vocabulary.
struct DraftDistribution {
  std::vector<int32_t> ids;  // distinct token ids
  std::vector<float> probs;  // [ids.size()], sum to 1

  /// Probability of `id`, 0 outside the support.
  float Probability(TokenId id) const;
};

/// Rows of the head that a sketch has ranked for one token.
struct RankedRows {
  std::vector<int32_t> ids;    // ascending
  std::vector<uint32_t> keys;  // [ids.size()] the larger is better, of equal ones the lower id

  static constexpr int64_t kUnranked = INT64_MAX;
  /// How many of them are better than `id`; kUnranked where it is not among them.
  int64_t RankOf(TokenId id) const;
};

/// One request's part of a draft step: how many tokens to propose, and the proposal.
struct DraftTask {
  Sequence* sequence = nullptr;
  std::span<const int32_t> kv_slots;    // StepWork's
  const ActiveVocab* active = nullptr;  // what is scored, the sequence's own tail behind it
  int64_t num_draft_tokens = 0;         // at least 1; there are as many slots behind the last token
  double p_min = 0.0;  // the chain ends with the token that brings `probability` below it; 0: never
  // In place of p_min: where the chain ends, by its length. [num_draft_tokens] each; null: by
  // p_min.
  const ChainThresholds* thresholds = nullptr;
  bool looks_up = false;  // what the request's text repeats may be copied from it, if it weighs()

  double probability = 1.0;     // out: that the target takes the chain, as far as is known
  std::vector<TokenId> tokens;  // out: the chain, up to num_draft_tokens long
  int64_t num_copied = 0;       // out: the last of `tokens`, by Copy
  int64_t num_passes = 0;       // out: passes of the drafter that this chain took
  // out: [num_passes] rows that the sketch chose, ascending; empty without one
  std::vector<std::vector<int32_t>> sketch_rows;
  // out: [num_passes] all that it ranked, among which it chose
  std::vector<RankedRows> ranked_rows;
  // out: [tokens.size()], with wants_distributions only
  std::vector<DraftDistribution> distributions;
  /// Why the target may take a token, and how likely it does before any forecast.
  struct Evidence {
    DraftSource source;
    double probability;
  };
  // out: of each token, or, where the drafter weighs none, of the copied ones; empty unless
  // weighs()
  std::vector<Evidence> evidence;

  /// Whether tokens are to be weighed, as the end of the chain depends on it.
  bool weighs() const { return thresholds != nullptr || p_min > 0.0; }

  /// Judges the draft's next token: `token_probability` is how likely the target chooses it too, as
  /// far as the scored slots can tell. The mass outside them is estimated from how many tokens of
  /// this sequence they covered so far, and the sequence's forecast makes a likelihood of the
  /// product. False: the draft is unsure and the text speaks for another token, or the token is not
  /// worth its row, so that the draft's part of the chain ends before this one.
  bool Weigh(TokenId token, double token_probability);

  /// The same for rejection sampling, where what was drawn must play no part for it to stay exact:
  /// the largest probability of the distribution, at temperature 1.
  void WeighDraw(double largest_probability);

  /// Whether another token of the draft may follow `tokens`.
  bool WantsMore() const;

  /// Appends what followed earlier in the text, while the target is likely enough to take it: such
  /// a token costs no pass of the draft, only a row of the target's.
  void Copy(bool wants_distributions);

  /// The target took the first `num_accepted` tokens, and judged one more where there was one: the
  /// sequence's forecasts learn from that.
  void Learn(int64_t num_accepted) const;

 private:
  double Likelihood(const Evidence& of) const;
  double Covered(double probability_of_slots) const;
  void Add(const Evidence& of);
  bool IsWorthItsRow(const Evidence& of) const;
};

/// Proposes likely continuations. Whatever it proposes, the output is the target's; it decides the
/// speed. Used by the engine's thread only. KV of the draft for position i lies in slot kv_slots[i]
/// (StepWork) of its own cache.
class Drafter {
 public:
  virtual ~Drafter() = default;

  /// Longest sequence it can draft for, in tokens.
  virtual int64_t context_len() const = 0;
  /// KV slots of its cache; at least the engine's.
  virtual int64_t num_slots() const = 0;
  /// Token ids below this have a row in its head.
  virtual int64_t num_rows() const = 0;

  /// Rows that a sketch chooses for every token it scores, unless over the full head; 0: there is
  /// no sketch.
  virtual int64_t num_sketch_rows() const { return 0; }
  /// From the next Draft on so many, where there is a sketch that ranks as many; at least 1.
  virtual void set_num_sketch_rows(int64_t /*num_rows*/) {}

  /// The state of a sequence whose first `cached_len` positions lie in this drafter's cache
  /// already, written for another sequence with the same tokens.
  virtual std::unique_ptr<DrafterState> NewState(int64_t cached_len) const = 0;

  /// Leading positions of `sequence` (it has a state) that lie in this drafter's cache and will not
  /// be written again: sequences with the same tokens may share them.
  virtual int64_t CachedLen(const Sequence& sequence) const = 0;

  /// Whether keys and values at position i depend on token i + 1, besides those up to i.
  virtual bool kv_sees_next_token() const = 0;

  /// Tells of target results that stand: `features` [n, hidden] are the target's hidden states
  /// (after the final norm) of the tokens at positions cached_len - n .. cached_len - 1. Called
  /// after every target pass, for positions in ascending order without gaps, once per position.
  virtual absl::Status Accept(const StepWork& work, const at::Tensor& features) = 0;

  /// Computes the keys and values of all positions that Accept was told of, in one pass for all of
  /// `work`, whose sequences have states. CachedLen then leaves out at most the last two tokens.
  /// After an error the states must not be used any more.
  virtual absl::Status CatchUp(std::span<const StepWork> work) = 0;

  /// Fills `tokens` and `num_passes` of every task, and weighs all tokens (DraftTask::Weigh) or
  /// none. With `wants_distributions`, samples from its distributions and returns them (for
  /// rejection sampling); without, uses the noise the target will use. After an error the tasks are
  /// unspecified and the sequences' draft states stay usable.
  virtual absl::Status Draft(std::span<DraftTask> tasks, bool wants_distributions) = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_DRAFTER_H_
