#ifndef SHORTLIST_CLI_EMBED_TOP_ROWS_H_
#define SHORTLIST_CLI_EMBED_TOP_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "embed/embedding_config.h"

namespace shortlist {

/// A row and how well it does; more is better.
struct ScoredRow {
  int64_t row = 0;
  float score = 0.0f;
};

/// The `count` best of `scores`, or all where there are fewer, best first; of equal ones the first.
std::vector<ScoredRow> TopScores(std::span<const float> scores, int64_t count);

/// [num_rows] how similar `query`, [width], is to each row of `rows`, [num_rows, width]. Distances
/// are negative, as in sentence-transformers; the cosine with a vector of zeros is 0. The same bits
/// with any number of threads.
std::vector<float> Similarities(std::span<const float> rows, std::span<const float> query,
                                Similarity similarity, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_TOP_ROWS_H_
