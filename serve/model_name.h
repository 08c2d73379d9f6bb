#ifndef SHORTLIST_SERVE_MODEL_NAME_H_
#define SHORTLIST_SERVE_MODEL_NAME_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace shortlist {

/// Default served name of `model`: `org/name`, without the revision, of a Hugging Face cache entry;
/// the last component of a directory's path.
std::string DefaultModelName(const std::string& model);

/// Returns the names under which `served` is known: `served` itself, and "Name" for "Org/Name".
std::vector<std::string> ServedNames(const std::string& served);

/// Ok if `asked`, the model of a request, is one of the names of `served`, "default", or empty (the
/// request names none). Otherwise NotFound, naming the served model, with the code
/// "model_not_found" and the field "model".
absl::Status CheckModelName(const std::string& served, std::string_view asked);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_MODEL_NAME_H_
