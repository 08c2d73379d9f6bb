#include "tests/draft/fake_model.h"

#include <algorithm>

#include "base/check.h"

namespace shortlist {
namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {  // SplitMix64's finisher
  hash += 0x9e3779b97f4a7c15ull + value;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
  return hash ^ (hash >> 31);
}

float Uniform(uint64_t hash) { return static_cast<float>(hash >> 40) * 0x1p-24f; }

class FakeExecutor final : public Executor {
 public:
  FakeExecutor(const FakeModel& model, int64_t num_slots) : model_(model), tokens_(num_slots, -1) {}

  int64_t num_slots() const override { return static_cast<int64_t>(tokens_.size()); }

  /// The states at all boundaries are the logits.
  absl::StatusOr<Matrix> Forward(const ForwardBatch& batch, StateTaps* taps) override {
    const int64_t num_tokens = batch.num_tokens();
    for (int64_t t = 0; t < num_tokens; ++t) tokens_[batch.out_slots()[t]] = batch.token_ids()[t];
    const AttentionLayout layout = batch.layout();
    Matrix hidden(num_tokens, model_.config().hidden);
    std::vector<int32_t> context;
    for (int64_t t = 0; t < num_tokens; ++t) {
      context.clear();
      const int32_t* const slots = layout.kv_slots + layout.kv_indptr[layout.seq_of_token[t]];
      for (int32_t i = 0; i < layout.context_len[t]; ++i) context.push_back(tokens_[slots[i]]);
      SHORTLIST_CHECK(context.back() == batch.token_ids()[t]);
      model_.Logits(context, hidden.floats() + t * hidden.cols());
    }
    if (taps != nullptr) {
      const int64_t num_taps = std::ssize(taps->boundaries);
      taps->states = Matrix(num_tokens, num_taps * hidden.cols());
      for (int64_t i = 0; i < num_tokens * num_taps; ++i) {
        std::copy_n(hidden.floats() + i / num_taps * hidden.cols(), hidden.cols(),
                    taps->states.floats() + i * hidden.cols());
      }
    }
    return hidden;
  }

 private:
  const FakeModel& model_;
  std::vector<int32_t> tokens_;  // [num_slots] latest token; -1: none
};

}  // namespace

FakeModel::FakeModel(uint64_t seed, int64_t vocab_size, int64_t context_len, float noise)
    : seed_(seed), noise_(noise), identity_(vocab_size * vocab_size) {
  config_.vocab_size = config_.hidden = vocab_size;
  config_.context_len = context_len;
  for (int64_t i = 0; i < vocab_size; ++i) identity_[i * vocab_size + i] = 1.0f;
}

HeadWeight FakeModel::head_weight() const {
  return {identity_.data(), DType::kF32, config_.vocab_size, config_.hidden};
}

absl::StatusOr<std::unique_ptr<Executor>> FakeModel::NewExecutor(int64_t num_slots) {
  return std::make_unique<FakeExecutor>(*this, num_slots);
}

void FakeModel::Logits(std::span<const int32_t> context, float* logits) const {
  uint64_t all = seed_;
  for (const int32_t token : context) all = Mix(all, token);
  uint64_t last = seed_ + 1;
  for (const int32_t token : context.last(std::min<size_t>(context.size(), 2))) {
    last = Mix(last, token);
  }
  constexpr uint64_t kNoise = 1ull << 32;
  for (int64_t id = 0; id < config_.vocab_size; ++id) {
    logits[id] = 8.0f * Uniform(Mix(last, id)) + 3.0f * Uniform(Mix(all, id)) +
                 noise_ * Uniform(Mix(all, id + kNoise));
  }
}

}  // namespace shortlist
