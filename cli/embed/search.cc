#include "cli/embed/search.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/embed/embed_rows.h"
#include "cli/embed/picture_rows.h"
#include "cli/embed/ranking.h"
#include "cli/embed/rerank.h"
#include "cli/embed/top_rows.h"
#include "cli/flags/flag_kinds.h"
#include "embed/sparse_pooler.h"
#include "io/quote.h"

namespace shortlist {
namespace {

absl::StatusOr<std::vector<float>> Embed(BulkEncoder& encoder, const EmbedTask& task) {
  std::vector<float> vectors;
  SHORTLIST_RETURN_IF_ERROR(
      EmbedRows(encoder, task, 0, [&vectors](int64_t, const EncodeResult& result) {
        vectors.insert(vectors.end(), result.values.begin(), result.values.end());
        return absl::OkStatus();
      }));
  return vectors;
}

absl::StatusOr<std::vector<float>> VectorsOfTexts(const SearchFlags& flags, BulkEncoder& encoder,
                                                  const EmbedTask& task) {
  if (flags.index_path.empty()) return Embed(encoder, task);
  if (!FileExists(flags.index_path)) {
    SHORTLIST_RETURN_IF_ERROR(EmbedToFile(encoder, task, flags.index_path));
  }
  return ReadVectors(encoder, task, flags.index_path);
}

void NoteCut(const BulkEncoder& encoder, const std::string& model) {
  if (encoder.num_cut() == 0) return;
  std::cerr << "note: " << Counted(encoder.num_cut(), "text was", "texts were") << " cut to what "
            << model << " takes\n";
}

/// Returns the dot product of each row's sparse vector with that of the query.
absl::StatusOr<std::vector<float>> SparseScores(BulkEncoder& encoder, const EmbeddingConfig& config,
                                                const TextRows& queries, const TextRows& texts) {
  std::vector<SparseWeight> query;
  std::vector<float> scores;
  SHORTLIST_RETURN_IF_ERROR(EmbedRows(
      encoder, {.texts = queries, .instruction = config.prompts.at("query"), .sparse = true}, 0,
      [&query](int64_t, const EncodeResult& result) {
        query = result.sparse;
        return absl::OkStatus();
      }));
  SHORTLIST_RETURN_IF_ERROR(EmbedRows(
      encoder, {.texts = texts, .instruction = config.prompts.at("document"), .sparse = true}, 0,
      [&](int64_t, const EncodeResult& result) {
        scores.push_back(SparseDot(query, result.sparse));
        return absl::OkStatus();
      }));
  return scores;
}

/// Returns MaxSim of each row's multi-vector for that of the query.
absl::StatusOr<std::vector<float>> ColbertScores(BulkEncoder& encoder,
                                                 const EmbeddingConfig& config,
                                                 const TextRows& queries, const TextRows& texts) {
  const auto run = [&](const TextRows& rows, const char* prompt, const EncodeWish& wish,
                       const BulkEncoder::Sink& sink) {
    const std::string& instruction = config.prompts.at(prompt);
    return encoder.Run(
        rows, 0, wish, [&](const std::string& text) { return encoder.Prepare(instruction, text); },
        sink);
  };
  EncodeWish wish{.dense = false, .multi_vector = true};
  SHORTLIST_RETURN_IF_ERROR(
      run(queries, "query", wish, [&wish](int64_t, const EncodeResult& result) {
        wish.query = std::make_shared<const std::vector<float>>(result.multi_vector);
        return absl::OkStatus();
      }));
  wish.multi_vector = false;
  std::vector<float> scores;
  SHORTLIST_RETURN_IF_ERROR(
      run(texts, "document", wish, [&scores](int64_t, const EncodeResult& result) {
        scores.push_back(result.values[0]);
        return absl::OkStatus();
      }));
  return scores;
}

/// Returns the best rows by their vectors.
absl::StatusOr<std::vector<ScoredRow>> Retrieve(const SearchFlags& flags, const TextRows& texts,
                                                int64_t count) {
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::unique_ptr<BulkEncoder> encoder,
      BulkEncoder::Open(
          flags.encoding, flags.encoding.model.model,
          flags.index_path.empty() ? BulkEncoder::Keeps::kNothing : BulkEncoder::Keeps::kVectors));
  const TextRows queries{.origin = "QUERY", .rows = {{flags.query, 1}}};
  if (flags.scoring != SearchScoring::kDense) {
    const EncodingModel& model = encoder->model();
    const bool is_sparse = flags.scoring == SearchScoring::kSparse;
    if (!is_sparse && model.outputs().multi_vector_size() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--scoring: ", model.source().path(),
                       ": makes no multi-vectors: there is no colbert_linear.pt"));
    }
    SHORTLIST_ASSIGN_OR_RETURN(const EmbeddingConfig* const config,
                               EmbeddingOf(*encoder, /*sparse=*/is_sparse));
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<float> scores,
                               is_sparse ? SparseScores(*encoder, *config, queries, texts)
                                         : ColbertScores(*encoder, *config, queries, texts));
    NoteCut(*encoder, flags.encoding.model.model);
    return TopScores(scores, count);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const EmbeddingConfig* const config, EmbeddingOf(*encoder));
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::vector<float> query,
      Embed(*encoder, {.texts = queries, .instruction = config->prompts.at("query")}));
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::vector<float> rows,
      VectorsOfTexts(flags, *encoder,
                     {.texts = texts, .instruction = config->prompts.at("document")}));
  NoteCut(*encoder, flags.encoding.model.model);
  return TopScores(Similarities(rows, query, config->similarity, encoder->pool()), count);
}

