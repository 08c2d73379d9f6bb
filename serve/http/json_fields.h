#ifndef SHORTLIST_SERVE_HTTP_JSON_FIELDS_H_
#define SHORTLIST_SERVE_HTTP_JSON_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Parses the body of a request: one JSON object. InvalidArgument if the body is not JSON (names
/// the byte), not an object, repeats a key, nests too deeply, is not valid UTF-8, or has more than
/// a million values.
absl::StatusOr<nlohmann::json> ParseRequestBody(const std::string& body);

/// Returns `value` as JSON text; bytes that are not UTF-8 become U+FFFD.
std::string Dump(const nlohmann::json& value);
std::string Dump(const nlohmann::ordered_json& value);

/// Returns the whole number that `value` is; 16.0 and 1e3 count. nullopt if it is none, does not
/// fit an int64_t, or is written as a float beyond 2^53.
std::optional<int64_t> WholeNumber(const nlohmann::json& value);

/// Reads members of one object of a request, with types and bounds. Keeps the first error: after it
/// every read returns its fallback, and status() names field, value and bound (and the field for
/// WithParam). A null member counts as missing. Members that were not read are ignored until
/// RefuseUnknown().
///
///   JsonFields fields(body);
///   const int64_t n = fields.Integer("n", 1, 1, 128);
///   const double top_p = fields.Number("top_p", 1.0, {.low = 0.0, .high = 1.0, .above_low =
///   true});
///   fields.Accept({"user"});
///   fields.RefuseUnknown();
///   SHORTLIST_RETURN_IF_ERROR(fields.status());
class JsonFields {
 public:
  struct Range {
    double low, high;
    bool above_low = false;  // true: low itself is excluded
  };

  /// `object` must outlive this. `where` is the prefix of its members' names ("sampling_params.").
  /// A value that is not an object is an error.
  explicit JsonFields(const nlohmann::json& object, std::string where = "");

  const absl::Status& status() const { return status_; }
  /// What errors call the member.
  std::string PlaceOf(std::string_view name) const { return where_ + std::string(name); }

  /// Returns the member, or null if it is missing. Marks the name as known, as every reader does.
  const nlohmann::json* Find(const char* name);

  /// Accepts a whole number written as 16.0.
  int64_t Integer(const char* name, int64_t fallback, int64_t low, int64_t high);
  std::optional<int64_t> OptionalInteger(const char* name, int64_t low, int64_t high);
  double Number(const char* name, double fallback, Range range);
  bool Bool(const char* name, bool fallback);
  std::string String(const char* name, std::string fallback, size_t max_bytes);
  std::optional<std::string> OptionalString(const char* name, size_t max_bytes);
  /// Reads a string, or a list of at most `max_count` strings. Empty if the member is missing.
  std::vector<std::string> Strings(const char* name, size_t max_count, size_t max_bytes);
  /// Reads a list of at most `max_count` whole numbers. Empty if the member is missing.
  std::vector<int64_t> Integers(const char* name, size_t max_count, int64_t low, int64_t high);

  /// Rejects members that request something: any value but null, false, 0, "" and an empty list.
  void Refuse(std::initializer_list<const char*> names, std::string_view why);
  /// Rejects the member unless it is missing or has the default `value`, which changes nothing.
  void RefuseUnless(const char* name, const nlohmann::json& value, std::string_view why);
  /// Accepts members with any value: they have no effect here.
  void Accept(std::initializer_list<const char*> names);
  /// Rejects members whose names are not known by now. The error suggests a similar known name, if
  /// there is one. UnknownFieldOf(status()) returns the first unknown member.
  void RefuseUnknown();

  /// Records an error of the member, unless there is an earlier error.
  void Fail(std::string_view name, std::string_view message);
  /// Same as the overload above, with the message of a status that names no field.
  void Fail(std::string_view name, const absl::Status& status);
  /// Records the error of a nested object, unless there is an earlier error. No effect if `status`
  /// is ok.
  void Take(const absl::Status& status);

 private:
  const nlohmann::json& object_;
  const std::string where_;
  std::set<std::string, std::less<>> known_;
  absl::Status status_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_JSON_FIELDS_H_
