#ifndef SHORTLIST_DRAFT_DRAFTER_H_
#define SHORTLIST_DRAFT_DRAFTER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "draft/acceptance_forecast.h"
#include "draft/step.h"
#include "kernels/matrix.h"
#include "request/sequence.h"
#include "vocab/active_vocab.h"

namespace shortlist {

struct ChainThresholds;  // draft/draft_policy.h

/// A draft distribution over its support only, never scattered to the full vocabulary.
struct DraftDistribution {
  std::vector<int32_t> ids;  // distinct token ids
  std::vector<float> probs;  // [ids.size()], sum to 1

  /// Probability of `id`, 0 outside the support.
  float Probability(TokenId id) const;
};

/// Rows of the head that a sketch ranked for one token.
struct RankedRows {
  std::vector<int32_t> ids;    // ascending
  std::vector<uint32_t> keys;  // [ids.size()] larger is better, ties to the lower id

  static constexpr int64_t kUnranked = INT64_MAX;
  /// Number of rows that are better than `id`; kUnranked if `id` is not among the rows.
  int64_t RankOf(TokenId id) const;
};

/// One request's part of a draft step: input (how many tokens to propose) and output (the
/// proposal).
struct DraftTask {
  Sequence* sequence = nullptr;
  std::span<const int32_t> kv_slots;    // from StepWork
  const ActiveVocab* active = nullptr;  // scored rows, in addition to the sequence's tail
  // at least 1; kv_slots has at least this many slots after the last token
  int64_t num_draft_tokens = 0;
  // The chain ends after the token that lowers `probability` below this; 0: never.
  double p_min = 0.0;
  // Replaces p_min if not null: where the chain ends, by its length. [num_draft_tokens] each.
  const ChainThresholds* thresholds = nullptr;
  bool looks_up = false;  // if weighs(), repetitions may be copied from the request's text

  double probability = 1.0;     // out: estimated probability that the target accepts the chain
  std::vector<TokenId> tokens;  // out: the chain, up to num_draft_tokens long
  int64_t num_copied = 0;       // out: how many of the last `tokens` were added by Copy()
  int64_t num_passes = 0;       // out: passes of the drafter for this chain
  // out: [num_passes] rows chosen by the sketch, ascending; empty without a sketch
  std::vector<std::vector<int32_t>> sketch_rows;
  // out: [num_passes] all ranked rows, from which the sketch chose
  std::vector<RankedRows> ranked_rows;
  // out: [tokens.size()], only with wants_distributions
  std::vector<DraftDistribution> distributions;
  /// Evidence for a token, and its probability before any forecast.
  struct Evidence {
    DraftSource source;
    double probability;
  };
  // out: per token, or only for the copied tokens if the drafter weighs none; empty unless
  // weighs().
  std::vector<Evidence> evidence;

  /// True if tokens must be weighed, because the end of the chain depends on it.
  bool weighs() const { return thresholds != nullptr || p_min > 0.0; }

  /// Weighs the draft's next token. `token_probability`: how likely the target chooses the same
  /// token, judged by the scored rows. It is multiplied by this sequence's coverage so far, to
  /// account for the other rows; the sequence's forecast turns the product into a likelihood.
  /// Returns false if the draft's part of the chain must end before this token: the draft is unsure
  /// and the text suggests another token, or the token is not worth its row.
  bool Weigh(TokenId token, double token_probability);

  /// Same as Weigh(), but for rejection sampling, which is exact only if the sampled token plays no
  /// part. `largest_probability`: that of the distribution at temperature 1.
  void WeighDraw(double largest_probability);

  /// True if the draft may append another token to `tokens`.
  bool WantsMore() const;

  /// Appends tokens that followed the same tokens earlier in the text, while the target is likely
  /// enough to accept them. A copied token costs no draft pass, only a row of the target's pass.
  void Copy(bool wants_distributions);

  /// Updates the sequence's forecasts: the target accepted the first `num_accepted` tokens and
  /// rejected the next one, if any.
  void Learn(int64_t num_accepted) const;

