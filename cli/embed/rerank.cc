#include "cli/embed/rerank.h"

#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "cli/embed/ranking.h"
#include "cli/embed/top_rows.h"
#include "cli/flags/flag_kinds.h"
#include "embed/classifier_config.h"
#include "embed/sentence_transformers.h"
#include "embed/yes_no_format.h"
#include "io/model_source.h"
#include "io/weight_files.h"
#include "model/checkpoint/other_models.h"

namespace shortlist {
namespace {

absl::Status MakesVectors(const std::string& dir) {
  return absl::InvalidArgumentError(
      absl::StrCat(dir,
                   ": makes vectors (shortlist embed); a reranker is a sequence classifier, or a "
                   "decoder that answers yes or no"));
}

absl::Status CheckOneLabel(const std::string& dir, int64_t num_labels) {
  if (num_labels == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(dir, ": has ", Counted(num_labels, "label"), ", a reranker has 1"));
}

}  // namespace

void AddRerankFlags(CLI::App& command, RerankFlags& flags) {
  AddEncodingFlags(command, flags.encoding);
  AddTextInputFlags(command, flags.in);
  command.add_option("--query", flags.query, "What the texts are judged by")
      ->type_name("TEXT")
      ->required();
  command
      .add_option("--instruction", flags.instruction,
                  "What makes a text an answer, for rerankers that answer yes or no")
      ->type_name("TEXT")
      ->default_str("the model's own");
  AddInteger<int64_t>(command, "--top", flags.top, 1, kMaxCount, "Show the best ones alone")
      ->default_str("all");
  AddChoice<EncodeWish::Scores>(command, "--scores", flags.scores,
                                {{"raw", EncodeWish::Scores::kRaw},
                                 {"sigmoid", EncodeWish::Scores::kSigmoid},
                                 {"softmax", EncodeWish::Scores::kSoftmax}},
                                "What becomes of the model's logits")
      ->default_str("as the model says");
  command.add_flag("--json", flags.json, "JSON instead of a table");
}

absl::Status CheckReranker(const std::string& model) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModelSource source, ModelSource::Open(model));
  SHORTLIST_RETURN_IF_ERROR(RefuseAdapter(source));
  if (IsSequenceClassifier(source)) {
    SHORTLIST_ASSIGN_OR_RETURN(const ClassifierConfig config, ReadClassifierConfig(source));
    SHORTLIST_RETURN_IF_ERROR(CheckOneLabel(source.path(), std::ssize(config.labels)));
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const std::optional<YesNoFormat> yes_no,
                               DetectYesNoFormat(source, model));
    if (!yes_no) {
      SHORTLIST_RETURN_IF_ERROR(ReadEmbeddingConfig(source).status());
      return MakesVectors(source.path());
    }
  }
  return source.OpenWeights().status();
}

absl::StatusOr<std::vector<float>> ScorePairs(BulkEncoder& encoder, const std::string& query,
                                              const std::string& instruction, const TextRows& texts,
                                              EncodeWish::Scores scores) {
  const EncodingModel& model = encoder.model();
  if (!model.makes_scores()) return MakesVectors(model.source().path());
  SHORTLIST_RETURN_IF_ERROR(CheckOneLabel(model.source().path(), model.result_size()));
  if (!instruction.empty() && !model.instructs_pairs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--instruction: ", model.source().path(), " reads pairs without one"));
  }
  std::vector<float> result;
  SHORTLIST_RETURN_IF_ERROR(encoder.Run(
      texts, 0, {.scores = scores},
      [&](const std::string& text) { return encoder.Prepare(instruction, query, text); },
      [&result](int64_t, const EncodeResult& of_row) {
        result.push_back(of_row.values[0]);
        return absl::OkStatus();
      }));
  return result;
}

absl::Status Rerank(const RerankFlags& flags, std::istream& in, std::ostream& out) {
  if (flags.query.empty()) return absl::InvalidArgumentError("--query: the text is empty");
  SHORTLIST_ASSIGN_OR_RETURN(const TextRows texts,
                             ReadTextRows(flags.in, BlankLines::kSkipped, in));
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<BulkEncoder> encoder,
                             BulkEncoder::Open(flags.encoding, flags.encoding.model.model));
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::vector<float> scores,
      ScorePairs(*encoder, flags.query, flags.instruction, texts, flags.scores));
  const int64_t top = flags.top > 0 ? flags.top : std::ssize(scores);
  WriteRanking(texts, TopScores(scores, top),
               flags.json ? RankingFormat::kJson : RankingFormat::kTable, out);
  if (encoder->num_cut() > 0) {
    std::cerr << "note: " << Counted(encoder->num_cut(), "pair was", "pairs were") << " cut to "
              << Counted(encoder->model().max_input_tokens(), "token") << "\n";
  }
  return absl::OkStatus();
}

}  // namespace shortlist
