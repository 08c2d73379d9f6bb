#ifndef SHORTLIST_CLI_CHOOSE_MODELS_H_
#define SHORTLIST_CLI_CHOOSE_MODELS_H_

#include "absl/status/status.h"
#include "cli/flags/flags.h"

namespace shortlist {

/// Chooses the models that `shortlist serve` serves and the name of the generating model. Moves
/// --model to `flags.embed` or `flags.rerank` if its config.json describes an encoder or
/// classifier, if --is-embedding is set, or if it is a yes/no reranker. Without any model, selects
/// the demo pair. Returns errors of ResolveModelDir, InvalidArgument naming flags that contradict
/// each other, and NotFound if the demo pair is missing.
absl::Status ChooseModels(ServeFlags& flags);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_CHOOSE_MODELS_H_
