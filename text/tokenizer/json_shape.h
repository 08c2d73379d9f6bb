#ifndef SHORTLIST_TEXT_TOKENIZER_JSON_SHAPE_H_
#define SHORTLIST_TEXT_TOKENIZER_JSON_SHAPE_H_

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Checks the members of a tokenizer.json that the tokenizers library needs, so that a damaged name
/// is not taken for a missing part. InvalidArgument names a member of the document that the library
/// does not know, a member that a step, an added token or the model lacks, or another version of
/// the format than 1.0. Values are left to the code that reads them.
absl::Status CheckJsonShape(const nlohmann::json& document);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_JSON_SHAPE_H_
