#ifndef SHORTLIST_CLI_TRACE_H_
#define SHORTLIST_CLI_TRACE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"

namespace shortlist {

/// Fields of a row of an arrival trace, other than its prompt.
struct TraceRow {
  double arrival_s = 0.0;                 // since the start
  std::optional<int64_t> max_new_tokens;  // nullopt: --max-new-tokens; at least 1
  std::optional<int64_t> output_len;      // simulated output length; nullopt: max_new_tokens
  int32_t priority = 0;
  std::string cache_salt;
  std::vector<TokenId> generated_prompt;  // empty: use the file's prompt
};

/// Reads the keys "arrival_s", "max_new_tokens", "output_len", "priority" and "cache_salt" of each
/// row of a file that ReadPrompts accepts, in the order of its prompts. Other keys are ignored.
/// InvalidArgument names line, key, value and bound.
absl::StatusOr<std::vector<TraceRow>> ReadTrace(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_TRACE_H_
