#ifndef SHORTLIST_DRAFT_MODEL_DRAFTER_H_
#define SHORTLIST_DRAFT_MODEL_DRAFTER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "draft/chain_drafter.h"
#include "model/executor.h"
#include "model/forward_batch.h"

namespace shortlist {

/// Drafts with a second, smaller causal model that has its own KV cache and its own head, pruned by
/// the active vocabulary.
class ModelDrafter final : public ChainDrafter {
 public:
  /// `model` must outlive this object and share the target's token ids (the caller compares
  /// tokenizer fingerprints). num_slots, emit_size: same as the engine's. Returns
  /// FailedPrecondition with both sizes if the model has fewer than emit_size embedding rows, and
  /// Unimplemented for a model with recurrent layers. device: the model's head where it is scored;
  /// null: the CPU.
  static absl::StatusOr<std::unique_ptr<ModelDrafter>> Create(
      CausalModel& model, int64_t num_slots, int64_t emit_size, ThreadPool& pool,
      std::shared_ptr<const HeadOnDevice> device = nullptr);

  int64_t context_len() const override { return config_.context_len; }
  int64_t num_slots() const override { return executor_->num_slots(); }
  bool needs_features() const override { return false; }
  std::unique_ptr<DrafterState> NewState(int64_t cached_len) const override;
  int64_t CachedLen(const Sequence& sequence) const override;
  bool kv_sees_next_token() const override { return false; }
  int64_t WrittenLen(std::span<const int32_t> kv_slots) const override;
  void Overwritten(std::span<const int32_t> kv_slots) override;
  absl::Status Accept(const StepWork&, const Matrix&) override { return absl::OkStatus(); }
  absl::StatusOr<int64_t> CatchUp(std::span<const StepWork> work) override;
  absl::Status RunMadeUp(int64_t num_chains, int64_t len) override;

 private:
  ModelDrafter(const ModelConfig& config, std::unique_ptr<Executor> executor, PrunedHead head)
      : ChainDrafter(std::move(head)),
        config_(config),
        executor_(std::move(executor)),
        slots_(executor_->num_slots(), kOther) {}

  absl::StatusOr<Matrix> Begin(std::span<DraftTask* const> tasks) override;
  absl::StatusOr<Matrix> Next(std::span<DraftTask* const> tasks, const Matrix& hidden) override;
  int64_t NumPasses(int64_t) const override { return 1; }
  absl::StatusOr<Matrix> Forward();
  void BeginMissing();
  absl::StatusOr<Matrix> ForwardMissing();
  void Advance(Sequence& sequence, std::span<const int32_t> kv_slots);
  bool AddMissing(Sequence& sequence, std::span<const int32_t> kv_slots, int64_t end,
                  std::span<const TokenId> drafted = {});

  // Content of a slot of the cache: a token other than the target's as far as known, the target's
  // token, or, from kFirstBatch on, the number of the batch that last wrote it. The latter matters
  // while that batch is in preparation, and then counts as kOther.
  static constexpr uint32_t kOther = 0, kSame = 1, kFirstBatch = 2;

  const ModelConfig& config_;
  const std::unique_ptr<Executor> executor_;
  std::vector<uint32_t> slots_;  // [num_slots]
  uint32_t batch_number_ = kFirstBatch;
  ForwardBatch batch_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_MODEL_DRAFTER_H_
