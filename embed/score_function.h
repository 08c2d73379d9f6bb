#ifndef SHORTLIST_EMBED_SCORE_FUNCTION_H_
#define SHORTLIST_EMBED_SCORE_FUNCTION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace shortlist {

/// How a classifier's logits become scores: unchanged; an independent probability for each; or
/// probabilities with sum 1.
enum class ScoreFunction { kRaw, kSigmoid, kSoftmax };

/// Accepts "raw", "sigmoid" and "softmax"; returns nullopt for another name.
std::optional<ScoreFunction> FindScoreFunction(std::string_view name);
const char* ScoreFunctionName(ScoreFunction function);

/// Returns InvalidArgument for a softmax over one label, which is 1 for every input.
absl::Status CheckScoreFunction(ScoreFunction function, int64_t num_labels);

/// Replaces one sequence's logits, all finite, by its scores, which are also finite.
void ApplyScoreFunction(ScoreFunction function, std::span<float> logits);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_SCORE_FUNCTION_H_
