#include "text/tokenizer/metaspace.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/unicode.h"

namespace shortlist {

absl::StatusOr<Metaspace> ParseMetaspace(const nlohmann::json& spec) {
  Metaspace metaspace;
  SHORTLIST_ASSIGN_OR_RETURN(metaspace.replacement,
                             ReadString(spec, "replacement", metaspace.replacement));
  const std::string& mark = metaspace.replacement;
  if (mark.empty() || mark == " " || SequenceSize(mark[0]) != mark.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("replacement \"", mark.substr(0, 80), "\" is not one character but a space"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(metaspace.split, ReadBool(spec, "split", true));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string scheme,
                             ReadString(spec, "prepend_scheme", "always"));
  if (scheme == "first") {
    metaspace.prepend = Metaspace::Prepend::kFirst;
  } else if (scheme == "never") {
    metaspace.prepend = Metaspace::Prepend::kNever;
  } else if (scheme != "always") {
    return absl::InvalidArgumentError(
        absl::StrCat("prepend_scheme \"", Excerpt(scheme), "\" is not always, first or never"));
  }
  // The member that older files use instead.
  SHORTLIST_ASSIGN_OR_RETURN(const bool add_prefix_space, ReadBool(spec, "add_prefix_space", true));
  if (!add_prefix_space) metaspace.prepend = Metaspace::Prepend::kNever;
  return metaspace;
}

}  // namespace shortlist
