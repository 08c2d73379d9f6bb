#ifndef SHORTLIST_BASE_JSON_H_
#define SHORTLIST_BASE_JSON_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Nesting admitted in any JSON that comes from outside: more than any real file uses, far less
/// than what would exhaust a stack.
inline constexpr int kMaxJsonDepth = 64;

/// Parses one JSON document. InvalidArgument names `origin` (a path or "request body"), and the
/// byte where the syntax breaks, an object repeats a key, the nesting passes kMaxJsonDepth, or
/// there are more than `max_values` values, of which a member of an object counts as 8: parsed, one
/// takes 16 bytes and a member some 200.
absl::StatusOr<nlohmann::json> ParseJson(const std::string& text, const std::string& origin,
                                         int64_t max_values = std::numeric_limits<int64_t>::max());

/// The value of a document that ParseJson takes, with the members of objects in their order. Time
/// is linear in the text.
nlohmann::ordered_json ParseOrderedJson(const std::string& text);

/// ReadFile, then ParseJson with the path as origin.
absl::StatusOr<nlohmann::json> ReadJsonFile(const std::string& path, int64_t max_bytes);

/// Of a config.json and its like, which people write: more is a mistake, or hostile.
inline constexpr int64_t kMaxConfigBytes = int64_t{64} << 20;

}  // namespace shortlist

#endif  // SHORTLIST_BASE_JSON_H_
