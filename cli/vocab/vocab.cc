#include "cli/vocab/vocab.h"

#include "CLI/CLI.hpp"

namespace shortlist {

VocabCommand::VocabCommand(CLI::App& vocab) {
  vocab.require_subcommand(1);
  for (const auto add :
       {AddVocabBuild, AddVocabShow, AddVocabCoverage, AddVocabMerge, AddVocabDiff, AddVocabCheck,
        AddVocabConvert, AddVocabTune, AddVocabSketch, AddVocabDoctor, AddVocabReslice}) {
    subcommands_.push_back(add(vocab));
  }
}

absl::Status VocabCommand::Run(std::istream& in, std::ostream& out) const {
  for (const VocabSubcommand& subcommand : subcommands_) {
    if (*subcommand.app) return subcommand.run(in, out);
  }
  return absl::InvalidArgumentError("vocab: no subcommand");
}

}  // namespace shortlist
