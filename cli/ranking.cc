#include "cli/ranking.h"

#include <string>

#include "absl/strings/str_format.h"
#include "base/excerpt.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

/// Without control characters, which would break the table or steer the terminal.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return Excerpt(text);
}

}  // namespace

void WriteRanking(const TextRows& texts, std::span<const ScoredRow> ranking, RankingFormat format,
                  std::ostream& out) {
  if (format == RankingFormat::kTable) out << "rank     score    line  text\n";
  for (size_t i = 0; i < ranking.size(); ++i) {
    const auto [index, score] = ranking[i];
    const TextRow& row = texts.rows[index];
    if (format == RankingFormat::kTable) {
      out << absl::StrFormat("%4d  %8.4f  %6d  %s\n", i + 1, score, row.line, OneLine(row.text));
      continue;
    }
    const nlohmann::ordered_json json = {{"rank", i + 1},
                                         {"score", score},
                                         {"index", index},
                                         {"line", row.line},
                                         {"text", row.text}};
    out << json.dump() << "\n";
  }
}

}  // namespace shortlist
