#ifndef SHORTLIST_CLI_EMBED_EMBED_ROWS_H_
#define SHORTLIST_CLI_EMBED_EMBED_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/embed/bulk_encoder.h"
#include "cli/embed/text_rows.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// Texts to embed, and the settings for it.
struct EmbedTask {
  const TextRows& texts;
  std::string instruction;   // before each text
  int64_t dimensions = 0;    // leading dimensions to keep; 0: all
  bool sparse = false;       // sparse vectors in place of dense ones
  int64_t sparse_top_n = 0;  // number of largest weights to keep; 0: all
};

/// Returns the configuration of `encoder`'s model. InvalidArgument if the model is a classifier or
/// makes no vectors of the requested kind, dense or sparse.
absl::StatusOr<const EmbeddingConfig*> EmbeddingOf(BulkEncoder& encoder, bool sparse = false);

/// Formats a row as a line of .jsonl: VectorJson or SparseJson.
std::string RowJson(const EmbedTask& task, int64_t row, const EncodeResult& result);

/// Returns everything that the vectors depend on: model directory, hashes of its files, types of
/// tokenizer and weights, truncation, the task's settings and a hash of the texts. `encoder` must
/// be opened with Keeps::kVectors.
nlohmann::ordered_json SettingsOf(BulkEncoder& encoder, const EmbedTask& task);

/// Passes the vectors of texts from row `begin` on to `sink`. Errors as BulkEncoder::Run.
absl::Status EmbedRows(BulkEncoder& encoder, const EmbedTask& task, int64_t begin,
                       const BulkEncoder::Sink& sink);

/// Writes all vectors to a VectorFile (sparse ones: .jsonl), or those that an earlier run has left.
/// To check that the earlier run used the same model, recomputes its first row, which must have the
/// same bits. The number of rows found goes to stderr. Errors as IsWritten and VectorFile.
absl::Status EmbedToFile(BulkEncoder& encoder, const EmbedTask& task, const std::string& path);

/// Reads vectors that EmbedToFile wrote as .npy: [num_texts, width]. Errors as CheckSettings and
/// ReadNpy; InvalidArgument if the first row is not what this model computes for its text.
absl::StatusOr<std::vector<float>> ReadVectors(BulkEncoder& encoder, const EmbedTask& task,
                                               const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_EMBED_ROWS_H_
