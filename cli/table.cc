#include "cli/table.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_format.h"

namespace shortlist {

std::string FormatTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (size_t c = 0; c < header.size(); ++c) {
    widths.push_back(header[c].size());
    for (const auto& row : rows) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  const auto append_line = [&](const std::vector<std::string>& cells) {
    for (size_t c = 0; c < cells.size(); ++c) {
      const std::string padding(widths[c] - cells[c].size(), ' ');
      if (c > 0) text += "  " + padding;
      text += cells[c];
      if (c == 0 && cells.size() > 1) text += padding;
    }
    text += '\n';
  };
  append_line(header);
  std::vector<std::string> rule;
  for (size_t width : widths) rule.emplace_back(width, '-');
  append_line(rule);
  for (const auto& row : rows) append_line(row);
  return text;
}

std::string FormatFixed(double value, int decimals) {
  return absl::StrFormat("%.*f", decimals, value);
}

}  // namespace shortlist
