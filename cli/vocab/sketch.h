#ifndef SHORTLIST_CLI_VOCAB_SKETCH_H_
#define SHORTLIST_CLI_VOCAB_SKETCH_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "cli/flags/flags.h"
#include "head/sketch_basis.h"

namespace CLI {
class App;
}

namespace shortlist {

struct SketchFlags {
  RunFlags run;
  std::string out;
  int64_t rank = SketchBasis::kDefaultRank;
};

void AddSketchFlags(CLI::App& command, SketchFlags& flags);

/// `shortlist vocab sketch`: continues the prompts while the draft proposes over its full head,
/// fits a SketchBasis to the hidden states that its head meets, and writes it (WriteSketchFile).
/// Says on `out` what was made. An error leaves an older file as it was.
absl::Status MakeSketch(const SketchFlags& flags, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_SKETCH_H_
