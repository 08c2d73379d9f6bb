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

/// Whether config.json of `source` names an architecture that this reads. False where there is
/// none.
bool IsSequenceClassifier(const ModelSource& source);

/// Reads config.json: architecture, hidden_size (dim), id2label (two labels where it is
/// absent, as in transformers).
///
/// The score function is the first that is there of
///   1. activation_fn of config_sentence_transformers.json, if that file counts
///      (ReadCrossEncoderFile);
///   2. sentence_transformers.activation_fn of config.json;
///   3. sbert_ce_default_activation_function of config.json, as older versions call it;
///   4. of one label: sigmoid, of decoders and with any problem_type too;
///   5. of several: problem_type (regression: raw; multi_label_classification: sigmoid);
///   6. softmax.
/// 1 to 4 are those of sentence-transformers' CrossEncoder, which gives several labels as they are;
/// 5 and 6 are those of transformers' text classification.
///
/// NotFound for a missing config.json; InvalidArgument names file, field, value and bound, and a
/// softmax over one label; Unimplemented an architecture, function or further module that is not
/// supported.
absl::StatusOr<ClassifierConfig> ReadClassifierConfig(const ModelSource& source);

/// The score function of a model that answers yes or no: 1 to 4 of the above, of one label. Errors
/// as above.
absl::StatusOr<ScoreFunction> ReadYesNoFunction(const ModelSource& source);

/// Of a directory that is neither a sequence classifier nor a model that answers yes or no
/// (embed/yes_no_format.h): Unimplemented, and why, where sentence-transformers saved a
/// CrossEncoder there. OK for any other.
absl::Status RefuseOtherCrossEncoder(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_CLASSIFIER_CONFIG_H_
