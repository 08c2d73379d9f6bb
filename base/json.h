#ifndef SHORTLIST_BASE_JSON_H_
#define SHORTLIST_BASE_JSON_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Limit of nesting in JSON from outside: more than any real file uses, far less than what would
/// exhaust a stack.
inline constexpr int kMaxJsonDepth = 64;

/// Parses one JSON document. InvalidArgument names `origin` (a path or "request body") and the
/// problem: the byte of a syntax error, a repeated key of an object, nesting deeper than
/// kMaxJsonDepth, or more than `max_values` values. A member of an object counts as 8 values:
/// parsed, a value takes 16 bytes and a member about 200.
absl::StatusOr<nlohmann::json> ParseJson(const std::string& text, const std::string& origin,
                                         int64_t max_values = std::numeric_limits<int64_t>::max());

/// Returns the value of a document that ParseJson accepts, with the members of objects in their
/// order. Takes time linear in the text.
nlohmann::ordered_json ParseOrderedJson(const std::string& text);

/// Calls ReadFile, then ParseJson with the path as origin.
absl::StatusOr<nlohmann::json> ReadJsonFile(const std::string& path, int64_t max_bytes);

/// Size limit of files that people write, such as config.json. A larger one is a mistake, or
/// hostile.
inline constexpr int64_t kMaxConfigBytes = int64_t{64} << 20;

}  // namespace shortlist

#endif  // SHORTLIST_BASE_JSON_H_
