#ifndef SHORTLIST_CLI_EMBED_TOP_ROWS_H_
#define SHORTLIST_CLI_EMBED_TOP_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "embed/embedding_config.h"

namespace shortlist {

/// A row and its score; larger is better.
struct ScoredRow {
  int64_t row = 0;
  float score = 0.0f;
};

/// Returns the `count` best of `scores`, or all if there are fewer, best first. Ties go to the
/// lower row.
std::vector<ScoredRow> TopScores(std::span<const float> scores, int64_t count);

/// Returns the similarity of `query`, [width], to each row of `rows`, [num_rows, width]:
/// [num_rows]. Distances are negated, as in sentence-transformers. The cosine with a zero vector is
/// 0. The result has the same bits with any number of threads.
std::vector<float> Similarities(std::span<const float> rows, std::span<const float> query,
                                Similarity similarity, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_TOP_ROWS_H_
