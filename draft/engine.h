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

/// The speculation loop: prefill, then steps of (draft up to K tokens, verify them and one more
/// row). Without a drafter a step is plain decoding through the very same code, which is why
/// outputs are bit-identical.
///
/// Used by one thread at a time. Target, drafter and manager must outlive it.
class SpeculativeEngine {
 public:
  using Options = EngineOptions;

  /// `drafter` null: plain decoding. `vocab`: the vocabulary of work that names none; null: the
  /// full head. InvalidArgument names the option and its bound, the slots of a drafter that has
  /// fewer than num_slots, or an id of `vocab` that it has no row of; ResourceExhausted when the KV
  /// cache does not fit memory.
  static absl::StatusOr<std::unique_ptr<SpeculativeEngine>> Create(Decoder& target,
                                                                   Drafter* drafter,
                                                                   DynamicVocabularyManager* vocab,
                                                                   Options options,
                                                                   ThreadPool& pool);

  /// One target pass over at most `max_tokens` (>= 1) uncomputed tokens of the sequences, in order;
  /// cached_len tells how far each one is. A sequence whose last token is reached gets its next
  /// token emitted, and one that asks for its prompt's log-probabilities gets those of the tokens
  /// behind the ones computed. Call until each is prefilled(). The results are those of `work`, in
  /// its order, until the next pass. After an error no sequence has more tokens than before, and
  /// all of them can be computed again.
  absl::StatusOr<std::span<const StepResult>> Prefill(std::span<const StepWork> work,
                                                      int64_t max_tokens);

  /// Starts `sequence` over: slots 0 .. len - 1 of its next work hold what another sequence with
  /// the same tokens, speculating alike, could share (shareable_len); the rest is to be prefilled,
  /// its output so far included. len is below num_tokens() and, where the prompt's
  /// log-probabilities are asked for, at most prompt_logprobs_start. `rows` enter its tail.
  void AdoptPrefix(Sequence& sequence, int64_t len, std::span<const TokenId> rows);

  /// Tokens that followed the sequence's own in other requests, nearest last: its tail gets them
  /// with the next step.
  void AddContinuations(Sequence& sequence, std::vector<TokenId> tokens);
  /// The most of them that are of use to `sequence`; 0: none.
  int64_t num_continuations(const Sequence& sequence) const;

  /// DraftSide's. Prefixes are shared among sequences with equal answers.
  bool DraftsFor(const Sequence& sequence) const { return draft_side_.DraftsFor(sequence); }

  /// The rows that `sequence` has added to the active vocabulary, by token id; without guesses.
  std::vector<TokenId> TailRows(const Sequence& sequence) const;

  /// One speculation step for every sequence (prefilled, not finished): emits between 1 and K + 1
  /// tokens each, but none for one that fails (Sequence::error). Results and errors as Prefill's; a
  /// drafter's error is no error, the step is then plain, and so it is for work whose vocabulary
  /// has another size or ids that the drafter has no rows of. What is thrown (std::bad_alloc)
  /// leaves sequences that must not be used any more.
  absl::StatusOr<std::span<const StepResult>> Step(std::span<const StepWork> work);

  const EngineStats& stats() const { return stats_; }
  /// What it has learned of the costs of decoding.
  const DraftPolicy& policy() const { return policy_; }
  /// Why drafting failed last; ok while it never has.
  const absl::Status& draft_error() const { return draft_side_.error(); }
  const Decoder& target() const { return target_; }
  int64_t vocab_size() const { return target_.config().vocab_size; }
  int64_t context_len() const { return target_.config().context_len; }
  const Drafter* drafter() const { return drafter_; }
  const Options& options() const { return options_; }
  /// True if drafting does not pay at present, so that a sequence that begins now had better not
  /// speculate (Sequence::Options): it costs the drafter nothing then.
  bool drafting_rests() const { return drafting_rests_; }

 private:
  struct Chunk {
    size_t index;  // of the sequence
    int64_t first_row, len;
    bool completes;                            // reaches the sequence's last token
    std::vector<TokenInfo> prompt_infos = {};  // what it adds to the sequence's
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
  TargetHead::Verdict verdict_;  // memory of the last step's
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
