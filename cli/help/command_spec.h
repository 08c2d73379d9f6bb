#ifndef SHORTLIST_CLI_HELP_COMMAND_SPEC_H_
#define SHORTLIST_CLI_HELP_COMMAND_SPEC_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace shortlist {

/// A flag or a positional argument, as help, completion and the manual page show it.
struct FlagSpec {
  std::vector<std::string> names;  // "-h", "--help"; empty: it is given by its place alone
  std::string positional;          // what it is called where it is given by its place; empty: never
  bool is_required = false;
  bool repeats = false;              // takes several values
  std::string value;                 // "N", "FILE", "on|off"; empty: takes none
  std::vector<std::string> choices;  // the only values that it takes; empty: others
  bool is_path = false;              // its value is the name of a file or directory, or begins so
  std::string description;
  std::string default_value;  // empty: none
  std::string topic;          // the heading that --help lists it under
  std::vector<std::string> needs, excludes;
};

/// A command with its flags, and those below it.
struct CommandSpec {
  std::string name;   // "build"
  std::string path;   // "shortlist vocab build"
  std::string topic;  // the heading that its parent lists it under
  std::string description;
  std::vector<FlagSpec> flags;  // hidden ones are left out
  std::vector<CommandSpec> commands;

  /// The topics of `flags`: positional arguments, then topics in the order in which they first
  /// occur, last the flags that have none ("Options").
  std::vector<std::string> Topics() const;
};

/// What `app` takes. A group of flags without a name of its own (CLI11's option group) is a topic
/// that also says how many of its flags must be given.
CommandSpec DescribeCommand(const CLI::App& app);

/// "--model, --model-path DIR": the names and the value of a flag.
std::string FullName(const FlagSpec& flag);

/// "What it does (default: full; not with --x)": the description and what restricts the flag.
std::string FullDescription(const FlagSpec& flag);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_HELP_COMMAND_SPEC_H_
