#ifndef SHORTLIST_CLI_HELP_MAN_PAGE_H_
#define SHORTLIST_CLI_HELP_MAN_PAGE_H_

#include <string>

#include "cli/help/command_spec.h"

namespace shortlist {

/// The manual page of section 1, in troff with the macros of man(7).
std::string ManPage(const CommandSpec& program, const std::string& version);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_HELP_MAN_PAGE_H_
