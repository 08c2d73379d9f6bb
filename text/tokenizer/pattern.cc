#include "text/tokenizer/pattern.h"

#include <utility>

#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/unicode.h"

namespace shortlist {

absl::Status Pattern::ForEachMatch(std::string_view text, EncodeBudget* budget,
                                   absl::FunctionRef<absl::Status(Match)> visit) const {
  if (!regex.has_value()) {
    for (size_t at = text.find(literal); at != std::string_view::npos;
         at = text.find(literal, at + literal.size())) {
      SHORTLIST_RETURN_IF_ERROR(visit({at, at + literal.size()}));
    }
    return absl::OkStatus();
  }
  size_t from = 0;
  bool after_match = false;
  while (from <= text.size()) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::optional<Match> match, regex->Find(text, from, budget));
    if (!match.has_value()) break;
    if (match->end > match->begin) {
      SHORTLIST_RETURN_IF_ERROR(visit(*match));
      from = match->end;
      after_match = true;
      continue;
    }
    if (!after_match || match->begin > from) SHORTLIST_RETURN_IF_ERROR(visit(*match));
    from = match->begin < text.size() ? match->begin + SequenceSize(text[match->begin])
                                      : text.size() + 1;
    after_match = false;
  }
  return absl::OkStatus();
}

absl::StatusOr<Pattern> ParsePattern(const nlohmann::json& spec) {
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json* value, FindMember(spec, "pattern"));
  if (value == nullptr) return absl::InvalidArgumentError("no \"pattern\"");
  Pattern pattern;
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json* literal, FindMember(*value, "String"));
  if (literal != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(pattern.literal, ReadString(*value, "String"));
    if (!pattern.literal.empty()) return pattern;
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(pattern.expression, ReadString(*value, "Regex"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(pattern.regex, Regex::Compile(pattern.expression));
  return pattern;
}

}  // namespace shortlist
