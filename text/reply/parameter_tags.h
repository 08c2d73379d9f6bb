#ifndef SHORTLIST_TEXT_REPLY_PARAMETER_TAGS_H_
#define SHORTLIST_TEXT_REPLY_PARAMETER_TAGS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "text/reply/reply_format.h"
#include "text/reply/tag_format.h"
#include "text/reply/tool_tag.h"

namespace shortlist {

/// The tag of one call where the format writes each argument apart and not as JSON: Qwen3-Coder,
/// GLM, MiniMax, DeepSeek V3.2, Gemma, and the formats that write Python. Arguments that are
/// checked come in the schema's order, and fit their schemas. Values of complex schemas are JSON in
/// marks and in Python. The names of parameters must be such that CallReader::CanReadArgument() is
/// true. InvalidArgument, naming the parameter, for a schema that Gemma's notation cannot follow.
absl::StatusOr<TagJson> ParameterCallTag(ToolFormat format, const CallableTool& tool);

/// The strings that `schema`, which allows nothing else, accepts: as they are, and without `end`.
TagJson StringTextTag(const TagJson& schema, std::string_view end);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_PARAMETER_TAGS_H_
