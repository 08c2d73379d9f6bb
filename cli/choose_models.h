#ifndef SHORTLIST_CLI_CHOOSE_MODELS_H_
#define SHORTLIST_CLI_CHOOSE_MODELS_H_

#include "absl/status/status.h"
#include "cli/flags/flags.h"

namespace shortlist {

/// Which models `shortlist serve` serves, and what clients call the generating one. --model is
/// where embeddings or scores are named instead, if its config.json's architecture makes them, or
/// --is-embedding says so; without any model the demo pair is served. Errors of ResolveModelDir,
/// and InvalidArgument names flags that contradict each other.
absl::Status ChooseModels(ServeFlags& flags);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_CHOOSE_MODELS_H_
