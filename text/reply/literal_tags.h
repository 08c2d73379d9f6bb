#ifndef SHORTLIST_TEXT_REPLY_LITERAL_TAGS_H_
#define SHORTLIST_TEXT_REPLY_LITERAL_TAGS_H_

#include "absl/status/statusor.h"
#include "text/reply/reply_format.h"
#include "text/reply/tag_format.h"
#include "text/reply/tool_tag.h"

namespace shortlist {

/// The tag of one call in a format that writes Python or Gemma's notation: name(key=value, ...) or
/// call:name{key:value,...}. InvalidArgument, naming the parameter and the keyword, for a schema
/// that Gemma's notation cannot follow. Python's can follow all: where a schema has limits, its
/// values are JSON, which readers of these calls accept.
absl::StatusOr<TagJson> LiteralCallTag(ToolFormat format, const CallableTool& tool);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_LITERAL_TAGS_H_
