#ifndef SHORTLIST_DRAFT_DRAFTER_H_
#define SHORTLIST_DRAFT_DRAFTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "draft/chain_policy.h"
#include "draft/drafted_chain.h"
#include "draft/step.h"
#include "kernels/matrix.h"
#include "request/sequence.h"
#include "vocab/active_vocab.h"
#include "vocab/head_rows.h"

namespace shortlist {

/// One request's part of a draft step.
struct DraftTask {
  Sequence* sequence = nullptr;
  std::span<const int32_t> kv_slots;    // from StepWork
  const ActiveVocab* active = nullptr;  // scored rows, in addition to the sequence's tail
  // Where the chain ends. Of at least 1 token; kv_slots has at least max_tokens() slots after the
  // last token.
  ChainPolicy policy;
  DraftedChain chain;  // out
  // The drafter's: ids of the only tokens that may follow the chain, if they are few.
  std::optional<std::vector<int32_t>> few = {};
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
  /// Token ids below this have a row in the drafter's head, if they are in head_rows().
  virtual int64_t num_rows() const = 0;
  /// The tokens that have a row in the drafter's head; null: all below num_rows().
  virtual std::shared_ptr<const HeadRows> head_rows() const { return nullptr; }

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
  /// What the features are: the target's states at these layer boundaries (StateTaps), side by
  /// side; empty: the state after the final norm. Only for drafters that need features.
  virtual std::span<const int64_t> taps() const { return {}; }

  /// Returns the state of a sequence whose first `cached_len` positions are in this drafter's cache
  /// already, written for another sequence with the same tokens.
  virtual std::unique_ptr<DrafterState> NewState(int64_t cached_len) const = 0;

  /// Number of leading positions of `sequence` that are in this drafter's cache and will not be
  /// written again. Sequences with the same tokens may share them. `sequence` must have a state.
  virtual int64_t CachedLen(const Sequence& sequence) const = 0;

  /// True if keys and values at position i depend on token i + 1, in addition to those up to i.
  virtual bool kv_sees_next_token() const = 0;

  /// Length of the leading run of `kv_slots` that hold the same tokens in both caches. Only for
  /// drafters that need no features.
  virtual int64_t WrittenLen(std::span<const int32_t> kv_slots) const = 0;

  /// Reports that the target stored tokens in `kv_slots`. The drafter's entries there may now
  /// belong to different tokens.
  virtual void Overwritten(std::span<const int32_t> kv_slots) = 0;

  /// Receives final target results: `features` [n, width] are the target's states, as taps() says,
  /// of the tokens at positions cached_len - n .. cached_len - 1. Called after every target pass,
  /// for positions in ascending order without gaps, once per position. Only for drafters that need
  /// features.
  virtual absl::Status Accept(const StepWork& work, const Matrix& features) = 0;

  /// Computes missing keys and values of the sequences in `work`, which must have states: of all
  /// positions passed to Accept() so far, in one pass; CachedLen() then excludes at most the last
  /// two tokens. A drafter that needs no features computes at most kMaxCatchUp positions of each.
  /// Returns the number of positions computed. After an error the states must not be used any more.
  virtual absl::StatusOr<int64_t> CatchUp(std::span<const StepWork> work) = 0;
  static constexpr int64_t kMaxCatchUp = 256;

  /// Fills the chain of every task, with what its constraints force (ChainPolicy::Force), and
  /// weighs either all tokens (ChainPolicy::Weigh) or none. With `wants_distributions`, samples
  /// from its distributions and returns them (for rejection sampling); without, uses the target's
  /// noise. After an error the chains are unspecified and the sequences' draft states stay usable.
  virtual absl::Status Draft(std::span<DraftTask> tasks, bool wants_distributions) = 0;

  /// Runs the draft's layers over `num_chains` chains of `len` made-up tokens, num_chains * len at
  /// most num_slots(), so that their time can be measured before the first request. Writes slots
  /// 0 .. num_chains * len - 1 of the cache, and has no other effect.
  virtual absl::Status RunMadeUp(int64_t num_chains, int64_t len) = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_DRAFTER_H_
