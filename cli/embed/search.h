#ifndef SHORTLIST_CLI_EMBED_SEARCH_H_
#define SHORTLIST_CLI_EMBED_SEARCH_H_

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "cli/embed/bulk_encoder.h"
#include "cli/embed/text_rows.h"

namespace CLI {
class App;
}

namespace shortlist {

/// By which of a model's vectors texts are compared to the query.
enum class SearchScoring { kDense, kSparse, kColbert };

struct SearchFlags {
  EncodingFlags encoding;
  TextInputFlags in;
  std::string query;
  SearchScoring scoring = SearchScoring::kDense;
  int64_t top = 10;
  std::string index_path;       // .npy, where the texts' vectors are kept; empty: nowhere
  std::string rerank_model;     // empty: none
  int64_t num_candidates = 50;  // that it scores; at least `top`
  bool json = false;
};

/// Adds the flags of `search` to `command`; parsing fills `flags`, which must outlive it.
void AddSearchFlags(CLI::App& command, SearchFlags& flags);

/// Ranks texts by how similar their vectors are to that of the query, all of them compared (sparse
/// ones by their dot product, multi-vectors by MaxSim); or by a reranker's scores, of the best ones
/// by vectors. The model's prompts "query" and "document" go before them. Errors are those of
/// ReadTextRows, EmbedToFile, ReadVectors, ScorePairs and, before a text is embedded,
/// CheckReranker; an empty query, an index that is not .npy or not of dense vectors, or a model
/// without the vectors that are to be compared is InvalidArgument.
absl::Status Search(const SearchFlags& flags, std::istream& in, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_SEARCH_H_
