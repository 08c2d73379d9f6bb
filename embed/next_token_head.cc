#include "embed/next_token_head.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "embed/hidden_states.h"
#include "kernels/sampling.h"
#include "vocab/active_vocab.h"

namespace shortlist {
namespace {

constexpr int64_t kRowsAtOnce = 16;  // logits over the whole vocabulary

absl::StatusOr<std::vector<float>> Probabilities(std::span<const float> logits,
                                                 const NextTokenHead::Question& question) {
  std::vector<float> asked;
  for (const TokenId token : question.tokens) {
    if (Raw(token) < 0 || Raw(token) >= std::ssize(logits)) {
      return absl::InvalidArgumentError(
          absl::StrCat("token id ", Raw(token), " not in [0, ", logits.size(), ")"));
    }
    asked.push_back(logits[Raw(token)]);
  }
  const std::span<const float> rivals = question.among_themselves ? asked : logits;
  const double sum = LogSumExpCpu(rivals.data(), std::ssize(rivals));
  for (float& value : asked) value = static_cast<float>(std::exp(value - sum));
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (std::all_of(asked.begin(), asked.end(), is_finite)) return asked;
  return absl::InternalError("a logit of the tokens asked for is not finite");
}

}  // namespace

absl::StatusOr<std::vector<absl::StatusOr<std::vector<float>>>> NextTokenHead::Answer(
    const Matrix& last_hidden, std::span<const Question> questions) {
  const auto num_seqs = static_cast<int64_t>(questions.size());
  SHORTLIST_CHECK(last_hidden.rows() == num_seqs);
  const auto all_rows = ActiveVocab::FullHead(head_.vocab_size());
  std::vector<absl::StatusOr<std::vector<float>>> answers;
  TokenLogits logits;
  for (int64_t first = 0; first < num_seqs; first += kRowsAtOnce) {
    const int64_t count = std::min(kRowsAtOnce, num_seqs - first);
    SHORTLIST_ASSIGN_OR_RETURN(
        logits, head_.Logits({last_hidden.floats() + first * head_.hidden(), count}, {*all_rows},
                             std::move(logits)));
    for (int64_t m = 0; m < count; ++m) {
      const float* const state = last_hidden.floats() + (first + m) * head_.hidden();
      // Quantised rows give finite logits even for such a state.
      if (FindNotFinite({state, static_cast<size_t>(head_.hidden())})) {
        answers.emplace_back(
            absl::InternalError("the hidden state of the last token is not finite"));
      } else {
        answers.push_back(Probabilities(logits.of_token(m), questions[first + m]));
      }
    }
  }
  return answers;
}

}  // namespace shortlist
