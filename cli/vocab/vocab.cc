#include "cli/vocab/vocab.h"

#include "CLI/CLI.hpp"
#include "base/check.h"

namespace shortlist {
namespace {

constexpr char kSketch[] = "sketch";

}  // namespace

void AddVocabFlags(CLI::App& command, VocabFlags& flags) {
  command.require_subcommand(1);
  AddSketchFlags(
      *command.add_subcommand(
          kSketch, "Fit a sketch of the draft's head to the hidden states of a calibration run"),
      flags.sketch);
}

absl::Status RunVocab(const CLI::App& command, const VocabFlags& flags, std::ostream& out) {
  SHORTLIST_CHECK(command.got_subcommand(kSketch));
  return MakeSketch(flags.sketch, out);
}

}  // namespace shortlist
