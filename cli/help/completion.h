#ifndef SHORTLIST_CLI_HELP_COMPLETION_H_
#define SHORTLIST_CLI_HELP_COMPLETION_H_

#include <string>

#include "cli/help/command_spec.h"

namespace shortlist {

// Scripts that make a shell complete commands, flags, the names that a flag takes, and files.

/// For bash 4 and later, without the package bash-completion.
std::string BashCompletion(const CommandSpec& program);
/// For zsh: a file named _shortlist in a folder of its $fpath.
std::string ZshCompletion(const CommandSpec& program);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_HELP_COMPLETION_H_
