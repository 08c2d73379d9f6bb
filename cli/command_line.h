#ifndef SHORTLIST_CLI_COMMAND_LINE_H_
#define SHORTLIST_CLI_COMMAND_LINE_H_

#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace shortlist {

/// Every command of `shortlist` with its flags. Used once, by one thread.
class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Parses the arguments, runs the command that they name and returns what to exit with
  /// (cli/exit_code.h). Messages
  /// go to stderr, help and output to stdout.
  int Run(int argc, char** argv);

  const CLI::App& app() const { return app_; }

 private:
  struct Command {
    CLI::App* app = nullptr;
    std::function<int()> run;  // what to exit with
  };

  /// A command whose flags `add_flags` adds, below the heading of `topic`.
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
