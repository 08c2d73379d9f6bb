#ifndef SHORTLIST_TESTS_DRAFT_FAKE_MODEL_H_
#define SHORTLIST_TESTS_DRAFT_FAKE_MODEL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/executor.h"

namespace shortlist {

/// A causal model without layers, to test what surrounds a model. Its logits are pseudo-random
/// functions of the context: of the last two tokens, so that text repeats, and of all tokens. The
/// context is read back through the KV slots, so a slot with a wrong token changes the output.
class FakeModel final : public CausalModel {
 public:
  /// Models with the same `seed` have the same logits, up to `noise` times those of another one.
  FakeModel(uint64_t seed, int64_t vocab_size, int64_t context_len, float noise = 0.0f);

  const ModelConfig& config() const override { return config_; }
  HeadWeight head_weight() const override;
  int64_t slot_bytes() const override { return sizeof(int32_t); }
  absl::StatusOr<std::unique_ptr<Executor>> NewExecutor(int64_t num_slots) override;

  /// The logits after `context`: [vocab_size].
  void Logits(std::span<const int32_t> context, float* logits) const;

 private:
  const uint64_t seed_;
  const float noise_;
  ModelConfig config_;
  std::vector<float> identity_;  // the head: hidden states are logits
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_DRAFT_FAKE_MODEL_H_