/// Returns `found` in the reranker's order, with its scores.
absl::StatusOr<std::vector<ScoredRow>> RerankFound(const SearchFlags& flags, const TextRows& texts,
                                                   const std::vector<ScoredRow>& found) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<BulkEncoder> encoder,
                             BulkEncoder::Open(flags.encoding, flags.rerank_model));
  TextRows candidates{.origin = texts.origin, .rows = {}};
  for (const ScoredRow& row : found) candidates.rows.push_back(texts.rows[row.row]);
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<float> scores,
                             ScorePairs(*encoder, flags.query, /*instruction=*/"", candidates,
                                        EncodeWish::Scores::kModels));
  NoteCut(*encoder, flags.rerank_model);
  std::vector<ScoredRow> ranking = TopScores(scores, flags.top);
  for (ScoredRow& row : ranking) row.row = found[row.row].row;
  return ranking;
}

}  // namespace

void AddSearchFlags(CLI::App& command, SearchFlags& flags) {
  command.add_option("--query,QUERY", flags.query, "What is looked for")
      ->type_name("TEXT")
      ->required();
  AddEncodingFlags(command, flags.encoding);
  AddTextInputFlags(command, flags.in);
  AddChoice<SearchScoring>(command, "--scoring", flags.scoring,
                           {{"dense", SearchScoring::kDense},
                            {"sparse", SearchScoring::kSparse},
                            {"colbert", SearchScoring::kColbert}},
                           "By which vectors texts are compared: one for each text, weights of "
                           "tokens, or one for each token");
  AddInteger<int64_t>(command, "--top", flags.top, 1, kMaxCount, "How many are shown");
  command
      .add_option("--index", flags.index_path,
                  "Keep the texts' vectors in this file (as `shortlist embed --prompt-name "
                  "document --out` does), and read them from there the next time")
      ->type_name("FILE.npy");
  CLI::Option* const reranker = command.add_option(
      "--rerank-model", flags.rerank_model, "A cross-encoder that ranks the best ones again");
  reranker->type_name("DIR");
  AddInteger<int64_t>(command, "--candidates", flags.num_candidates, 1, kMaxCount,
                      "How many it ranks, no fewer than --top")
      ->needs(reranker);
  command.add_flag("--json", flags.json, "JSON instead of a table");
}

absl::Status Search(const SearchFlags& flags, std::istream& in, std::ostream& out) {
  if (flags.query.empty()) return absl::InvalidArgumentError("QUERY: the text is empty");
  if (!flags.index_path.empty() && !flags.index_path.ends_with(".npy")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--index: ", Quote(flags.index_path), " does not end in .npy"));
  }
  if (!flags.index_path.empty() && flags.scoring != SearchScoring::kDense) {
    return absl::InvalidArgumentError(
        "--index: keeps dense vectors alone, which --scoring dense reads");
  }
  const bool reranks = !flags.rerank_model.empty();
  SHORTLIST_ASSIGN_OR_RETURN(const TextRows texts, ReadRows(flags.in, BlankLines::kSkipped, in));
  if (reranks && texts.are_pictures) {
    return absl::InvalidArgumentError("--rerank-model: rerankers read texts, and --in is a folder");
  }
  if (reranks) SHORTLIST_RETURN_IF_ERROR(CheckReranker(flags.rerank_model));
  SHORTLIST_ASSIGN_OR_RETURN(
      std::vector<ScoredRow> ranking,
      Retrieve(flags, texts, reranks ? std::max(flags.top, flags.num_candidates) : flags.top));
  if (reranks) {
    SHORTLIST_ASSIGN_OR_RETURN(ranking, RerankFound(flags, texts, ranking));
  }
  WriteRanking(texts, ranking, flags.json ? RankingFormat::kJson : RankingFormat::kTable, out);
  return absl::OkStatus();
}

}  // namespace shortlist
