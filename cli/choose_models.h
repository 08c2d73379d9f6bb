#ifndef SHORTLIST_CLI_CHOOSE_MODELS_H_
#define SHORTLIST_CLI_CHOOSE_MODELS_H_

#include "absl/status/status.h"
#include "cli/flags/flags.h"

namespace shortlist {

/// Which models `shortlist serve` serves, and what clients call the generating one. --model is
/// where embeddings or scores are named instead, if its config.json's architecture makes them, or
/// --is-embedding says so, or it is a reranker that answers yes or no; without any model the demo
/// pair is served. Errors of ModelSource::Open; InvalidArgument names flags that contradict each
/// other; NotFound where there is no demo pair.
absl::Status ChooseModels(ServeFlags& flags);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_CHOOSE_MODELS_H_
