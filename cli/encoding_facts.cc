#include "cli/encoding_facts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "embed/masked_lm_head.h"
#include "embed/modules_file.h"
#include "embed/sentence_transformers.h"
#include "embed/yes_no_format.h"
#include "model/checkpoint/config.h"
#include "nlohmann/json.hpp"
#include "text/chat/chat_template.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

/// Dimensions of a dense vector if a request names none.
int64_t Dimensions(const EmbeddingConfig& embedding) {
  if (embedding.truncate_dim > 0) return embedding.truncate_dim;
  return embedding.dense.empty() ? embedding.hidden : embedding.dense.back().shape.out_features;
}

/// Kinds of output, as named in requests.
std::vector<std::string> Kinds(const EncodingFacts& facts) {
  if (facts.classifier) return {"scores"};
  if (facts.clip) return {"dense"};
  if (!facts.embedding) return {};
  std::vector<std::string> kinds;
  if (facts.embedding->makes_dense) kinds.emplace_back("dense");
  if (facts.embedding->sparse != SparseKind::kNone) kinds.emplace_back("sparse");
  if (facts.embedding->makes_multi_vector) kinds.emplace_back("colbert");
  return kinds;
}

/// Prompts that are not empty.
std::vector<std::pair<std::string, std::string>> Prompts(const EmbeddingConfig& embedding) {
  std::vector<std::pair<std::string, std::string>> prompts;
  for (const auto& [name, text] : embedding.prompts) {
    if (!text.empty()) prompts.emplace_back(name, text);
  }
  return prompts;
}

std::string Quoted(const std::string& text) {
  return ordered_json(text).dump(-1, ' ', /*ensure_ascii=*/false,
                                 ordered_json::error_handler_t::replace);
}

std::string DescribeScores(const std::vector<std::string>& all, ScoreFunction function) {
  constexpr size_t kMostLabels = 8;
  std::vector<std::string> labels;
  for (const std::string& label : all) {
    labels.push_back(labels.size() < kMostLabels ? Quoted(label) : "...");
    if (labels.size() > kMostLabels) break;
  }
  return absl::StrCat("scores of ", Counted(std::ssize(all), "label"), ": ",
                      absl::StrJoin(labels, ", "), "; ", ScoreFunctionName(function));
}

std::string DescribeVectors(const EmbeddingConfig& embedding) {
  std::vector<std::string> kinds;
  if (embedding.makes_dense) {
    kinds.push_back(absl::StrCat("vectors of ", Counted(Dimensions(embedding), "dimension"), " (",
                                 PoolingName(embedding.pooling), " of the hidden states",
                                 embedding.dense.empty() ? "" : ", dense layers",
                                 embedding.normalize ? ", length 1)" : ")"));
  }
  if (embedding.sparse != SparseKind::kNone) kinds.emplace_back("sparse vectors");
  if (embedding.makes_multi_vector) kinds.emplace_back("multi-vectors");
  return absl::StrJoin(kinds, ", ");
}

std::string DescribeTower(const ClipTowerConfig& tower) {
  return absl::StrCat(Counted(tower.num_layers, "layer"), ", hidden ", tower.hidden, ", FFN ",
                      tower.intermediate, ", ", Counted(tower.num_heads, "head"), " of ",
                      tower.head_dim);
}

}  // namespace

bool IsEncoderSource(const ModelSource& source) {
  const absl::StatusOr<nlohmann::json> file = TransformerOf(source).ReadJson("config.json");
  return file.ok() && (IsEncoderConfig(*file) || IsClipConfig(*file));
}

absl::Status ReadEncodingFacts(const ModelSource& source, EncodingFacts& facts) {
  facts.transformer = TransformerOf(source);
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json file, facts.transformer.ReadJson("config.json"));
  if (IsClipConfig(file)) {
    if (facts.transformer != source) {
      return absl::UnimplementedError(
          absl::StrCat("a CLIPModel in a folder of its own is not read; name that one: ",
                       facts.transformer.path()));
    }
    SHORTLIST_ASSIGN_OR_RETURN(facts.clip, ReadClipConfig(facts.transformer));
    facts.max_input_tokens = facts.clip->context_len;
    return absl::OkStatus();
  }
  SHORTLIST_ASSIGN_OR_RETURN(facts.encoder, ReadEncoderConfig(facts.transformer));
  facts.max_input_tokens = facts.encoder->context_len;
  std::optional<int64_t> max_seq_len;
  if (IsSequenceClassifier(source)) {
    SHORTLIST_ASSIGN_OR_RETURN(facts.classifier, ReadClassifierConfig(source));
    SHORTLIST_ASSIGN_OR_RETURN(const PairConfig pair, ReadPairConfig(source));
    max_seq_len = pair.max_seq_len;
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(facts.embedding, ReadEmbeddingConfig(source));
    max_seq_len = facts.embedding->max_seq_len;
  }
  if (max_seq_len) facts.max_input_tokens = std::min(facts.max_input_tokens, *max_seq_len);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<ScoreFacts>> ReadScoreFacts(const std::string& name,
                                                         const ModelSource& source) {
  ScoreFacts facts;
  if (IsSequenceClassifier(source)) {
    SHORTLIST_ASSIGN_OR_RETURN(const ClassifierConfig classifier, ReadClassifierConfig(source));
    SHORTLIST_ASSIGN_OR_RETURN(const PairConfig pair, ReadPairConfig(source));
    facts.labels = classifier.labels;
    facts.function = classifier.score_function;
    facts.reads_messages =
        pair.messages && (!pair.messages->pairs_alone || ChatTemplate::Load(source).ok());
    return facts;
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<YesNoFormat> yes_no,
                             DetectYesNoFormat(source, name));
  if (!yes_no) return std::nullopt;
  SHORTLIST_ASSIGN_OR_RETURN(facts.function, ReadYesNoFunction(source));
  facts.labels = {"yes"};
  facts.answers = true;
  return facts;
}