 private:
  double Likelihood(const Evidence& of) const;
  /// Times the sequence's coverage so far, except over the full head.
  double Covered(double probability_of_rows) const;
  void Add(const Evidence& of);
  bool IsWorthItsRow(const Evidence& of) const;
};

/// A drafter's data of one request, made by Drafter::NewState.
struct DrafterState {
  virtual ~DrafterState() = default;
};

/// Proposes likely continuations. Proposals affect the speed, never the output, which is the
/// target's. Used by the engine's thread only. The draft's KV of position i is in slot kv_slots[i]
/// (StepWork) of the drafter's own cache.
class Drafter {
 public:
  virtual ~Drafter() = default;

  /// Longest sequence that can be drafted for, in tokens.
  virtual int64_t context_len() const = 0;
  /// KV slots of the drafter's cache; at least the engine's.
  virtual int64_t num_slots() const = 0;
  /// Token ids below this have a row in the drafter's head.
  virtual int64_t num_rows() const = 0;

  /// Rows that a sketch chooses for every token it scores, except over the full head; 0 without a
  /// sketch.
  virtual int64_t num_sketch_rows() const { return 0; }
  /// Sets num_sketch_rows (at least 1) from the next Draft() on; no effect without a sketch, and
  /// limited to the rows it ranks.
  virtual void set_num_sketch_rows(int64_t /*num_rows*/) {}

  /// True if the draft computes a position from the target's features, so that it must see every
  /// position once (Accept). False if tokens suffice: it may then start at any time, and computes
  /// what its cache lacks.
  virtual bool needs_features() const = 0;

  /// Returns the state of a sequence whose first `cached_len` positions are in this drafter's cache
  /// already, written for another sequence with the same tokens.
  virtual std::unique_ptr<DrafterState> NewState(int64_t cached_len) const = 0;

  /// Number of leading positions of `sequence` that are in this drafter's cache and will not be
  /// written again. Sequences with the same tokens may share them. `sequence` must have a state.
  virtual int64_t CachedLen(const Sequence& sequence) const = 0;

  /// True if keys and values at position i depend on token i + 1, in addition to those up to i.
  virtual bool kv_sees_next_token() const = 0;

  /// Number of the leading `kv_slots` in which the drafter's cache has the tokens that the target's
  /// cache has there. Only for drafters that need no features.
  virtual int64_t WrittenLen(std::span<const int32_t> kv_slots) const = 0;

  /// Reports that the target stored tokens in `kv_slots`. What the drafter's cache has there may be
  /// of other tokens.
  virtual void Overwritten(std::span<const int32_t> kv_slots) = 0;

  /// Receives final target results: `features` [n, hidden] are the target's hidden states (after
  /// the final norm) of the tokens at positions cached_len - n .. cached_len - 1. Called after
  /// every target pass, for positions in ascending order without gaps, once per position. Only for
  /// drafters that need features.
  virtual absl::Status Accept(const StepWork& work, const Matrix& features) = 0;

  /// Computes missing keys and values of the sequences in `work`, which must have states: of all
  /// positions passed to Accept() so far, in one pass; CachedLen() then excludes at most the last
  /// two tokens. A drafter that needs no features computes at most kMaxCatchUp positions of each.
  /// Returns the number of positions computed. After an error the states must not be used any more.
  virtual absl::StatusOr<int64_t> CatchUp(std::span<const StepWork> work) = 0;
  static constexpr int64_t kMaxCatchUp = 256;

  /// Fills `tokens` and `num_passes` of every task, and weighs either all tokens (DraftTask::Weigh)
  /// or none. With `wants_distributions`, samples from its distributions and returns them (for
  /// rejection sampling); without, uses the target's noise. After an error the tasks are
  /// unspecified and the sequences' draft states stay usable.
  virtual absl::Status Draft(std::span<DraftTask> tasks, bool wants_distributions) = 0;

  /// Runs the draft's layers over `num_chains` chains of `len` made-up tokens, num_chains * len at
  /// most num_slots(), so that their time can be measured before the first request. Writes slots
  /// 0 .. num_chains * len - 1 of the cache, and has no other effect.
  virtual absl::Status RunMadeUp(int64_t num_chains, int64_t len) = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_DRAFTER_H_
