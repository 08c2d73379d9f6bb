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

/// The kind of vectors by which texts are compared with the query.
enum class SearchScoring { kDense, kSparse, kColbert };

struct SearchFlags {
  EncodingFlags encoding;
  TextInputFlags in;
  std::string query;
  SearchScoring scoring = SearchScoring::kDense;
  int64_t top = 10;
  std::string index_path;       // .npy file that keeps the texts' vectors; empty: none
  std::string rerank_model;     // empty: none
  int64_t num_candidates = 50;  // texts that it scores; at least `top`
  bool json = false;
};

/// Adds the flags of `search` to `command`; parsing fills `flags`, which must outlive it.
void AddSearchFlags(CLI::App& command, SearchFlags& flags);

/// Ranks texts by the similarity of their vectors to that of the query. Compares all of them:
/// sparse vectors by dot product, multi-vectors by MaxSim. With a reranker, its scores rank the
/// best texts by vectors. The model's prompts "query" and "document" precede the texts. Errors are
/// those of ReadTextRows, EmbedToFile, ReadVectors, ScorePairs and, before a text is embedded,
/// CheckReranker. InvalidArgument for an empty query, an index that is not .npy or not of dense
/// vectors, and a model without the requested kind of vectors.
absl::Status Search(const SearchFlags& flags, std::istream& in, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_SEARCH_H_