void ReadWeights(const WeightFiles& weights, EncodingFacts& facts) {
  for (const auto& [name, location] : weights.tensors()) {
    facts.num_parameters += location.entry->num_elements;
    facts.num_bytes += location.entry->num_bytes;
  }
  if (!facts.embedding || facts.embedding->sparse != SparseKind::kSplade) return;
  const std::string name = MaskedLmHead::TensorName(*facts.encoder);
  if (!weights.tensors().contains(name)) facts.embedding->sparse = SparseKind::kNone;
}

void AppendLines(const EncodingFacts& facts,
                 std::vector<std::pair<std::string, std::string>>& lines) {
  if (facts.clip) {
    const ClipConfig& c = *facts.clip;
    lines.emplace_back("architecture", absl::StrCat("CLIPModel: texts ", DescribeTower(c.text),
                                                    "; pictures ", DescribeTower(c.vision)));
    lines.emplace_back("vocabulary", absl::StrCat(c.vocab_size, " tokens"));
    lines.emplace_back("gives", absl::StrCat("vectors of ", Counted(c.projection, "dimension"),
                                             ", of texts and of pictures (", c.picture_size, " x ",
                                             c.picture_size, " pixels), length 1"));
  } else if (facts.encoder) {
    const EncoderConfig& c = *facts.encoder;
    lines.emplace_back(
        "architecture",
        absl::StrCat(c.architecture, ": ", Counted(c.num_layers, "layer"), ", hidden ", c.hidden,
                     ", FFN ", c.intermediate, ", ", Counted(c.num_heads, "head"), " of ",
                     c.head_dim, ", context ", c.context_len));
    lines.emplace_back("vocabulary", absl::StrCat(c.vocab_size, " tokens"));
  }
  if (facts.classifier)
    lines.emplace_back("gives",
                       DescribeScores(facts.classifier->labels, facts.classifier->score_function));
  if (facts.embedding) {
    const std::string vectors = DescribeVectors(*facts.embedding);
    lines.emplace_back("gives", vectors.empty() ? "nothing: sparse vectors need a head that is not "
                                                  "in the checkpoint, or not known here"
                                                : vectors);
  }
  if (facts.max_input_tokens > 0) {
    lines.emplace_back("input", absl::StrCat("at most ", Counted(facts.max_input_tokens, "token")));
  }
  if (facts.embedding) {
    for (const auto& [name, text] : Prompts(*facts.embedding)) {
      const bool is_default = facts.embedding->default_prompt_name == name;
      lines.emplace_back("prompt",
                         absl::StrCat(name, is_default ? " (default): " : ": ", Quoted(text)));
    }
  }
  if (facts.num_bytes == 0) return;
  lines.emplace_back("parameters", absl::StrCat(facts.num_parameters));
  lines.emplace_back("weights", absl::StrCat(FormatBytes(facts.num_bytes), " in the files"));
}

void AppendLines(const ScoreFacts& facts, std::vector<std::pair<std::string, std::string>>& lines) {
  lines.emplace_back("gives", facts.answers
                                  ? absl::StrCat("scores of pairs by the answer yes or no; ",
                                                 ScoreFunctionName(facts.function))
                                  : DescribeScores(facts.labels, facts.function));
  if (facts.reads_messages) {
    lines.emplace_back("pairs", "messages of the roles query and document, by the chat template");
  }
}

void SetMembers(const ScoreFacts& facts, ordered_json& json) {
  json["makes"] = {"scores"};
  json["labels"] = facts.labels;
  json["score_function"] = ScoreFunctionName(facts.function);
}

void SetMembers(const EncodingFacts& facts, ordered_json& json) {
  if (facts.clip) {
    const ClipConfig& c = *facts.clip;
    json["architecture"] = "CLIPModel";
    json["vocab_size"] = c.vocab_size;
    json["context_len"] = c.context_len;
    json["dimensions"] = c.projection;
    json["picture_size"] = c.picture_size;
  } else if (facts.encoder) {
    const EncoderConfig& c = *facts.encoder;
    json["architecture"] = c.architecture;
    json["num_layers"] = c.num_layers;
    json["hidden"] = c.hidden;
    json["intermediate"] = c.intermediate;
    json["num_heads"] = c.num_heads;
    json["head_dim"] = c.head_dim;
    json["context_len"] = c.context_len;
    json["vocab_size"] = c.vocab_size;
  }
  json["makes"] = Kinds(facts);
  json["max_input_tokens"] = facts.max_input_tokens;
  if (facts.classifier) {
    json["labels"] = facts.classifier->labels;
    json["score_function"] = ScoreFunctionName(facts.classifier->score_function);
  }
  if (facts.embedding) {
    const EmbeddingConfig& embedding = *facts.embedding;
    if (embedding.makes_dense) {
      json["dimensions"] = Dimensions(embedding);
      json["pooling"] = PoolingName(embedding.pooling);
      json["normalize"] = embedding.normalize;
    }
    json["prompts"] = embedding.prompts;
    json["default_prompt_name"] = embedding.default_prompt_name
                                      ? ordered_json(*embedding.default_prompt_name)
                                      : ordered_json();
  }
  json["parameters"] = facts.num_parameters;
  json["weight_bytes"] = facts.num_bytes;
}

std::string FormatBytes(int64_t bytes) {
  const double value = static_cast<double>(bytes);
  return value < 1e9 ? absl::StrFormat("%.1f MB", value / 1e6)
                     : absl::StrFormat("%.2f GB", value / 1e9);
}

}  // namespace shortlist
