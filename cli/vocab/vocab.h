#ifndef SHORTLIST_CLI_VOCAB_VOCAB_H_
#define SHORTLIST_CLI_VOCAB_VOCAB_H_

#include <ostream>

#include "absl/status/status.h"
#include "cli/vocab/sketch.h"

namespace CLI {
class App;
}

namespace shortlist {

/// The flags of `shortlist vocab` and its subcommands.
struct VocabFlags {
  SketchFlags sketch;
};

/// Adds the subcommands to `command`; parsing fills `flags`, which must outlive it.
void AddVocabFlags(CLI::App& command, VocabFlags& flags);

/// Runs the subcommand of `command` that was parsed.
absl::Status RunVocab(const CLI::App& command, const VocabFlags& flags, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_VOCAB_H_
