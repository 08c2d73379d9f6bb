#ifndef SHORTLIST_CLI_TABLE_H_
#define SHORTLIST_CLI_TABLE_H_

#include <string>
#include <vector>

namespace shortlist {

/// Formats a table with a rule below its header and two spaces between columns. The first column is
/// aligned left, the others right. Every row has as many cells as `header`; cells are ASCII.
std::string FormatTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows);

/// `value` with `decimals` digits after the decimal point.
std::string FormatFixed(double value, int decimals);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_TABLE_H_
