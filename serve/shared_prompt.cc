#include "serve/shared_prompt.h"

namespace shortlist {

const absl::StatusOr<std::vector<TokenId>>& SharedPrompt::Encode(const PromptEncoder& encoder,
                                                                 int64_t max_tokens) {
  const std::lock_guard lock(mutex_);
  if (!ids_.has_value()) {
    ids_ = encoder.Encode(*prompt_, {.max_tokens = max_tokens});
    prompt_.reset();
  }
  return *ids_;
}

}  // namespace shortlist
