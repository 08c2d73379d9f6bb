#ifndef SHORTLIST_DRAFT_ENGINE_H_
#define SHORTLIST_DRAFT_ENGINE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "draft/draft_policy.h"
#include "draft/draft_side.h"
#include "draft/drafter.h"
#include "draft/engine_options.h"
#include "draft/engine_stats.h"
#include "draft/step.h"
#include "draft/step_vocabs.h"
#include "draft/tail_discovery.h"
#include "draft/target_head.h"
#include "draft/verifier.h"
#include "model/decoder.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "request/sequence.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {

/// The speculation loop: prefill, then steps (draft up to K tokens, verify them and one more row).
/// Without a drafter, a step is plain decoding through the same code, so outputs are bit-identical.
///
/// Used by one thread at a time. Target, drafter and manager must outlive this object.
class SpeculativeEngine {
 public:
  using Options = EngineOptions;

  /// `drafter` null: plain decoding. `vocab`: the default vocabulary of work that names none; null:
  /// the full head. Returns InvalidArgument with the option and its bound, the slots of a drafter
  /// that has fewer than num_slots, or an id of `vocab` that has no row in the drafter. Returns
  /// ResourceExhausted if the KV cache does not fit in memory.
  static absl::StatusOr<std::unique_ptr<SpeculativeEngine>> Create(Decoder& target,
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
  absl::StatusOr<std::span<const StepResult>> Prefill(std::span<const StepWork> work,
                                                      int64_t max_tokens);

  /// Restarts `sequence`. Slots 0 .. len - 1 of its next work hold positions that another sequence
  /// with the same tokens, and the same answer of DraftsFor(), could share (shareable_len). The
  /// rest must be prefilled, including the output so far. len is below num_tokens() and, if the
  /// prompt's log-probabilities are requested, at most prompt_logprobs_start. `rows` enter the
  /// sequence's tail.
  void AdoptPrefix(Sequence& sequence, int64_t len, std::span<const TokenId> rows);

  /// Stores tokens that followed the sequence's own tokens in other requests, nearest last. They
  /// enter the sequence's tail in its next step.
  void AddContinuations(Sequence& sequence, std::vector<TokenId> tokens);
  /// Maximum number of continuation tokens that are useful to `sequence`; 0: none.
  int64_t num_continuations(const Sequence& sequence) const;

  /// See DraftSide. Only sequences with equal answers share prefixes.
  bool DraftsFor(const Sequence& sequence) const { return draft_side_.DraftsFor(sequence); }

  /// Rows that `sequence` added to the active vocabulary, as token ids in row order; excludes
  /// guessed rows.
  std::vector<TokenId> TailRows(const Sequence& sequence) const;

  /// Runs one speculation step for every sequence (prefilled, not finished). Emits 1 to K + 1
  /// tokens each, or none for a sequence that fails (Sequence::error). Results and errors are as
  /// for Prefill(). A drafter's error is not returned; the step is then plain. A step is also plain
  /// for work whose vocabulary has a different size than the target's or ids without a row in the
  /// drafter. After an exception (std::bad_alloc) the sequences must not be used any more.
  absl::StatusOr<std::span<const StepResult>> Step(std::span<const StepWork> work);

  const EngineStats& stats() const { return stats_; }
  /// The measured costs of decoding.
  const DraftPolicy& policy() const { return policy_; }
  /// The last drafting error; ok if there was none.
  const absl::Status& draft_error() const { return draft_side_.error(); }
  const Decoder& target() const { return target_; }
  int64_t vocab_size() const { return target_.config().vocab_size; }
  int64_t context_len() const { return target_.config().context_len; }
  const Drafter* drafter() const { return drafter_; }
  const Options& options() const { return options_; }
  /// True if drafting does not pay at present. A new sequence should then not speculate
  /// (Sequence::Options), which costs the drafter nothing.
  bool drafting_rests() const { return drafting_rests_; }

 private:
  struct Chunk {
    size_t index;  // of the sequence
    int64_t first_row, len;
    bool completes;                            // reaches the sequence's last token
    std::vector<TokenInfo> prompt_infos = {};  // infos that this chunk adds to the sequence's
  };

  SpeculativeEngine(Decoder& target, Drafter* drafter, StepVocabs vocabs, Options options,
                    KvCache cache, TargetHead head);

  absl::Status MeasureVerify();
  double NowMs() const;
  std::vector<Chunk> BatchChunks(std::span<const StepWork> work, int64_t max_tokens);
  std::span<const StepResult> TakeResults(std::span<const StepWork> work);
  std::vector<DraftTask> Propose(std::span<const StepWork> work);
  DraftTask NewTask(const StepWork& work);
  int64_t NumDraftTokens(const StepWork& work) const;
  int64_t NumSketchRows() const;
  absl::Status VerifyAll(std::span<const StepWork> work, std::span<const DraftTask> tasks);
  void Learn(const StepWork& work, const DraftTask& task, int64_t num_accepted,
             int64_t num_emitted);
  void UpdatePolicy(std::span<const DraftTask> tasks, const EngineStats& before);
  void TellSizer(std::span<const StepWork> work, std::span<const DraftTask> tasks,
                 const EngineStats& before);

  Decoder& target_;
  Drafter* const drafter_;
  DraftSide draft_side_;
  const Options options_;
  const TailDiscovery discovery_;
  StepVocabs vocabs_;
  KvCache cache_;
  TargetHead head_;
  TargetHead::Verdict verdict_;  // storage of the last step, reused
  Verifier verifier_;
  ForwardBatch batch_;
  std::vector<StepResult> results_;                      // of the last pass
  int64_t num_step_judged_ = 0, num_step_accepted_ = 0;  // drafted tokens of the last step
  EngineStats stats_;
  DraftPolicy policy_;
  ChainThresholds thresholds_;  // of the step
  bool drafting_rests_ = false;
  bool step_caught_up_ = false;  // DraftPolicy::Step::caught_up
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_ENGINE_H_
