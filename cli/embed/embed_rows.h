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

/// Texts that become vectors, and how.
struct EmbedTask {
  const TextRows& texts;
  std::string instruction;   // before each text
  int64_t dimensions = 0;    // the first ones of a vector; 0: all
  bool sparse = false;       // sparse vectors in place of dense ones
  int64_t sparse_top_n = 0;  // their largest weights; 0: all
};

/// `encoder`'s model, which makes dense vectors, or sparse ones where those are wanted, or
/// InvalidArgument: it is a classifier, or what it lacks.
absl::StatusOr<const EmbeddingConfig*> EmbeddingOf(BulkEncoder& encoder, bool sparse = false);

/// A row as .jsonl has it: VectorJson's or SparseJson's.
std::string RowJson(const EmbedTask& task, int64_t row, const EncodeResult& result);

/// What vectors depend on: the model's directory, what is in its files, tokenizer and weights'
/// types, how inputs are cut, the task's settings and a hash of the texts. `encoder` was opened
/// with Keeps::kVectors.
nlohmann::ordered_json SettingsOf(BulkEncoder& encoder, const EmbedTask& task);

/// The vectors of texts from row `begin` on, to `sink`. Errors as BulkEncoder::Run.
absl::Status EmbedRows(BulkEncoder& encoder, const EmbedTask& task, int64_t begin,
                       const BulkEncoder::Sink& sink);

/// All of them into a VectorFile (sparse ones: .jsonl), or those that an earlier run has left to
/// do. Where that run has made some, the first is computed again and must have the same bits, which
/// tells whether it was this model. How many rows were there, or that all are, goes to stderr.
/// Errors as IsWritten and VectorFile.
absl::Status EmbedToFile(BulkEncoder& encoder, const EmbedTask& task, const std::string& path);

/// Vectors that EmbedToFile has written as .npy: [num_texts, width]. Errors as CheckSettings and
/// ReadNpy, and InvalidArgument where the first row is not what this model makes of its text.
absl::StatusOr<std::vector<float>> ReadVectors(BulkEncoder& encoder, const EmbedTask& task,
                                               const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_EMBED_ROWS_H_
