#include "cli/trace.h"

#include <limits>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

constexpr int64_t kMaxTraceBytes = int64_t{1} << 30;
constexpr double kMaxArrival = 1e9;
constexpr int64_t kMaxTokens = std::numeric_limits<int32_t>::max();

absl::Status Refuse(const std::string& origin, const char* key, const nlohmann::json& value,
                    const std::string& bound) {
  return absl::InvalidArgumentError(
      absl::StrCat(origin, ": \"", key, "\" ", value.dump(), " not ", bound));
}

absl::StatusOr<std::optional<int64_t>> IntegerOfRow(const nlohmann::json& row, const char* key,
                                                    int64_t low, int64_t high,
                                                    const std::string& origin) {
  const auto value = row.find(key);
  if (value == row.end()) return std::optional<int64_t>();
  const bool fits = value->is_number_integer() &&
                    !(value->is_number_unsigned() &&
                      value->get<uint64_t>() > static_cast<uint64_t>(kMaxTokens)) &&
                    value->get<int64_t>() >= low && value->get<int64_t>() <= high;
  if (!fits) return Refuse(origin, key, *value, absl::StrCat("in [", low, ", ", high, "]"));
  return std::optional<int64_t>(value->get<int64_t>());
}

absl::StatusOr<TraceRow> ParseRow(const nlohmann::json& row, const std::string& origin) {
  TraceRow parsed;
  if (!row.is_object()) return absl::InvalidArgumentError(absl::StrCat(origin, ": no JSON object"));
  if (const auto value = row.find("arrival_s"); value != row.end()) {
    const bool fits =
        value->is_number() && value->get<double>() >= 0.0 && value->get<double>() <= kMaxArrival;
    if (!fits)
      return Refuse(origin, "arrival_s", *value, absl::StrCat("in [0, ", kMaxArrival, "]"));
    parsed.arrival_s = value->get<double>();
  }
  SHORTLIST_ASSIGN_OR_RETURN(parsed.max_new_tokens,
                             IntegerOfRow(row, "max_new_tokens", 1, kMaxTokens, origin));
  SHORTLIST_ASSIGN_OR_RETURN(parsed.output_len,
                             IntegerOfRow(row, "output_len", 1, kMaxTokens, origin));
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::optional<int64_t> priority,
      IntegerOfRow(row, "priority", std::numeric_limits<int32_t>::min(), kMaxTokens, origin));
  parsed.priority = static_cast<int32_t>(priority.value_or(0));
  if (const auto value = row.find("cache_salt"); value != row.end()) {
    if (!value->is_string()) return Refuse(origin, "cache_salt", *value, "a string");
    parsed.cache_salt = value->get<std::string>();
  }
  return parsed;
}

}  // namespace

absl::StatusOr<std::vector<TraceRow>> ReadTrace(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(std::string contents, ReadFile(path, kMaxTraceBytes));
  std::istringstream lines(std::move(contents));
  std::vector<TraceRow> rows;
  int64_t line_number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string origin = absl::StrCat(path, " line ", line_number);
    SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(line, origin));
    SHORTLIST_ASSIGN_OR_RETURN(TraceRow row, ParseRow(json, origin));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace shortlist
