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

/// Writes to `out` what a model directory is and needs, and what this build and machine do with
/// it, as lines of "name  value" or as one JSON object. Reads configuration, tokenizer and the
/// headers of the weight files, never the weights.
///
/// What this build cannot run is listed with its reason and is no error: the rest is shown as far
/// as it is known. Errors, with nothing written, are those of files that are missing or damaged.
absl::Status Show(const ShowFlags& flags, std::ostream& out);

/// Chooses the instruction set that SHORTLIST_ISA names; `wanted` is that variable's value, null
/// when it is not set. InvalidArgument lists the names that this machine admits.
absl::Status ChooseIsa(const char* wanted);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_SHOW_H_
