#ifndef SHORTLIST_EMBED_CLASSIFIER_CONFIG_H_
#define SHORTLIST_EMBED_CLASSIFIER_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "embed/activation.h"
#include "embed/hidden_states.h"
#include "embed/score_function.h"
#include "io/model_source.h"

namespace shortlist {

/// Configuration of a sequence classifier's head, read from a model directory; every value is
/// checked against its bounds.
struct ClassifierConfig {
  // XForSequenceClassification; kRoberta: also XLM-R; kDecoder: Llama, Mistral, Qwen2 and so on.
  enum class Architecture { kBert, kDistilBert, kRoberta, kModernBert, kDecoder };
  Architecture architecture = Architecture::kBert;
  int64_t hidden = 0;
  std::vector<std::string> labels;  // [num_labels], at least 1
  ScoreFunction score_function = ScoreFunction::kSigmoid;

  // Only for kDecoder: such tokens at an input's end are removed; -1: none. transformers pools the
  // last other token.
  int32_t pad_token_id = -1;
  Pooling pooling = Pooling::kCls;  // kDecoder: kLast; kModernBert: from config.json

  // kModernBert: from config.json. Other encoders have these defaults, except that kDistilBert's
  // activation is kRelu.
  HeadActivation activation = HeadActivation::kTanh;
  bool dense_has_bias = true;
  bool norm_has_bias = true;
  double norm_eps = 1e-5;
};

/// True if config.json names a supported architecture; false if there is no such file.
bool IsSequenceClassifier(const ModelSource& source);

/// Reads config.json: architecture, hidden_size (dim), id2label (two labels if absent, as
/// in transformers).
///
/// The score function is the first of these that is present:
///   1. activation_fn of config_sentence_transformers.json, if that file is used
///      (ReadCrossEncoderFile);
///   2. sentence_transformers.activation_fn of config.json;
///   3. sbert_ce_default_activation_function of config.json (the name in older versions);
///   4. for one label: sigmoid, also for decoders and with any problem_type;
///   5. for several: problem_type (regression: raw; multi_label_classification: sigmoid);
///   6. softmax.
/// Rules 1 to 4 are those of sentence-transformers' CrossEncoder, which returns several labels
/// unchanged. Rules 5 and 6 are those of transformers' text classification.
///
/// Returns NotFound for a missing config.json; InvalidArgument with file, field, value and bound,
/// also for a softmax over one label; Unimplemented for an unsupported architecture, function or
/// further module.
absl::StatusOr<ClassifierConfig> ReadClassifierConfig(const ModelSource& source);

/// Reads the score function of a model that answers yes or no: rules 1 to 4 of
/// ReadClassifierConfig() for one label. Errors as for ReadClassifierConfig().
absl::StatusOr<ScoreFunction> ReadYesNoFunction(const ModelSource& source);

/// Returns Unimplemented with the reason if sentence-transformers saved an unsupported CrossEncoder
/// in `source`, OK otherwise. Precondition: `source` is neither a sequence classifier nor a model
/// that answers yes or no (embed/yes_no_format.h).
absl::Status RefuseOtherCrossEncoder(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_CLASSIFIER_CONFIG_H_
