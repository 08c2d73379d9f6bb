#ifndef SHORTLIST_TEXT_TOKENIZER_PATTERN_H_
#define SHORTLIST_TEXT_TOKENIZER_PATTERN_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/tokenizer/regex.h"

namespace shortlist {

/// What a step of tokenizer.json searches for: a string or a regular expression. Immutable.
struct Pattern {
  std::string literal;  // used if there is no regex; not empty then
  std::optional<Regex> regex;
  std::string expression;  // source of the regex, as in the file

  /// Calls visit(match) for all matches from left to right, until it fails. Matches do not overlap.
  /// An empty match is reported only if no other match ends there. Errors of Regex::Find.
  absl::Status ForEachMatch(std::string_view text, EncodeBudget* budget,
                            absl::FunctionRef<absl::Status(Match)> visit) const;
};

/// Parses the member "pattern" of `spec`: {"String": s} or {"Regex": e}. An empty string becomes
/// the empty expression, which matches before and after each character.
absl::StatusOr<Pattern> ParsePattern(const nlohmann::json& spec);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_PATTERN_H_
