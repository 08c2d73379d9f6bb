#include "tests/cli/cli_testing.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "CLI/CLI.hpp"
#include "base/check.h"
#include "base/status_macros.h"
#include "cli/compare.h"
#include "cli/flags/suggest.h"
#include "cli/generate.h"
#include "cli/vocab/vocab.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

std::vector<char*> Argv(std::vector<std::string>& args) {
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  return argv;
}

absl::Status Parse(CLI::App& app, const Args& args) {
  Args full = Args{"shortlist"} + args;
  std::vector<char*> argv = Argv(full);
  try {
    app.parse(static_cast<int>(full.size()), argv.data());
  } catch (const CLI::ParseError& error) {
    const std::string unexpected = ExplainUnexpected(app);
    return absl::InvalidArgumentError(unexpected.empty() ? error.what() : unexpected);
  }
  return absl::OkStatus();
}

std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

Args operator+(const Args& first, const Args& second) {
  Args all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

Args DemoTarget() { return {"--model", SourcePath("models/demo/target")}; }
Args DemoPair() { return DemoTarget() + Args{"--draft", SourcePath("models/demo/draft")}; }

absl::StatusOr<RunFlags> ParseRunFlags(const Args& args) {
  CLI::App app;
  RunFlags flags;
  AddRunFlags(app, flags);
  const absl::Status status = Parse(app, args);
  if (!status.ok()) return status;
  return flags;
}

absl::StatusOr<CompareFlags> ParseCompareFlags(const Args& args) {
  CLI::App app;
  CompareFlags flags;
  AddCompareFlags(app, flags);
  const absl::Status status = Parse(app, args);
  if (!status.ok()) return status;
  return flags;
}

absl::StatusOr<ChatFlags> ParseChatFlags(const Args& args) {
  CLI::App app;
  ChatFlags flags;
  AddChatFlags(app, flags);
  const absl::Status status = Parse(app, args);
  if (!status.ok()) return status;
  return flags;
}

Outcome RunGenerate(const Args& args) {
  std::ostringstream out;
  const absl::StatusOr<RunFlags> flags = ParseRunFlags(args);
  const absl::Status status = flags.ok() ? Generate(*flags, out) : flags.status();
  return {status, out.str()};
}

Outcome RunCompare(const Args& args) {
  std::ostringstream out;
  const absl::StatusOr<CompareFlags> flags = ParseCompareFlags(args);
  const absl::Status status = flags.ok() ? Compare(*flags, out).status() : flags.status();
  return {status, out.str()};
}

Outcome RunVocab(const Args& args, const std::string& input) {
  CLI::App app;
  const VocabCommand command(app);
  if (const absl::Status status = Parse(app, args); !status.ok()) return {status, ""};
  std::istringstream in(input);
  std::ostringstream out;
  const absl::Status status = command.Run(in, out);
  return {status, out.str()};
}

ProcessOutcome RunBinary(const Args& args, const std::string& setup) {
  const TempDir dir;
  const std::string out = dir.Join("out"), err = dir.Join("err");
  Args full = Args{"/bin/sh", "-c", setup + "; exec \"$0\" \"$@\"", SHORTLIST_BINARY} + args;
  std::vector<char*> argv = Argv(full);
  const pid_t child = fork();
  SHORTLIST_CHECK(child >= 0);
  if (child == 0) {
    dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  SHORTLIST_CHECK(waitpid(child, &status, 0) == child);
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          .out = Contents(out),
          .err = Contents(err)};
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace shortlist
