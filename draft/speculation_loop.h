#ifndef SHORTLIST_DRAFT_SPECULATION_LOOP_H_
#define SHORTLIST_DRAFT_SPECULATION_LOOP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "draft/draft_policy.h"
#include "draft/draft_side.h"
#include "draft/drafter.h"
#include "draft/engine.h"
#include "draft/past_outputs.h"
#include "draft/proposer.h"
#include "draft/step_coverage.h"
#include "draft/step_vocabs.h"
#include "draft/tail_discovery.h"
#include "draft/target_head.h"
#include "draft/verifier.h"
#include "model/executor.h"
#include "model/forward_batch.h"

namespace shortlist {

/// The SpeculativeEngine over any CausalModel.
class SpeculationLoop final : public SpeculativeEngine {
 public:
  SpeculationLoop(const ModelConfig& config, std::unique_ptr<Executor> target, Drafter* drafter,
                  StepVocabs vocabs, Options options, TargetHead head);

  /// Measures the costs that the policy needs before the first request (MeasureCosts).
  absl::Status Measure();

  absl::StatusOr<std::span<const StepResult>> Prefill(std::span<const StepWork> work,
                                                      int64_t max_tokens) override;
  void AdoptPrefix(Sequence& sequence, std::span<const int32_t> slots,
                   std::span<const TokenId> rows) override;
  int64_t ResumableLen(std::span<const int32_t> slots) const override {
    return target_->ResumableLen(slots);
  }
  void End(Sequence& sequence, std::span<const int32_t> slots) override;
  void AddContinuations(Sequence& sequence, std::vector<TokenId> tokens) override;
  int64_t num_continuations(const Sequence& sequence) const override;
  bool NeedsDraftedPrefix(const Sequence& sequence) const override {
    return draft_side_.NeedsDraftedPrefix(sequence);
  }
  std::vector<TokenId> TailRows(const Sequence& sequence) const override;
  absl::StatusOr<std::span<const StepResult>> Step(std::span<const StepWork> work) override;
  const EngineStats& stats() const override { return stats_; }
  const DraftPolicy& policy() const override { return policy_; }
  const absl::Status& draft_error() const override { return draft_side_.error(); }
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t context_len() const override { return config_.context_len; }
  const Drafter* drafter() const override { return drafter_; }
  const Options& options() const override { return options_; }
  bool DraftingPays(int64_t num_requests, int64_t prompt_len,
                    int64_t max_new_tokens) const override;

 private:
  struct Chunk {
    size_t index;  // of the sequence
    int64_t first_row, len;
    bool completes;                            // reaches the sequence's last token
    std::vector<TokenInfo> prompt_infos = {};  // infos that this chunk adds to the sequence's
  };

  double NowMs() const;
  /// Results of the target's pass over batch_.
  struct TargetPass {
    Matrix hidden;    // [num_tokens, hidden] for the target's head
    Matrix features;  // [num_tokens, width] for the drafter; `hidden` unless it asks for others
  };
  absl::StatusOr<TargetPass> RunTarget();
  absl::Status CreateStates(std::span<const StepWork> work);
  std::vector<Chunk> BatchChunks(std::span<const StepWork> work, int64_t max_tokens);
  std::span<const StepResult> TakeResults(std::span<const StepWork> work);
  absl::Status VerifyAll(std::span<const StepWork> work, std::span<const DraftTask> tasks);
  void CountVerdict(const DraftedChain& drafted, int64_t num_accepted, int64_t num_emitted,
                    SequenceStats& stats);
  std::optional<ConstraintPath> PathFor(const Sequence& sequence) const;
  void Learn(const StepWork& work, const JudgedStep& step);
  void UpdatePolicy(const Proposal& proposal, const EngineStats& of_step);
  void TellSizer(std::span<const StepWork> work, const Proposal& proposal,
                 const EngineStats& of_step);

  const ModelConfig& config_;  // of the target
  const std::unique_ptr<Executor> target_;
  Drafter* const drafter_;
  DraftSide draft_side_;
  const Options options_;
  const TailDiscovery discovery_;
  StepVocabs vocabs_;
  TargetHead head_;
  TargetHead::Verdict verdict_;  // storage of the last step, reused
  Verifier verifier_;
  ForwardBatch batch_;
  std::vector<StepResult> results_;  // of the last pass
  // Drafted tokens of the last step, except forced ones; and its forced ones.
  int64_t num_step_judged_ = 0, num_step_accepted_ = 0;
  int64_t num_step_certain_ = 0, num_step_certain_accepted_ = 0;
  EngineStats stats_;
  DraftPolicy policy_;
  const std::unique_ptr<PastOutputs> past_outputs_;  // null: none are kept
  Proposer proposer_;                                // refers to the parts above
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_SPECULATION_LOOP_H_
