#include "request/sequence.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace shortlist {

Sequence::Sequence(std::vector<TokenId> prompt, Options options)
    : tokens_(std::move(prompt)),
      prompt_len_(static_cast<int64_t>(tokens_.size())),
      options_(std::move(options)),
      history_(tokens_) {
  const SamplingParams& sampling = options_.sampling;
  const auto add = [this](std::shared_ptr<const TokenConstraint> constraint) {
    const TokenConstraint::State begin = constraint->Begin();
    constraints_.push_back({std::move(constraint), begin});
  };
  if (sampling.bans != nullptr || sampling.min_new_tokens > 0) {
    add(std::make_shared<BanConstraint>(sampling.bans, sampling.stop_token_ids,
                                        sampling.min_new_tokens));
  }
  if (sampling.grammar != nullptr) add(sampling.grammar);
}

absl::StatusOr<std::unique_ptr<Sequence>> Sequence::Create(std::vector<TokenId> prompt,
                                                           Options options, int64_t vocab_size) {
  if (prompt.empty()) return absl::InvalidArgumentError("the prompt has no tokens");
  for (size_t i = 0; i < prompt.size(); ++i) {
    if (Raw(prompt[i]) < 0 || Raw(prompt[i]) >= vocab_size) {
      return absl::InvalidArgumentError(absl::StrCat("token id ", Raw(prompt[i]), " at position ",
                                                     i, " of the prompt not in [0, ", vocab_size,
                                                     ")"));
    }
  }
  if (options.max_tail_rows < 0 || options.max_tail_rows > vocab_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("dynamic rows ", options.max_tail_rows, " not in [0, ", vocab_size, "]"));
  }
  SHORTLIST_RETURN_IF_ERROR(options.sampling.Validate(vocab_size));
  if (options.sampling.prompt_logprobs_start >= std::ssize(prompt)) {
    return absl::InvalidArgumentError(
        absl::StrCat("prompt_logprobs_start ", options.sampling.prompt_logprobs_start,
                     " not below the prompt's ", prompt.size(), " tokens"));
  }
  return std::unique_ptr<Sequence>(new Sequence(std::move(prompt), std::move(options)));
}

bool Sequence::Emit(TokenId token, int64_t context_len) {
  SHORTLIST_CHECK(!finished());
  tokens_.push_back(token);
  history_.Add(token);
  bool is_complete = false;
  for (Constraint& constraint : constraints_) {
    constraint.state = constraint.of->Next(constraint.state, token);
    is_complete |= constraint.of->IsComplete(constraint.state);
  }
  const std::vector<TokenId>& stops = sampling().stop_token_ids;
  const bool stopped = std::find(stops.begin(), stops.end(), token) != stops.end();
  // The callback gets every token, including the last one.
  const bool stopped_by_callback = options_.stop && options_.stop(token);
  if (stopped || stopped_by_callback || is_complete) {
    finish_reason_ = FinishReason::kStop;
  } else if (num_output() >= sampling().max_new_tokens || num_tokens() >= context_len) {
    finish_reason_ = FinishReason::kLength;
  }
  return finished();
}

}  // namespace shortlist
