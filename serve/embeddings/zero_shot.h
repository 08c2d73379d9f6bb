#ifndef SHORTLIST_SERVE_EMBEDDINGS_ZERO_SHOT_H_
#define SHORTLIST_SERVE_EMBEDDINGS_ZERO_SHOT_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/http/json_fields.h"
#include "serve/served_encoder.h"

namespace shortlist {

/// Indices of the labels of a natural language inference model that mean entailment and
/// contradiction.
struct EntailmentLabels {
  size_t entails = 0;
  size_t contradicts = 0;
};

/// Finds the labels as transformers' pipeline does. Entailment: the first label that begins with
/// "entail", in upper or lower case. Contradiction: label 0, whatever its name, or the last label
/// if label 0 is entailment. InvalidArgument, naming the labels, if none is entailment or there is
/// only one.
absl::StatusOr<EntailmentLabels> FindEntailment(std::span<const std::string> labels);

/// Returns the probability of each candidate, given the model's logits for the pairs (text,
/// hypothesis of the candidate). With `multi_label`, or a single candidate: softmax over entailment
/// and contradiction, for each candidate alone. Otherwise: softmax over the entailment logits of
/// all candidates.
std::vector<float> ZeroShotScores(std::span<const std::vector<float>> logits,
                                  const EntailmentLabels& labels, bool multi_label);

/// A "hypothesis_template": the text before and after the label.
struct HypothesisTemplate {
  std::string before;
  std::string after;
};

/// Parses `form` as Python's str.format(label) does: "{}" or "{0}" is the place of the label, "{{"
/// and "}}" are braces. InvalidArgument for other braces, and unless there is exactly one place.
absl::StatusOr<HypothesisTemplate> ParseHypothesisTemplate(std::string_view form);

/// What a zero-shot request asks for each of its texts.
struct ZeroShotAsked {
  std::vector<std::string> candidates;
  EntailmentLabels labels;
  bool multi_label = false;
};

/// Reads a body with Hugging Face's zero-shot fields: "candidate_labels" (a list, or a text
/// separated by commas), "input" (a text or texts), "hypothesis_template" (default "This example is
/// {}.") and "multi_label" (default false). Adds a pair to `batch` for each text and candidate. The
/// caller requests their logits.
ZeroShotAsked ReadZeroShot(JsonFields& fields, const ServedEncoder& encoder, EncodeBatch& batch);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_EMBEDDINGS_ZERO_SHOT_H_
