#ifndef SHORTLIST_GRAMMAR_STRUCTURAL_TAG_H_
#define SHORTLIST_GRAMMAR_STRUCTURAL_TAG_H_

#include "absl/status/statusor.h"
#include "grammar/expressions.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// The outputs of a structural tag, as xgrammar 0.2 documents them: {"type": "structural_tag",
/// "format": ...}, or the older {"structures": [{"begin", "schema", "end"}], "triggers": [...]}.
/// Formats: const_string, json_schema, grammar, regex, any_text, sequence, or, optional, plus,
/// star, repeat, tag, triggered_tags, tags_with_separator. A json_schema of the style "text", which
/// xgrammar does not have, is the schema's strings without quotes (CompileJsonStrings()), and with
/// none of its "excludes". Any text is valid UTF-8; within a tag it
/// ends before the tag's `end`. compact: no white space between the parts of JSON.
/// A trigger takes effect where it first ends. InvalidArgument names the place in the document by a
/// JSON pointer, and what is malformed, not supported or out of bounds: 64 levels, 10,000 formats,
/// 1,000 tags, 1 MiB of text. Grammar::Create() checks the result.
absl::StatusOr<ExprId> CompileStructuralTag(const nlohmann::ordered_json& tag, bool compact,
                                            Expressions& expressions);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_STRUCTURAL_TAG_H_
