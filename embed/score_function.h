#ifndef SHORTLIST_EMBED_SCORE_FUNCTION_H_
#define SHORTLIST_EMBED_SCORE_FUNCTION_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace shortlist {

/// What becomes of a classifier's logits: nothing; a probability for each of them; or
/// probabilities that add up to 1.
enum class ScoreFunction { kRaw, kSigmoid, kSoftmax };

/// "raw", "sigmoid" or "softmax"; nullopt for another name.
std::optional<ScoreFunction> FindScoreFunction(std::string_view name);
const char* ScoreFunctionName(ScoreFunction function);

/// InvalidArgument for a softmax over one label, which is 1 for every input.
absl::Status CheckScoreFunction(ScoreFunction function, int64_t num_labels);

/// Replaces one sequence's logits, all finite, by its scores, which are finite too.
void ApplyScoreFunction(ScoreFunction function, std::span<float> logits);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_SCORE_FUNCTION_H_
