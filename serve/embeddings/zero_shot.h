#ifndef SHORTLIST_SERVE_EMBEDDINGS_ZERO_SHOT_H_
#define SHORTLIST_SERVE_EMBEDDINGS_ZERO_SHOT_H_

#include <cstddef>
#include <span>
#include <string>
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

/// The label that begins with "entail", upper case or lower, and that which begins with
/// "contradict"; without such a one the last, or where "entail" is not the first, the first, as
/// transformers' pipeline has it ("not_entailment"). InvalidArgument names the labels where none
/// entails, or there is no other.
absl::StatusOr<EntailmentLabels> FindEntailment(std::span<const std::string> labels);

/// How likely each candidate is, of the model's logits for (text, hypothesis of the candidate): of
/// `multi_label`, or of one candidate, each for itself, against contradiction; else all among
/// themselves, by entailment.
std::vector<float> ZeroShotScores(std::span<const std::vector<float>> logits,
                                  const EntailmentLabels& labels, bool multi_label);

/// What a zero-shot request asks of each of its texts.
struct ZeroShotAsked {
  std::vector<std::string> candidates;
  EntailmentLabels labels;
  bool multi_label = false;
};

/// Of a body with "candidate_labels": "input" (a text or texts), "hypothesis_template" ("This
/// example is {}.") and "multi_label" (false), as Hugging Face's zero-shot classification calls
/// them. `batch` gets a pair for each text and candidate, whose logits are wanted.
ZeroShotAsked ReadZeroShot(JsonFields& fields, const ServedEncoder& encoder, EncodeBatch& batch);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_EMBEDDINGS_ZERO_SHOT_H_
