#ifndef SHORTLIST_VOCAB_VOCAB_DOCUMENT_H_
#define SHORTLIST_VOCAB_VOCAB_DOCUMENT_H_

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "vocab/vocab_list.h"

namespace shortlist {

/// Parses the project's own document, format version 1 or 2 (vocab_lists/README.md).
/// InvalidArgument names the member, the index, the value and the bound.
absl::StatusOr<VocabList> ParseVocabDocument(const nlohmann::json& root);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_VOCAB_DOCUMENT_H_
