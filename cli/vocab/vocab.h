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

/// A subcommand of `shortlist vocab`: its parser and its action.
struct VocabSubcommand {
  CLI::App* app = nullptr;
  std::function<absl::Status(std::istream& in, std::ostream& out)> run;
};

/// `shortlist vocab`: makes, shows, measures and converts lists and sketches.
class VocabCommand {
 public:
  /// Adds all subcommands to `vocab`, which must outlive this.
  explicit VocabCommand(CLI::App& vocab);

  /// Runs the parsed subcommand. InvalidArgument, NotFound and FailedPrecondition indicate bad
  /// input.
  absl::Status Run(std::istream& in, std::ostream& out) const;

 private:
  std::vector<VocabSubcommand> subcommands_;
};

// Each function adds a subcommand with its flags, which the returned function owns.

/// Makes a list from texts.
VocabSubcommand AddVocabBuild(CLI::App& vocab);
/// Shows the content of a list.
VocabSubcommand AddVocabShow(CLI::App& vocab);
/// Reports how much of given texts lists cover.
VocabSubcommand AddVocabCoverage(CLI::App& vocab);
/// Joins lists into one.
VocabSubcommand AddVocabMerge(CLI::App& vocab);
/// Reports what two lists have in common.
VocabSubcommand AddVocabDiff(CLI::App& vocab);
/// Checks that a list fits a model.
VocabSubcommand AddVocabCheck(CLI::App& vocab);
/// Writes a list in another format.
VocabSubcommand AddVocabConvert(CLI::App& vocab);
/// Finds the list size that is fastest on this machine.
VocabSubcommand AddVocabTune(CLI::App& vocab);
/// Continues prompts while the draft proposes over its full head, fits a SketchBasis to the hidden
/// states that its head reads, and writes it (WriteSketchFile). On error, an existing file stays
/// unchanged.
VocabSubcommand AddVocabSketch(CLI::App& vocab);
/// Reports what the list of a draft's checkpoint loses on given texts, and what is wrong with it.
/// FailedPrecondition names the faults, after the report.
VocabSubcommand AddVocabDoctor(CLI::App& vocab);
/// Writes a checkpoint of a draft whose head has other rows.
VocabSubcommand AddVocabReslice(CLI::App& vocab);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_VOCAB_H_
