#ifndef SHORTLIST_DRAFT_ENGINE_H_
#define SHORTLIST_DRAFT_ENGINE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "draft/engine_options.h"
#include "draft/engine_stats.h"
#include "draft/step.h"
#include "request/sequence.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {

class CausalModel;
class Drafter;
class DraftPolicy;

/// The speculation loop: prefill, then steps (draft up to K tokens, verify them and one more row).
/// Without a drafter, a step is plain decoding through the same code, so outputs are bit-identical.
///
/// Used by one thread at a time. Target, drafter and manager must outlive this object.
class SpeculativeEngine {
 public:
  using Options = EngineOptions;

  virtual ~SpeculativeEngine() = default;

  /// `drafter` null: plain decoding, with copies if options.copies_alone. `vocab`: the default
  /// vocabulary of work that names none; null: the full head. Returns InvalidArgument with the
  /// option and its bound, the slots of a drafter that has fewer than num_slots, or an id of
  /// `vocab` that has no row in the drafter. Returns ResourceExhausted if the KV cache does not fit
  /// in memory.
  static absl::StatusOr<std::unique_ptr<SpeculativeEngine>> Create(CausalModel& target,
                                                                   Drafter* drafter,
                                                                   DynamicVocabularyManager* vocab,
                                                                   Options options,
                                                                   ThreadPool& pool);

  /// Runs one target pass over at most `max_tokens` (>= 1) uncomputed tokens of the sequences, in
  /// order; advances their cached_len. Emits the next token of each sequence whose last token is
  /// computed. Adds the log-probabilities of the prompt tokens that follow the computed ones, for
  /// sequences that ask for them. Call until each sequence is prefilled(). The results are in the
  /// order of `work` and valid until the next pass. InvalidArgument if a sequence fills the
  /// context. After an error no sequence has more tokens than before, and all can be computed
  /// again.
  virtual absl::StatusOr<std::span<const StepResult>> Prefill(std::span<const StepWork> work,
                                                              int64_t max_tokens) = 0;

  /// Restarts `sequence`. `slots`, the first of its next work, hold positions that another sequence
  /// with the same tokens, and the same answer of NeedsDraftedPrefix(), could share
  /// (shareable_len). The rest must be prefilled, including the output so far. There are fewer
  /// slots than num_tokens() and, if the prompt's log-probabilities are requested, at most
  /// prompt_logprobs_start; exactly ResumableLen(slots). `rows` enter the sequence's tail. Throws
  /// std::bad_alloc before any change.
  virtual void AdoptPrefix(Sequence& sequence, std::span<const int32_t> slots,
                           std::span<const TokenId> rows) = 0;

  /// The largest number of leading `slots` that a sequence can adopt. Fewer than all only for a
  /// target with recurrent layers, which keeps its state after some prefixes.
  virtual int64_t ResumableLen(std::span<const int32_t> slots) const = 0;

  /// Ends `sequence`, which must not be used any more. Others may adopt the positions in `slots`,
  /// its first ones.
  virtual void End(Sequence& sequence, std::span<const int32_t> slots) = 0;

  /// Stores tokens that followed the sequence's own tokens in other requests, nearest last. They
  /// enter the sequence's tail in its next step.
  virtual void AddContinuations(Sequence& sequence, std::vector<TokenId> tokens) = 0;
  /// Maximum number of continuation tokens that are useful to `sequence`; 0: none.
  virtual int64_t num_continuations(const Sequence& sequence) const = 0;

  /// True if a prefix that `sequence` adopts must be in the drafter's cache too. Only sequences
  /// with equal answers share prefixes.
  virtual bool NeedsDraftedPrefix(const Sequence& sequence) const = 0;

  /// Rows that `sequence` added to the active vocabulary, as token ids in row order; excludes
  /// guessed rows.
  virtual std::vector<TokenId> TailRows(const Sequence& sequence) const = 0;

  /// Runs one speculation step for every sequence (prefilled, not finished). Emits 1 to K + 1
  /// tokens each, or none for a sequence that fails (Sequence::error). Results and errors are as
  /// for Prefill(). A drafter's error is not returned; the step is then plain. A step is also plain
  /// for work whose vocabulary has a different size than the target's or ids without a row in the
  /// drafter. After an exception (std::bad_alloc) the sequences must not be used any more.
  virtual absl::StatusOr<std::span<const StepResult>> Step(std::span<const StepWork> work) = 0;

  virtual const EngineStats& stats() const = 0;
  /// The measured costs of decoding.
  virtual const DraftPolicy& policy() const = 0;
  /// The last drafting error; ok if there was none.
  virtual const absl::Status& draft_error() const = 0;

  virtual int64_t vocab_size() const = 0;   // of the target
  virtual int64_t context_len() const = 0;  // of the target
  virtual const Drafter* drafter() const = 0;
  virtual const Options& options() const = 0;
  /// True if a new sequence, one of `num_requests`, is expected to gain from drafts, including the
  /// time for computing its prompt in the draft. Otherwise it should not speculate
  /// (Sequence::Options), which costs the drafter nothing. Always true for a drafter that needs no
  /// features: it can decide in each step.
  virtual bool DraftingPays(int64_t num_requests, int64_t prompt_len,
                            int64_t max_new_tokens) const = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_ENGINE_H_
