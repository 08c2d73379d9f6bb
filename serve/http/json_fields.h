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

/// The body of a request: one JSON object. InvalidArgument for what is no JSON (the byte), no
/// object, repeats a key, nests too deep, is not valid UTF-8 or has more than a million values.
absl::StatusOr<nlohmann::json> ParseRequestBody(const std::string& body);

/// `value` as JSON text; bytes that are not UTF-8 become U+FFFD.
std::string Dump(const nlohmann::json& value);
std::string Dump(const nlohmann::ordered_json& value);

/// The whole number that `value` is, 16.0 and 1e3 among them; nullopt where it is none, or none
/// that an int64_t holds.
std::optional<int64_t> WholeNumber(const nlohmann::json& value);

/// Reads members of one object of a request, with types and bounds. The first error stays: from
/// then on every read gives its fallback, and status() tells field, value and bound (and names the
/// field for WithParam). A member that is null counts as missing; members nobody reads are ignored
/// until RefuseUnknown.
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
    bool above_low = false;  // low itself is out
  };

  /// `object` must outlive this; `where` goes before the names of its members ("sampling_params.").
  /// A value that is not an object is an error.
  explicit JsonFields(const nlohmann::json& object, std::string where = "");

  const absl::Status& status() const { return status_; }

  /// The member, or null when it is missing. From now on its name is known, as with all readers.
  const nlohmann::json* Find(const char* name);

  /// A whole number may be written as 16.0.
  int64_t Integer(const char* name, int64_t fallback, int64_t low, int64_t high);
  std::optional<int64_t> OptionalInteger(const char* name, int64_t low, int64_t high);
  double Number(const char* name, double fallback, Range range);
  bool Bool(const char* name, bool fallback);
  std::string String(const char* name, std::string fallback, size_t max_bytes);
  std::optional<std::string> OptionalString(const char* name, size_t max_bytes);
  /// A text, or a list of at most `max_count` texts; none when it is missing.
  std::vector<std::string> Strings(const char* name, size_t max_count, size_t max_bytes);
  /// A list of at most `max_count` whole numbers.
  std::vector<int64_t> Integers(const char* name, size_t max_count, int64_t low, int64_t high);

  /// Refuses members that ask for something: anything but null, false, 0, "" and an empty list.
  void Refuse(std::initializer_list<const char*> names, std::string_view why);
  /// The same, but for the default, which asks for nothing.
  void RefuseUnless(const char* name, const nlohmann::json& value, std::string_view why);
  /// Members that may have any value: they change nothing here.
  void Accept(std::initializer_list<const char*> names);
  /// Refuses members whose names are not known by now: a field that does not exist, or one that is
  /// misspelt; then the error tells the known name that it is near to. UnknownFieldOf(status())
  /// names the first.
  void RefuseUnknown();

  /// The member is missing, or otherwise wrong.
  void Fail(std::string_view name, std::string_view message);
  /// Takes over an error that names no field.
  void Fail(std::string_view name, const absl::Status& status);
  /// Takes over what is wrong with an object inside this one; nothing where it is OK.
  void Take(const absl::Status& status);

 private:
  const nlohmann::json& object_;
  const std::string where_;
  std::set<std::string, std::less<>> known_;
  absl::Status status_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_JSON_FIELDS_H_
