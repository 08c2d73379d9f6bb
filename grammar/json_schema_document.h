#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_DOCUMENT_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_DOCUMENT_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// A schema: an object or a boolean, a part of a SchemaDocument.
using Schema = const nlohmann::ordered_json*;

/// Schemas that all apply to one value, distinct, in the order in which they were met.
using Conjunction = std::vector<Schema>;

/// A JSON schema as a whole: finds what its references name, and where its parts are. Owns the
/// schemas that stand for others, such as the negation of one.
///
/// Every step of a compilation is counted here (`Spend`), so a hostile schema ends in an error.
class SchemaDocument {
 public:
  static constexpr size_t kMaxBytes = 1 << 20;
  static constexpr int kMaxDepth = 128;  // nesting of the schema's JSON
  static constexpr int64_t kMaxSteps = 1'000'000;

  /// `root` must outlive this object. InvalidArgument if it exceeds a bound.
  static absl::StatusOr<SchemaDocument> Create(const nlohmann::ordered_json& root);

  Schema root() const { return root_; }

  /// Returns what the `$ref` of `schema` names. InvalidArgument if that is not in this document.
  absl::StatusOr<Schema> Resolve(Schema schema) const;

  /// Keeps `schema`, which stands for a part of `origin`.
  Schema Add(nlohmann::ordered_json schema, Schema origin);

  /// Excludes values from those that `schema` (of Add()) allows: strings, which `texts` lists or a
  /// pattern matches, or all integers.
  struct Exclusion {
    std::vector<std::string> texts;
    std::string pattern;  // empty: none
    bool integers = false;
  };
  void Exclude(Schema schema, Exclusion exclusion);
  const Exclusion* FindExclusion(Schema schema) const;

  /// Returns an InvalidArgument that names the place of `schema`, a keyword and the reason.
  absl::Status Error(Schema schema, std::string_view keyword, std::string_view reason) const;
  /// Returns the place of `schema`: "#/properties/a".
  std::string PointerOf(Schema schema) const;

  /// Counts `steps`. InvalidArgument once they exceed those that are left, first kMaxSteps.
  absl::Status Spend(int64_t steps);
  int64_t num_steps_left() const { return num_steps_left_; }
  void set_num_steps_left(int64_t num_steps) { num_steps_left_ = num_steps; }

 private:
  SchemaDocument() = default;
  absl::Status Survey(const nlohmann::ordered_json& value, int depth, bool is_data);
  void AddAnchor(const std::string& name, Schema schema);
  bool FindPath(const nlohmann::ordered_json& from, Schema schema, std::string& path) const;

  Schema root_ = nullptr;
  size_t num_bytes_ = 0;  // of the parts surveyed, about
  int64_t num_steps_left_ = kMaxSteps;
  std::string id_;  // of the root
  bool has_inner_id_ = false;
  std::map<std::string, Schema, std::less<>> anchors_;  // null: several
  std::deque<nlohmann::ordered_json> added_;
  std::unordered_map<Schema, Schema> origins_;  // of added_
  std::unordered_map<Schema, Exclusion> exclusions_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_DOCUMENT_H_
