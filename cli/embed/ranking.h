#ifndef SHORTLIST_CLI_EMBED_RANKING_H_
#define SHORTLIST_CLI_EMBED_RANKING_H_

#include <ostream>
#include <span>

#include "cli/embed/text_rows.h"
#include "cli/embed/top_rows.h"

namespace shortlist {

enum class RankingFormat { kTable, kJson };

/// Writes `ranking`, rows of `texts` sorted from the best. kTable: rank, score, line and the text
/// on one line, cut after 200 bytes (Excerpt). kJson: a JSON object per row, {"rank", "score",
/// "index", "line", "text"}; rank counts from 1, index from 0.
void WriteRanking(const TextRows& texts, std::span<const ScoredRow> ranking, RankingFormat format,
                  std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_RANKING_H_
