#ifndef SHORTLIST_EMBED_CLASSIFIER_CONFIG_H_
#define SHORTLIST_EMBED_CLASSIFIER_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "embed/activation.h"
#include "embed/hidden_states.h"
#include "embed/score_function.h"

namespace shortlist {

/// What the head of a sequence classifier needs to know of a model directory, every value checked
/// against its bounds.
struct ClassifierConfig {
  // XForSequenceClassification; kRoberta: XLM-R too; kDecoder: of Llama, Mistral, Qwen2 and so on.
  enum class Architecture { kBert, kDistilBert, kRoberta, kModernBert, kDecoder };
  Architecture architecture = Architecture::kBert;
  int64_t hidden = 0;
  std::vector<std::string> labels;  // [num_labels], at least 1
  ScoreFunction score_function = ScoreFunction::kSigmoid;

  // kDecoder alone: such tokens at an input's end are not read, -1: none is. transformers pools the
  // last other token.
  int32_t pad_token_id = -1;
  Pooling pooling = Pooling::kCls;  // kDecoder: kLast; kModernBert: as config.json says

  // As kModernBert's config.json says; of the other encoders they are what these say, but for
  // kDistilBert's activation, kRelu.
  HeadActivation activation = HeadActivation::kTanh;
  bool dense_has_bias = true;
  bool norm_has_bias = true;
  double norm_eps = 1e-5;
};

/// Whether config.json of `dir` names an architecture that this reads. False where there is none.
bool IsSequenceClassifier(const std::string& dir);

/// Reads `dir`'s config.json: architecture, hidden_size (dim), id2label (two labels where it is
/// absent, as in transformers). The score function is the first that is there of
/// config_sentence_transformers.json's activation_fn, config.json's
/// sentence_transformers.activation_fn and sbert_ce_default_activation_function, problem_type
/// (regression: raw; multi_label_classification: sigmoid); else softmax for several labels, and for
/// one sigmoid, as cross-encoders have it, or raw of a decoder, as reward models have it. NotFound
/// for a missing config.json; InvalidArgument names file, field, value and bound; Unimplemented an
/// architecture or function that is not supported.
absl::StatusOr<ClassifierConfig> ReadClassifierConfig(const std::string& dir);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_CLASSIFIER_CONFIG_H_
