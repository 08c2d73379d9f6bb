#ifndef SHORTLIST_GRAMMAR_TAG_DOCUMENT_H_
#define SHORTLIST_GRAMMAR_TAG_DOCUMENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// A part of a structural tag's document, and its place for messages. The document must outlive it.
/// Errors are InvalidArgument and name the place.
class TagPart {
 public:
  TagPart(const nlohmann::ordered_json& value, std::string pointer)
      : value_(&value), pointer_(std::move(pointer)) {}

  const nlohmann::ordered_json& value() const { return *value_; }
  absl::Status Error(const std::string& message) const;
  /// The value as JSON.
  std::string Dump() const;
  /// `status` with the place before its message.
  absl::Status Error(const absl::Status& status) const {
    return Error(std::string(status.message()));
  }

  /// Checks that this is an object with no other members than `type` and `names`. Empty names count
  /// as none.
  absl::Status CheckMembers(std::span<const std::string_view> names) const;

  // Of an object. A member that is missing or null is an error unless said otherwise.
  bool Has(const char* name) const;
  absl::StatusOr<TagPart> Member(const char* name) const;
  /// The items of an array, at least one.
  absl::StatusOr<std::vector<TagPart>> Items(const char* name) const;
  absl::StatusOr<std::string> Text(const char* name) const;
  /// `missing` if it is missing.
  absl::StatusOr<std::string> Text(const char* name, const char* missing) const;
  /// Texts that are not empty.
  absl::StatusOr<std::vector<std::string>> Texts(const char* name) const;
  /// A text, or several; empty ones too.
  absl::StatusOr<std::vector<std::string>> TextOrTexts(const char* name) const;
  /// False if missing.
  absl::StatusOr<bool> Flag(const char* name) const;
  /// A count in [lowest, 1,000,000].
  absl::StatusOr<int64_t> Count(const char* name, int64_t lowest) const;

 private:
  absl::StatusOr<std::string> AsText() const;

  const nlohmann::ordered_json* value_;
  std::string pointer_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_TAG_DOCUMENT_H_
