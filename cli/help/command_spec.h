#ifndef SHORTLIST_CLI_HELP_COMMAND_SPEC_H_
#define SHORTLIST_CLI_HELP_COMMAND_SPEC_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace shortlist {

/// A flag or a positional argument, as shown in help, completion and the manual page.
struct FlagSpec {
  std::vector<std::string> names;  // "-h", "--help"; empty: positional only
  std::string positional;          // its name as a positional argument; empty: a flag only
  bool is_required = false;
  bool repeats = false;              // takes several values
  std::string value;                 // "N", "FILE", "on|off"; empty: takes none
  std::vector<std::string> choices;  // the only accepted values; empty: others are accepted
  bool is_path = false;              // its value is, or begins with, the name of a file or
                                     // directory
  std::string description;
  std::string default_value;  // empty: none
  std::string topic;          // the heading that --help lists it under
  std::vector<std::string> needs, excludes;
};

/// A command with its flags and subcommands.
struct CommandSpec {
  std::string name;   // "build"
  std::string path;   // "shortlist vocab build"
  std::string topic;  // the heading that its parent lists it under
  std::string description;
  std::vector<FlagSpec> flags;  // hidden ones are left out
  std::vector<CommandSpec> commands;

  /// Topics of `flags`: positional arguments first, then topics in order of first occurrence, then
  /// the flags without a topic ("Options").
  std::vector<std::string> Topics() const;
};

/// Describes the flags and subcommands of `app`. An unnamed group of flags (CLI11's option group)
/// is a topic that also states how many of its flags must be given.
CommandSpec DescribeCommand(const CLI::App& app);

/// "--model, --model-path DIR": the names and the value of a flag.
std::string FullName(const FlagSpec& flag);

/// "What it does (default: full; not with --x)": the description and what restricts the flag.
std::string FullDescription(const FlagSpec& flag);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_HELP_COMMAND_SPEC_H_
