#ifndef SHORTLIST_CLI_HELP_COMPLETION_H_
#define SHORTLIST_CLI_HELP_COMPLETION_H_

#include <string>

#include "cli/help/command_spec.h"

namespace shortlist {

// Shell scripts that complete commands, flags, flag values and files.

/// For bash 4 and later; does not need the package bash-completion.
std::string BashCompletion(const CommandSpec& program);
/// For zsh: the content of a file _shortlist in a folder of $fpath.
std::string ZshCompletion(const CommandSpec& program);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_HELP_COMPLETION_H_
