#include "model/encoder_batch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

/// `what`: such as "token id".
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

void EncoderPass::Assign(std::span<const int32_t> seq_begin) {
  max_seq_len_ = 0;
  seq_begin_.clear();
  positions_.clear();
  for (size_t s = 0; s < seq_begin.size(); ++s) {
    seq_begin_.push_back(seq_begin[s] - seq_begin[0]);
    if (s == 0) continue;
    const int32_t length = seq_begin[s] - seq_begin[s - 1];
    max_seq_len_ = std::max<int64_t>(max_seq_len_, length);
    for (int32_t i = 0; i < length; ++i) positions_.push_back(i);
  }
}

}  // namespace shortlist
