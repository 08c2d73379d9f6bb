#ifndef SHORTLIST_TEXT_REPLY_TOOL_TAG_H_
#define SHORTLIST_TEXT_REPLY_TOOL_TAG_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "text/reply/reply_format.h"
#include "text/reply/tag_format.h"

namespace shortlist {

/// A tool that a reply may call, and what its arguments must be.
struct CallableTool {
  std::string name;
  TagJson parameters;       // a JSON schema of objects; of any arguments: {"type": "object"}
  bool is_checked = false;  // arguments fit `parameters`
};

/// The tools of `rule`, in their order; entries without a name are left out.
std::vector<CallableTool> CallableTools(const CallRule& rule);

/// Returns the member of a request whose schema is `schema`, a json_schema in CallTag() of `rule`:
/// "tools[0].function.parameters" or a property of it. Empty: none is.
std::string FieldOfSchema(const CallRule& rule, const TagJson& schema);

/// The tags of one call of `tool`, from the first text that is the call's own. Several: the model
/// may write either. prefers_json: a format that has JSON calls too takes those. Errors as
/// ParameterCallTag().
absl::StatusOr<std::vector<TagJson>> ToolTags(ToolFormat format, const CallableTool& tool,
                                              bool prefers_json);

/// How the calls of a reply stand together.
struct CallsLayout {
  // Begin and end of all calls together; either pair may be used. Empty: there is none.
  std::vector<std::pair<std::string, std::string>> sections;
  std::string separator;
  // Where free text turns into calls. A section that begins otherwise needs required calls.
  std::vector<std::string> triggers;
};
CallsLayout CallsLayoutOf(ToolFormat format);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_TOOL_TAG_H_
