#ifndef SHORTLIST_CLI_PROMPTS_H_
#define SHORTLIST_CLI_PROMPTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace shortlist {

/// One text to continue.
struct PromptRow {
  std::string text;
  std::string origin;  // its name in error messages: `--prompt`, or file and line
  std::string source;  // the kind of text, from the file; may be empty
};

/// Reads JSON lines: {"prompt": "..."}, or Spec-Bench's {"turns": ["...", ...]}, of which only the
/// first turn is used. "source" or Spec-Bench's "category" names the kind of text. Other keys and
/// blank lines are ignored. Errors name file and line: no JSON object, neither or both keys, wrong
/// types, an empty prompt, invalid UTF-8. A file without any prompt is InvalidArgument.
absl::StatusOr<std::vector<PromptRow>> ReadPrompts(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_PROMPTS_H_
