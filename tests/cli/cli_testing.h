#ifndef SHORTLIST_TESTS_CLI_CLI_TESTING_H_
#define SHORTLIST_TESTS_CLI_CLI_TESTING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/flags/flags.h"

namespace shortlist {

using Args = std::vector<std::string>;

/// `first`, then `second`.
Args operator+(const Args& first, const Args& second);

/// --model (and --draft) of the shipped pair.
Args DemoTarget();
Args DemoPair();

/// Parses `args` with AddRunFlags or AddCompareFlags. InvalidArgument holds the message for the
/// user.
absl::StatusOr<RunFlags> ParseRunFlags(const Args& args);
absl::StatusOr<CompareFlags> ParseCompareFlags(const Args& args);
absl::StatusOr<ChatFlags> ParseChatFlags(const Args& args);

/// A subcommand run in this process: its status and what it wrote to standard output.
struct Outcome {
  absl::Status status;
  std::string out;
};
Outcome RunGenerate(const Args& args);
Outcome RunCompare(const Args& args);
Outcome RunVocab(const Args& args, const std::string& input = "");

/// The program itself, as a process of its own.
struct ProcessOutcome {
  int exit_code = -1;  // negative: the signal that ended it
  std::string out, err;
};
/// `setup`: what a shell does before.
ProcessOutcome RunBinary(const Args& args, const std::string& setup = "true");

/// The lines of `text` without their ends.
std::vector<std::string> Lines(const std::string& text);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_CLI_CLI_TESTING_H_
