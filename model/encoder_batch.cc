#include "model/encoder_batch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

/// `what`: "token id".
absl::Status CheckBelow(std::span<const int32_t> ids, int64_t bound, const char* what) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < bound) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", ids[i], " of token ", i, " not in [0, ", bound, ")"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckEncoderBatch(const EncoderConfig& config, const EncoderBatch& batch) {
  const std::span<const int32_t> begin = batch.seq_begin;
  SHORTLIST_CHECK(!begin.empty() && begin.front() == 0);
  SHORTLIST_CHECK(static_cast<size_t>(begin.back()) == batch.token_ids.size());
  SHORTLIST_CHECK(batch.token_type_ids.empty() ||
                  batch.token_type_ids.size() == batch.token_ids.size());
  for (size_t s = 0; s + 1 < begin.size(); ++s) {
    const int64_t length = int64_t{begin[s + 1]} - begin[s];
    if (length >= 1 && length <= config.context_len) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "sequence ", s, " has ", length, " tokens, not in [1, ", config.context_len, "]"));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckBelow(batch.token_ids, config.vocab_size, "token id"));
  return CheckBelow(batch.token_type_ids, std::max<int64_t>(config.num_token_types, 1),
                    "token type id");
}

void EncoderPass::Assign(std::span<const int32_t> seq_begin, int64_t local_radius) {
  for (std::vector<int32_t>* array :
       {&positions_, &slots_, &seq_of_token_, &kv_indptr_, &seq_len_, &near_begin_, &near_end_}) {
    array->clear();
  }
  max_seq_len_ = 0;
  kv_indptr_.push_back(0);
  for (size_t s = 0; s + 1 < seq_begin.size(); ++s) {
    const int64_t length = seq_begin[s + 1] - seq_begin[s];
    max_seq_len_ = std::max(max_seq_len_, length);
    for (int64_t i = 0; i < length; ++i) {
      slots_.push_back(static_cast<int32_t>(slots_.size()));
      positions_.push_back(static_cast<int32_t>(i));
      seq_of_token_.push_back(static_cast<int32_t>(s));
      seq_len_.push_back(static_cast<int32_t>(length));
      near_begin_.push_back(static_cast<int32_t>(std::max<int64_t>(i - local_radius, 0)));
      near_end_.push_back(static_cast<int32_t>(std::min(i + local_radius + 1, length)));
    }
    kv_indptr_.push_back(static_cast<int32_t>(slots_.size()));
  }
}

AttentionLayout EncoderPass::layout(bool is_local) const {
  return {.num_tokens = num_tokens(),
          .seq_of_token = seq_of_token_.data(),
          .kv_indptr = kv_indptr_.data(),
          .kv_slots = slots_.data(),
          .context_len = (is_local ? near_end_ : seq_len_).data(),
          .context_begin = is_local ? near_begin_.data() : nullptr};
}

}  // namespace shortlist
