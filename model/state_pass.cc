#include "model/state_pass.h"

#include <algorithm>

#include "base/check.h"

namespace shortlist {

StatePass::StatePass(const ModelConfig& config, const ForwardBatch& batch, PrefixStates* prefixes)
    : prefixes_(prefixes) {
  for (const ForwardBatch::Chain& chain : batch.chains()) {
    const int64_t begin = batch.positions()[chain.first_token];
    SequenceState* state = chain.state.state;
    if (state == nullptr) {
      SHORTLIST_CHECK(begin == 0);
      state = own_.emplace_back(std::make_unique<SequenceState>(config)).get();
    }
    const int64_t num_replayed = begin - state->len();
    SHORTLIST_CHECK(num_replayed >= 0 && num_replayed <= state->num_pending());
    StateStep step = {.state = state,
                      .first_row = chain.first_token,
                      .num_new = chain.num_tokens,
                      .num_replayed = num_replayed};
    step.num_final =
        std::clamp<int64_t>(chain.state.final_len - state->len(), 0, step.num_tokens());
    const bool is_prompt = chain.num_tokens > 1 && step.num_final == step.num_tokens();
    if (is_prompt && prefixes != nullptr && prefixes->max_states() > 0 &&
        chain.state.state != nullptr) {
      KeepPrefixes(config, batch, chain, step);
    }
    steps_.push_back(std::move(step));
  }
}

void StatePass::Finish() {
  for (const StateStep& step : steps_) {
    step.state->SetLen(step.state->len() + step.num_final, step.num_tokens() - step.num_final);
  }
  for (auto& [slot, state] : kept_) prefixes_->Add(slot, std::move(state));
}

/// Lets `step` leave states at multiples of PrefixStates::kInterval and, if it ends a prompt,
/// before its last token, which another sequence with this prompt computes itself.
void StatePass::KeepPrefixes(const ModelConfig& config, const ForwardBatch& batch,
                             const ForwardBatch::Chain& chain, StateStep& step) {
  const int64_t begin = batch.positions()[chain.first_token];
  const int64_t end = begin + chain.num_tokens;
  constexpr int64_t kInterval = PrefixStates::kInterval;
  // Only the last ones would stay.
  const int64_t first =
      std::max(begin / kInterval, end / kInterval - prefixes_->max_states()) * kInterval;
  std::vector<int64_t> lens;
  for (int64_t len = first + kInterval; len <= end; len += kInterval) lens.push_back(len);
  const auto place = std::lower_bound(lens.begin(), lens.end(), end - 1);
  if (chain.state.ends_prompt && (place == lens.end() || *place != end - 1)) {
    lens.insert(place, end - 1);
  }
  for (const int64_t at : lens) {
    auto copy = std::make_unique<SequenceState>(config);
    copy->SetLen(at, /*num_pending=*/0);
    step.kept.push_back({at - step.state->len(), copy.get()});
    kept_.emplace_back(batch.out_slots()[chain.first_token + at - begin - 1], std::move(copy));
  }
}

}  // namespace shortlist
