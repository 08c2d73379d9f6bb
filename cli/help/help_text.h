#ifndef SHORTLIST_CLI_HELP_HELP_TEXT_H_
#define SHORTLIST_CLI_HELP_HELP_TEXT_H_

#include <string>

#include "cli/help/command_spec.h"

namespace shortlist {

/// Width in columns of the terminal on standard output; without a terminal, COLUMNS, else 80. At
/// least 40 and at most 120, which is easier to read than a wider line.
int HelpWidth();

/// Text of --help: flags below the headings of their topics, wrapped to `width` columns. A word
/// longer than a line stays whole unless it contains '|', ',' or '[' to break at.
std::string HelpText(const CommandSpec& command, int width);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_HELP_HELP_TEXT_H_
