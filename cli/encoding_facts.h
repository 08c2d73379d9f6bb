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

/// What `show` reports about an encoder or a CLIPModel, from its configuration files and the
/// headers of its weights.
struct EncodingFacts {
  ModelSource transformer;  // of config.json, weights and tokenizer
  // At most one of `encoder` and `clip` is set. Neither: the model is not supported.
  std::optional<EncoderConfig> encoder;
  std::optional<ClipConfig> clip;
  // At most one of `embedding` and `classifier` is set. Neither for a CLIPModel: see its
  // config.json.
  std::optional<EmbeddingConfig> embedding;
  std::optional<ClassifierConfig> classifier;
  int64_t max_input_tokens = 0;
  // Totals over all weight files, including tensors that the model does not read.
  int64_t num_parameters = 0;
  int64_t num_bytes = 0;
};

/// What `show` reports about a decoder that scores texts: a classifier or a yes/no reranker.
struct ScoreFacts {
  std::vector<std::string> labels;
  ScoreFunction function = ScoreFunction::kSigmoid;
  bool answers = false;         // a yes/no reranker
  bool reads_messages = false;  // pairs go through the chat template
};

/// Reads the facts of the decoder in `source`, which the user calls `name`. Returns nullopt if the
/// decoder scores nothing. Errors as DetectYesNoFormat, ReadYesNoFunction, ReadClassifierConfig and
/// ReadPairConfig.
absl::StatusOr<std::optional<ScoreFacts>> ReadScoreFacts(const std::string& name,
                                                         const ModelSource& source);

/// True if the config.json of the transformer in `source` is that of an encoder or a CLIPModel.
bool IsEncoderSource(const ModelSource& source);

/// Reads configuration files into `facts`, which keeps what could be read even on error. Errors as
/// ReadEncoderConfig, ReadClipConfig, ReadEmbeddingConfig, ReadClassifierConfig and ReadPairConfig;
/// Unimplemented for a CLIPModel in a folder of its own.
absl::Status ReadEncodingFacts(const ModelSource& source, EncodingFacts& facts);
/// Counts parameters and bytes. Removes SPLADE vectors from `facts` if the checkpoint lacks their
/// head.
void ReadWeights(const WeightFiles& weights, EncodingFacts& facts);

/// AppendLines() appends (name, value) pairs for people; SetMembers() sets members of `json`, an
/// object.
void AppendLines(const EncodingFacts& facts,
                 std::vector<std::pair<std::string, std::string>>& lines);
void AppendLines(const ScoreFacts& facts, std::vector<std::pair<std::string, std::string>>& lines);
void SetMembers(const EncodingFacts& facts, nlohmann::ordered_json& json);
void SetMembers(const ScoreFacts& facts, nlohmann::ordered_json& json);

/// "86.7 MB"
std::string FormatBytes(int64_t bytes);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_ENCODING_FACTS_H_
