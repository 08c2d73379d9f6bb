#ifndef SHORTLIST_CLI_EMBED_RERANK_H_
#define SHORTLIST_CLI_EMBED_RERANK_H_

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/embed/bulk_encoder.h"
#include "cli/embed/text_rows.h"
#include "request/encoding.h"

namespace CLI {
class App;
}

namespace shortlist {

struct RerankFlags {
  EncodingFlags encoding;
  TextInputFlags in;
  std::string query;
  std::string instruction;  // for a reranker that reads one; empty: its default
  int64_t top = 0;          // 0: all
  EncodeWish::Scores scores = EncodeWish::Scores::kModels;
  bool json = false;
};

/// Adds the flags of `rerank` to `command`; parsing fills `flags`, which must outlive it.
void AddRerankFlags(CLI::App& command, RerankFlags& flags);

/// Ranks texts by a reranker's scores of (query, text). Errors are those of BulkEncoder::Open,
/// ReadTextRows and ScorePairs. An empty query is InvalidArgument.
absl::Status Rerank(const RerankFlags& flags, std::istream& in, std::ostream& out);

/// Check before long work. InvalidArgument for a model (see ModelOptions::model) that makes vectors
/// or has several labels according to its configuration files. Other errors are those of
/// ResolveModelDir and WeightFiles::Open. Loads no weights.
absl::Status CheckReranker(const std::string& model);

/// Returns the scores of (query, text): [num_texts]. InvalidArgument for a model that makes
/// vectors, has several labels, or reads no instruction although one is given. Other errors as
/// BulkEncoder::Run.
absl::StatusOr<std::vector<float>> ScorePairs(BulkEncoder& encoder, const std::string& query,
                                              const std::string& instruction, const TextRows& texts,
                                              EncodeWish::Scores scores);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_RERANK_H_
