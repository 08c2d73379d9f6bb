#include "embed/score_function.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace shortlist {

std::optional<ScoreFunction> FindScoreFunction(std::string_view name) {
  for (const auto function :
       {ScoreFunction::kRaw, ScoreFunction::kSigmoid, ScoreFunction::kSoftmax}) {
    if (name == ScoreFunctionName(function)) return function;
  }
  return std::nullopt;
}

const char* ScoreFunctionName(ScoreFunction function) {
  switch (function) {
    case ScoreFunction::kRaw:
      return "raw";
    case ScoreFunction::kSigmoid:
      return "sigmoid";
    case ScoreFunction::kSoftmax:
      return "softmax";
  }
  SHORTLIST_CHECK(false);
}

absl::Status CheckScoreFunction(ScoreFunction function, int64_t num_labels) {
  if (function != ScoreFunction::kSoftmax || num_labels != 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "softmax over one label is 1 for every input: use sigmoid or raw");
}

void ApplyScoreFunction(ScoreFunction function, std::span<float> logits) {
  if (function == ScoreFunction::kRaw || logits.empty()) return;
  if (function == ScoreFunction::kSigmoid) {
    for (float& logit : logits) {
      logit = static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(logit))));
    }
    return;
  }
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  for (float& logit : logits) logit = static_cast<float>(std::exp(logit - largest) / sum);
}

}  // namespace shortlist
