#include "model/causal_encoder.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/status_macros.h"
#include "tensor/catch_torch.h"

namespace shortlist {

absl::Status CausalEncoder::Reserve(int64_t num_slots) {
  if (cache_ && cache_->num_slots() >= num_slots) return absl::OkStatus();
  cache_.reset();
  SHORTLIST_ASSIGN_OR_RETURN(cache_, KvCache::Create(decoder_.config(), num_slots, decoder_.dtype()));
  slots_.resize(num_slots);
  std::iota(slots_.begin(), slots_.end(), 0);
  return absl::OkStatus();
}

absl::StatusOr<at::Tensor> CausalEncoder::Forward(const EncoderBatch& batch) {
  EncoderConfig bounds;
  bounds.vocab_size = decoder_.config().vocab_size;
  bounds.context_len = decoder_.config().context_len;
  SHORTLIST_RETURN_IF_ERROR(
      CheckEncoderBatch(bounds, {.token_ids = batch.token_ids, .seq_begin = batch.seq_begin}));
  const int64_t hidden = decoder_.config().hidden;
  at::Tensor out;
  SHORTLIST_RETURN_IF_ERROR(CatchTorch("hidden states", [&] {
    out = at::empty({std::ssize(batch.token_ids), hidden}, at::TensorOptions().dtype(at::kFloat));
    return absl::OkStatus();
  }));
  const std::span<const int32_t> begin = batch.seq_begin;
  for (size_t first = 0, last = 0; first + 1 < begin.size(); first = last) {
    // At least one sequence, and those behind it that fit.
    for (last = first + 1; last + 1 < begin.size(); ++last) {
      if (begin[last + 1] - begin[first] > kPassTokens) break;
    }
    SHORTLIST_RETURN_IF_ERROR(Reserve(std::max<int64_t>(begin[last] - begin[first], kPassTokens)));
    pass_.Clear();
    for (size_t s = first; s < last; ++s) {
      std::vector<TokenId> tokens;
      for (int32_t t = begin[s]; t < begin[s + 1]; ++t)
        tokens.push_back(TokenId{batch.token_ids[t]});
      pass_.AddChain(tokens, /*first_position=*/0,
                     std::span(slots_).subspan(begin[s] - begin[first], tokens.size()));
    }
    SHORTLIST_ASSIGN_OR_RETURN(const at::Tensor states, decoder_.Forward(pass_, *cache_));
    std::memcpy(out.data_ptr<float>() + begin[first] * hidden, states.data_ptr<float>(),
                states.nbytes());
  }
  return out;
}

}  // namespace shortlist
