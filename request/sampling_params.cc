#include "request/sampling_params.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "request/sampling_table.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxLogprobs = 20;

absl::Status CheckField(const SamplingField& field, const SamplingParams& params) {
  if (field.count != nullptr) {
    const int64_t count = params.*field.count;
    if (count >= 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(field.name, " ", count, " is negative (0 keeps all)"));
  }
  const double value = params.*field.number;
  const auto& [low, high, above_low] = field.range;
  if ((above_low ? value > low : value >= low) && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field.name, " ", value, " not in ",
                                                 above_low ? "(" : "[", low, ", ", high, "]"));
}

absl::Status CheckId(const char* name, TokenId id, int64_t vocab_size) {
  if (Raw(id) >= 0 && Raw(id) < vocab_size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": token id ", Raw(id), " not in [0, ", vocab_size, ")"));
}

}  // namespace

absl::Status SamplingParams::Validate(int64_t vocab_size) const {
  for (const SamplingField& field : kSamplingFields) {
    SHORTLIST_RETURN_IF_ERROR(CheckField(field, *this));
  }
  if (max_new_tokens < 1) {
    return absl::InvalidArgumentError(absl::StrCat("max_new_tokens ", max_new_tokens, " below 1"));
  }
  if (min_new_tokens < 0 || min_new_tokens > max_new_tokens) {
    return absl::InvalidArgumentError(absl::StrCat(
        "min_new_tokens ", min_new_tokens, " not in [0, ", max_new_tokens, "] (max_new_tokens)"));
  }
  if (num_logprobs < -1 || num_logprobs > kMaxLogprobs) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_logprobs ", num_logprobs, " not in [0, ", kMaxLogprobs, "] (-1: none)"));
  }
  if (prompt_logprobs_start < -1 || (prompt_logprobs_start >= 0 && num_logprobs < 0)) {
    return absl::InvalidArgumentError(absl::StrCat("prompt_logprobs_start ", prompt_logprobs_start,
                                                   " with num_logprobs ", num_logprobs));
  }
  for (const auto& [id, bias] : logit_bias) {
    SHORTLIST_RETURN_IF_ERROR(CheckId("logit_bias", id, vocab_size));
    if (!std::isfinite(bias)) {
      return absl::InvalidArgumentError(
          absl::StrCat("logit_bias of token id ", Raw(id), ": ", bias, " is not finite"));
    }
  }
  if (bans != nullptr) SHORTLIST_RETURN_IF_ERROR(bans->Validate(vocab_size));
  for (TokenId id : stop_token_ids) {
    SHORTLIST_RETURN_IF_ERROR(CheckId("stop_token_ids", id, vocab_size));
  }
  return absl::OkStatus();
}

bool SamplingParams::ChangesLogits() const {
  return repetition_penalty != 1.0 || presence_penalty != 0.0 || frequency_penalty != 0.0 ||
         !logit_bias.empty();
}

bool SamplingParams::UsesRawLogits(int64_t num_output) const {
  return !ChangesLogits() && bans == nullptr && grammar == nullptr && num_output >= min_new_tokens;
}

}  // namespace shortlist
