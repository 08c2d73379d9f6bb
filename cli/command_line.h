#ifndef SHORTLIST_CLI_COMMAND_LINE_H_
#define SHORTLIST_CLI_COMMAND_LINE_H_

#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace shortlist {

/// All commands of `shortlist` with their flags. Used once, by one thread.
class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Parses the arguments, runs the command and returns the exit code (cli/exit_code.h). Messages
  /// go to stderr, help and output to stdout.
  int Run(int argc, char** argv);

  const CLI::App& app() const { return app_; }

 private:
  struct Command {
    CLI::App* app = nullptr;
    std::function<int()> run;  // returns the exit code
  };

  /// Adds a command with the flags of `add_flags`, listed below the heading `topic`.
  template <typename Flags>
  void Add(const std::string& topic, const std::string& name, const std::string& description,
           void (*add_flags)(CLI::App&, Flags&), std::function<int(const Flags&)> run);
  void AddGenerating();
  void AddEncoding();
  void AddVocabulary();
  void AddShell();

  CLI::App app_;
  std::vector<Command> commands_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_COMMAND_LINE_H_
