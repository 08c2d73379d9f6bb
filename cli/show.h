#ifndef SHORTLIST_CLI_SHOW_H_
#define SHORTLIST_CLI_SHOW_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace shortlist {

struct ShowFlags {
  std::string model_dir;  // or org/name[@revision] of the Hugging Face cache
  bool json = false;
};

/// Adds the flags of `show` to `command`; parsing fills `flags`, which must outlive it.
void AddShowFlags(CLI::App& command, ShowFlags& flags);

/// Writes to `out` what a model directory contains and needs, and how this build and machine run
/// it, as lines of "name  value" or as one JSON object. Reads configuration, tokenizer and the
/// headers of the weight files, never the weights.
///
/// Features that this build cannot run are listed with the reason and are no error; the rest is
/// shown as far as it is known. Returns an error, with nothing written, if files are missing or
/// damaged.
absl::Status Show(const ShowFlags& flags, std::ostream& out);

/// Chooses the instruction set. `wanted` is the value of the variable SHORTLIST_ISA, null if it is
/// not set. InvalidArgument lists the names that this machine supports.
absl::Status ChooseIsa(const char* wanted);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_SHOW_H_
