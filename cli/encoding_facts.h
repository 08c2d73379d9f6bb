#ifndef SHORTLIST_CLI_ENCODING_FACTS_H_
#define SHORTLIST_CLI_ENCODING_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "embed/classifier_config.h"
#include "embed/embedding_config.h"
#include "io/model_source.h"
#include "io/weight_files.h"
#include "model/checkpoint/clip_config.h"
#include "model/checkpoint/encoder_config.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// What `show` tells of an encoder or a CLIPModel: what its files of configuration say, and the
/// headers of its weights.
struct EncodingFacts {
  ModelSource transformer;  // of config.json, weights and tokenizer
  // At most one of the two; neither: what there is is not supported.
  std::optional<EncoderConfig> encoder;
  std::optional<ClipConfig> clip;
  // Likewise, but for a CLIPModel, whose vectors its config.json tells.
  std::optional<EmbeddingConfig> embedding;
  std::optional<ClassifierConfig> classifier;
  int64_t max_input_tokens = 0;
  // Of the files, whatever of it the model reads.
  int64_t num_parameters = 0;
  int64_t num_bytes = 0;
};

/// What `show` tells of a decoder that scores texts: a classifier, or one that answers yes or no.
struct ScoreFacts {
  std::vector<std::string> labels;
  ScoreFunction function = ScoreFunction::kSigmoid;
  bool answers = false;         // yes or no
  bool reads_messages = false;  // a pair goes through the chat template
};

/// Those of the decoder in `source`, which the user calls `name`; nullopt where it scores nothing.
/// Errors as DetectYesNoFormat, ReadClassifierConfig and ReadPairConfig.
absl::StatusOr<std::optional<ScoreFacts>> ReadScoreFacts(const std::string& name,
                                                         const ModelSource& source);

/// True when the config.json of the transformer in `source` is an encoder's or a CLIPModel's.
bool IsEncoderSource(const ModelSource& source);

/// What could be read stands in `facts`, whatever the status. Errors as ReadEncoderConfig,
/// ReadClipConfig, ReadEmbeddingConfig, ReadClassifierConfig and ReadPairConfig.
absl::Status ReadEncodingFacts(const ModelSource& source, EncodingFacts& facts);
/// Sparse vectors need a head that not every checkpoint of its architecture holds.
void ReadWeights(const WeightFiles& weights, EncodingFacts& facts);

/// Appends pairs of a name and its value, for people; sets members of `json`, an object.
void AppendLines(const EncodingFacts& facts,
                 std::vector<std::pair<std::string, std::string>>& lines);
void AppendLines(const ScoreFacts& facts, std::vector<std::pair<std::string, std::string>>& lines);
void SetMembers(const EncodingFacts& facts, nlohmann::ordered_json& json);
void SetMembers(const ScoreFacts& facts, nlohmann::ordered_json& json);

/// "86.7 MB"
std::string FormatBytes(int64_t bytes);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_ENCODING_FACTS_H_
