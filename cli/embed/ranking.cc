#include "cli/embed/ranking.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"
#include "base/excerpt.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

/// Replaces control characters, which would break the table or control the terminal.
std::string OneLine(std::string text) {
  const auto byte = [&text](size_t i) { return static_cast<uint8_t>(text[i]); };
  for (size_t i = 0; i < text.size(); ++i) {
    if (byte(i) < 0x20 || byte(i) == 0x7F) text[i] = ' ';
    // U+0080 to U+009F.
    if (byte(i) == 0xC2 && byte(i + 1) < 0xA0) text[i] = text[i + 1] = ' ';
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
