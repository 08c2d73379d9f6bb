#ifndef SHORTLIST_CLI_HELP_HELP_TEXT_H_
#define SHORTLIST_CLI_HELP_HELP_TEXT_H_

#include <string>

#include "cli/help/command_spec.h"

namespace shortlist {

/// Columns of the terminal that standard output is; without one those of COLUMNS, else 80. At least
/// 40 and at most 120, which is easier to read than a wider line.
int HelpWidth();

/// What --help prints: flags below the headings of their topics, wrapped to `width` columns. A
/// single word that is longer than a line stays whole where it has no '|', ',' or '[' to break at.
std::string HelpText(const CommandSpec& command, int width);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_HELP_HELP_TEXT_H_
