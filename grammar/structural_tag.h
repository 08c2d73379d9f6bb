#ifndef SHORTLIST_GRAMMAR_STRUCTURAL_TAG_H_
#define SHORTLIST_GRAMMAR_STRUCTURAL_TAG_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grammar/expressions.h"
#include "grammar/grammar_spec.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// The outputs of a structural tag, as xgrammar 0.2 documents them: {"type": "structural_tag",
/// "format": ...}, or the older {"structures": [{"begin", "schema", "end"}], "triggers": [...]}.
/// Formats: const_string, json_schema, grammar, regex, any_text, sequence, or, optional, plus,
/// star, repeat, tag, triggered_tags, tags_with_separator. A json_schema of the style "text", which
/// xgrammar does not have, is the schema's strings without quotes (CompileJsonStrings()), and with
/// none of its "excludes". Any text is valid UTF-8; within a tag it ends before the tag's `end`.
/// compact: no white space between the parts of JSON.
/// A trigger takes effect where it first ends. InvalidArgument names the place in the document by a
/// JSON pointer, and what is malformed, not supported or out of bounds: 64 levels, 10,000 formats,
/// 1,000 tags, 1 MiB of text. Grammar::Create() checks the result.
absl::StatusOr<ExprId> CompileStructuralTag(const nlohmann::ordered_json& tag, bool compact,
                                            Expressions& expressions);

/// Returns the format that stands for the outputs of `spec` in a structural tag. Precondition: spec
/// is no tag of the older form, which has no "format".
nlohmann::ordered_json TagFormatOf(const GrammarSpec& spec);

/// An error of CompileStructuralTag(), taken apart.
struct TagError {
  std::string pointer;  // JSON pointer of the place in the document
  std::string reason;   // what is wrong there
};
/// Returns nullopt for other errors.
std::optional<TagError> TagErrorOf(const absl::Status& status);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_STRUCTURAL_TAG_H_
