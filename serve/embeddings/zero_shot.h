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

/// Which of a natural language inference model's labels say that a text entails a hypothesis, and
/// that it contradicts it.
struct EntailmentLabels {
  size_t entails = 0;
  size_t contradicts = 0;
};

/// As transformers' pipeline has it: the first label that begins with "entail", upper case or
/// lower, and for contradiction label 0, whatever its name, or the last where label 0 entails.
/// InvalidArgument names the labels where none entails, or there is no other.
absl::StatusOr<EntailmentLabels> FindEntailment(std::span<const std::string> labels);

/// How likely each candidate is, of the model's logits for (text, hypothesis of the candidate): of
/// `multi_label`, or of one candidate, each for itself, against contradiction; else all among
/// themselves, by entailment.
std::vector<float> ZeroShotScores(std::span<const std::vector<float>> logits,
                                  const EntailmentLabels& labels, bool multi_label);

/// A "hypothesis_template": what stands before and behind the label.
struct HypothesisTemplate {
  std::string before;
  std::string after;
};

/// Reads `form` as Python's str.format(label) does: "{}" or "{0}" is the label's place, "{{" and
/// "}}" are braces. InvalidArgument for another brace, and where there is not one place.
absl::StatusOr<HypothesisTemplate> ParseHypothesisTemplate(std::string_view form);

/// What a zero-shot request asks of each of its texts.
struct ZeroShotAsked {
  std::vector<std::string> candidates;
  EntailmentLabels labels;
  bool multi_label = false;
};

/// Of a body with "candidate_labels" (a list, or a text that commas divide): "input" (a text or
/// texts), "hypothesis_template" ("This example is {}.") and "multi_label" (false), as Hugging
/// Face's zero-shot classification calls them. `batch` gets a pair for each text and candidate,
/// whose logits are wanted.
ZeroShotAsked ReadZeroShot(JsonFields& fields, const ServedEncoder& encoder, EncodeBatch& batch);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_EMBEDDINGS_ZERO_SHOT_H_
