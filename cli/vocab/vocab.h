#ifndef SHORTLIST_CLI_VOCAB_VOCAB_H_
#define SHORTLIST_CLI_VOCAB_VOCAB_H_

#include <functional>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace shortlist {

/// A subcommand of `shortlist vocab`: where its flags are parsed, and what it does with them.
struct VocabSubcommand {
  CLI::App* app = nullptr;
  std::function<absl::Status(std::istream& in, std::ostream& out)> run;
};

/// `shortlist vocab`: lists and sketches are made, looked at, measured and converted.
class VocabCommand {
 public:
  /// Adds all subcommands to `vocab`, which must outlive this.
  explicit VocabCommand(CLI::App& vocab);

  /// Runs the subcommand that was parsed. InvalidArgument, NotFound and FailedPrecondition are
  /// faults of the input.
  absl::Status Run(std::istream& in, std::ostream& out) const;

 private:
  std::vector<VocabSubcommand> subcommands_;
};

// Each adds a subcommand with its flags, which the returned function owns.

/// Makes a list of texts.
VocabSubcommand AddVocabBuild(CLI::App& vocab);
/// Tells what a list holds.
VocabSubcommand AddVocabShow(CLI::App& vocab);
/// Tells how much of given texts lists cover.
VocabSubcommand AddVocabCoverage(CLI::App& vocab);
/// Joins lists into one.
VocabSubcommand AddVocabMerge(CLI::App& vocab);
/// Tells what two lists have in common.
VocabSubcommand AddVocabDiff(CLI::App& vocab);
/// Tells whether a list fits a model.
VocabSubcommand AddVocabCheck(CLI::App& vocab);
/// Writes a list in another format.
VocabSubcommand AddVocabConvert(CLI::App& vocab);
/// Finds the size of a list that is fastest here.
VocabSubcommand AddVocabTune(CLI::App& vocab);
/// Continues prompts while the draft proposes over its full head, fits a SketchBasis to the hidden
/// states that its head meets, and writes it (WriteSketchFile). An error leaves an older file as it
/// was.
VocabSubcommand AddVocabSketch(CLI::App& vocab);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_VOCAB_H_
