#ifndef SHORTLIST_TEXT_REPLY_PARAMETER_TAGS_H_
#define SHORTLIST_TEXT_REPLY_PARAMETER_TAGS_H_

#include "text/reply/reply_format.h"
#include "text/reply/tag_format.h"
#include "text/reply/tool_tag.h"

namespace shortlist {

/// The tag of one call where the format writes each argument apart and not as JSON: Qwen3-Coder,
/// GLM, MiniMax, DeepSeek V3.2, Gemma, and the formats that write Python. Arguments that are
/// checked come in the schema's order. Their values fit their schemas, with two exceptions: a
/// string is any text unless it has an "enum", and values of Python's and Gemma's own syntax are
/// checked by their type alone. The names of its parameters must be such that
/// CallReader::CanReadArgument() is true.
TagJson ParameterCallTag(ToolFormat format, const CallableTool& tool);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_PARAMETER_TAGS_H_
