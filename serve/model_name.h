#ifndef SHORTLIST_SERVE_MODEL_NAME_H_
#define SHORTLIST_SERVE_MODEL_NAME_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace shortlist {

/// What a model is served as where nobody says: `org/name` of the Hugging Face cache without its
/// revision, of a directory's path the last component.
std::string DefaultModelName(const std::string& model);

/// Under which names `served` is known: itself and, of "Org/Name", "Name".
std::vector<std::string> ServedNames(const std::string& served);

/// Whether `asked`, the model of a request, is the served one: by one of its names, as "default",
/// or empty, for a request that names none. Else NotFound, naming the served model, with the code
/// "model_not_found" and the field "model".
absl::Status CheckModelName(const std::string& served, std::string_view asked);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_MODEL_NAME_H_
