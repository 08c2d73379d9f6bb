#ifndef SHORTLIST_DRAFT_EAGLE_DRAFTER_H_
#define SHORTLIST_DRAFT_EAGLE_DRAFTER_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "draft/chain_drafter.h"
#include "model/eagle_network.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"

namespace shortlist {

/// Drafts with an EAGLE network, EAGLE-1's or EAGLE-3's, on the target's states, with the network's
/// head pruned by the active vocabulary. Keys and values computed from predicted features are
/// rewritten once the target's states are known. The draft's cache therefore never depends on
/// rejected tokens.
class EagleDrafter final : public ChainDrafter {
 public:
  /// `network` must outlive this object. num_slots, emit_size: same as the engine's. device: the
  /// network's head where it is scored; null: the CPU. InvalidArgument for a head on a device that
  /// lacks rows of some tokens, or all of whose tokens are at or above emit_size.
  static absl::StatusOr<std::unique_ptr<EagleDrafter>> Create(
      EagleNetwork& network, int64_t num_slots, int64_t emit_size, ThreadPool& pool,
      std::shared_ptr<const HeadOnDevice> device = nullptr);

  int64_t context_len() const override { return network_.config().context_len; }
  int64_t num_slots() const override { return cache_.num_slots(); }
  bool needs_features() const override { return true; }
  std::span<const int64_t> taps() const override { return network_.taps(); }
  std::unique_ptr<DrafterState> NewState(int64_t cached_len) const override;
  int64_t CachedLen(const Sequence& sequence) const override;
  bool kv_sees_next_token() const override { return true; }
  int64_t WrittenLen(std::span<const int32_t>) const override { return 0; }
  void Overwritten(std::span<const int32_t>) override {}
  absl::Status Accept(const StepWork& work, const Matrix& features) override;
  absl::StatusOr<int64_t> CatchUp(std::span<const StepWork> work) override;
  absl::Status RunMadeUp(int64_t num_chains, int64_t len) override;

 private:
  EagleDrafter(EagleNetwork& network, KvCache cache, PrunedHead head)
      : ChainDrafter(std::move(head)), network_(network), cache_(std::move(cache)) {}

  absl::StatusOr<Matrix> Begin(std::span<DraftTask* const> tasks) override;
  absl::StatusOr<Matrix> Next(std::span<DraftTask* const> tasks, const Matrix& hidden) override;
  int64_t NumPasses(int64_t num_tokens) const override { return num_tokens; }
  absl::StatusOr<Matrix> FeedChains(std::span<DraftTask* const> tasks, Matrix scored);
  absl::StatusOr<EagleNetwork::Prediction> Forward(const Matrix& features);
  absl::StatusOr<EagleNetwork::Prediction> ForwardPending(std::span<const Sequence* const> of);

  EagleNetwork& network_;
  KvCache cache_;
  ForwardBatch batch_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_EAGLE_DRAFTER_H_
