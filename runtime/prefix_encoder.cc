#include "runtime/prefix_encoder.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "tensor/catch_torch.h"

namespace shortlist {

PrefixEncoder::PrefixEncoder(Decoder& decoder, const Options& options)
    : decoder_(decoder), options_(options) {
  SHORTLIST_CHECK(options.kept_tokens >= 0 && options.pass_tokens >= 1);
}

absl::Status PrefixEncoder::Check(std::span<const Text> texts) const {
  const ModelConfig& config = decoder_.config();
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty() || std::ssize(texts[i]) > config.context_len) {
      return absl::InvalidArgumentError(absl::StrCat("text ", i, " has ", texts[i].size(),
                                                     " tokens, not in [1, ", config.context_len,
                                                     "]"));
    }
    for (const TokenId id : texts[i]) {
      if (Raw(id) >= 0 && Raw(id) < config.vocab_size) continue;
      return absl::InvalidArgumentError(absl::StrCat("token id ", Raw(id), " of text ", i,
                                                     " not in [0, ", config.vocab_size, ")"));
    }
  }
  return absl::OkStatus();
}

/// At least `num_slots`, and nothing cached where there were less.
absl::Status PrefixEncoder::Reserve(int64_t num_slots) {
  if (pool_ != nullptr && pool_->capacity() >= num_slots) return absl::OkStatus();
  prefixes_.reset();
  pool_.reset();
  kv_.reset();
  SHORTLIST_ASSIGN_OR_RETURN(kv_, KvCache::Create(decoder_.config(), num_slots, decoder_.dtype()));
  pool_ = std::make_unique<KvPool>(num_slots);
  const uint64_t hash_seed = std::random_device()();
  prefixes_ = std::make_unique<RadixCache>(*pool_, RadixCache::Options{.hash_seed = hash_seed});
  root_ = prefixes_->OpenNamespace("");
  return absl::OkStatus();
}

/// Finds slots for a text, whose tokens are then in the tree, to be computed before anybody's
/// behind them. False where there is no room.
bool PrefixEncoder::Place(size_t index, Text text) {
  const int64_t len = std::ssize(text);
  Placed placed{.index = index, .slots = std::vector<int32_t>(text.size())};
  // The last token is computed in any case: it is its state that is asked for.
  const RadixCache::Match match = prefixes_->MatchPrefix(root_, text.first(len - 1));
  const int32_t shared = prefixes_->Lock(match);
  prefixes_->CopySlots(shared, 0, std::span(placed.slots).first(match.len));
  const std::span<int32_t> own = std::span(placed.slots).subspan(match.len);
  if (pool_->num_free() < std::ssize(own)) prefixes_->Evict(std::ssize(own) - pool_->num_free());
  if (!pool_->Allocate(own)) {
    prefixes_->Unlock(shared);
    return false;
  }
  const RadixCache::Inserted inserted = prefixes_->Insert(root_, text, placed.slots, /*rows=*/{});
  prefixes_->Lock(inserted.node);
  prefixes_->Unlock(shared);
  placed.node = inserted.node;
  placed.first_own = match.len;
  placed.end_own = std::max(inserted.existing_len, match.len);
  stats_.num_tokens += len;
  stats_.num_computed += std::ssize(own);
  placed_.push_back(std::move(placed));
  return true;
}

/// Computes what is in the pass, and keeps the states behind last tokens.
absl::Status PrefixEncoder::RunPass(float* states) {
  if (pass_.num_tokens() == 0) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const at::Tensor hidden, decoder_.Forward(pass_, *kv_));
  const int64_t width = decoder_.config().hidden;
  for (const auto& [row, index] : ends_) {
    std::copy_n(hidden.data_ptr<float>() + row * width, width,
                states + static_cast<int64_t>(index) * width);
  }
  pass_.Clear();
  ends_.clear();
  return absl::OkStatus();
}

/// Computes all that are placed, in that order.
absl::Status PrefixEncoder::Compute(std::span<const Text> texts, float* states) {
  pass_.Clear();
  ends_.clear();
  for (const Placed& placed : placed_) {
    const Text text = texts[placed.index];
    for (int64_t begin = placed.first_own; begin < std::ssize(text);) {
      const int64_t room = options_.pass_tokens - pass_.num_tokens();
      const int64_t end = std::min(std::ssize(text), begin + room);
      pass_.ShareSlots();
      pass_.AddChain(text.subspan(begin, end - begin), begin, std::span(placed.slots).first(end));
      if (end == std::ssize(text)) ends_.emplace_back(pass_.num_tokens() - 1, placed.index);
      begin = end;
      if (pass_.num_tokens() == options_.pass_tokens) SHORTLIST_RETURN_IF_ERROR(RunPass(states));
    }
  }
  return RunPass(states);
}

/// All that were placed are computed.
void PrefixEncoder::Release() {
  for (const Placed& placed : placed_) {
    prefixes_->Unlock(placed.node);
    pool_->Free(std::span(placed.slots)
                    .subspan(placed.first_own, placed.end_own - placed.first_own));
  }
  placed_.clear();
  prefixes_->Evict(std::max<int64_t>(prefixes_->len() - options_.kept_tokens, 0));
}

absl::StatusOr<at::Tensor> PrefixEncoder::LastStates(std::span<const Text> texts) {
  SHORTLIST_RETURN_IF_ERROR(Check(texts));
  const int64_t hidden = decoder_.config().hidden;
  at::Tensor states;
  absl::Status status = CatchTorch("hidden states", [&]() -> absl::Status {
    states = at::empty({std::ssize(texts), hidden}, at::TensorOptions().dtype(at::kFloat));
    for (size_t next = 0; next < texts.size();) {
      SHORTLIST_RETURN_IF_ERROR(
          Reserve(options_.kept_tokens +
                  std::max<int64_t>(std::ssize(texts[next]), 2 * options_.pass_tokens)));
      while (next < texts.size() && Place(next, texts[next])) ++next;
      SHORTLIST_CHECK(!placed_.empty());
      SHORTLIST_RETURN_IF_ERROR(Compute(texts, states.data_ptr<float>()));
      Release();
    }
    return absl::OkStatus();
  });
  if (status.ok()) return states;
  // The tree knows prefixes that nobody computed.
  placed_.clear();
  pass_.Clear();
  prefixes_.reset();
  pool_.reset();
  kv_.reset();
  return status;
}

}  // namespace shortlist
