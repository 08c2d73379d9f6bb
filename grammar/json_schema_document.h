#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_DOCUMENT_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_DOCUMENT_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
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

/// Schemas that all apply to one value.
using Conjunction = std::vector<Schema>;

/// A JSON schema as a whole: finds what its references name, and where its parts are. Owns the
/// schemas that stand for others, such as the negation of one.
///
/// Every step of a compilation is counted here (`Spend`), so a hostile schema ends in an error.
class SchemaDocument {
 public:
  static constexpr size_t kMaxBytes = 1 << 20;
  static constexpr int kMaxDepth = 128;  // nesting of the schema's JSON
  static constexpr int64_t kMaxSteps = 200'000;

  /// `root` must outlive this object. InvalidArgument if it exceeds a bound.
  static absl::StatusOr<SchemaDocument> Create(const nlohmann::ordered_json& root);

  Schema root() const { return root_; }

  /// Returns what the `$ref` of `schema` names. InvalidArgument if that is not in this document.
  absl::StatusOr<Schema> Resolve(Schema schema);
  /// Returns the member `name` of `object`, a part of this document, or null. The time does not
  /// depend on the number of members.
  Schema Member(Schema object, const std::string& name);

  /// Keeps `schema`, which stands for a part of `origin`.
  Schema Add(nlohmann::ordered_json schema, Schema origin);

  /// Excludes values from those that `schema` (of Add()) allows: strings, which `texts` lists or a
  /// pattern matches, all integers, or values for whose complement there is no grammar.
  struct Exclusion {
    std::vector<std::string> texts;
    std::optional<std::string> pattern;
    bool integers = false;
    bool has_no_grammar = false;
  };
  void Exclude(Schema schema, Exclusion exclusion);
  const Exclusion* FindExclusion(Schema schema) const;

  /// A proof shows that no value satisfies schemas, so it must leave out whatever makes the grammar
  /// narrower than these. Proofs nest.
  void BeginProof() { ++proof_depth_; }
  void EndProof() { --proof_depth_; }
  int proof_depth() const { return proof_depth_; }

  /// Returns an InvalidArgument that names the place of `schema`, a keyword and the reason. In a
  /// proof it has no message. Else it counts steps: to find the place is work.
  absl::Status Error(Schema schema, std::string_view keyword, std::string_view reason) const;
  /// Returns the place of `schema`: "#/properties/a".
  std::string PointerOf(Schema schema) const;

  /// Counts `steps`. InvalidArgument once they exceed the limit, kMaxSteps unless it is set.
  absl::Status Spend(int64_t steps);
  int64_t num_steps_left() const { return num_steps_left_; }
  void set_max_steps(int64_t max_steps) { max_steps_ = num_steps_left_ = max_steps; }

 private:
  SchemaDocument() = default;
  enum class Kind;  // of a part
  static Kind KindOfMember(Kind kind, const std::string& key);
  absl::Status Survey(const nlohmann::ordered_json& value, int depth, Kind kind);
  void SurveyName(const std::string& key, const nlohmann::ordered_json& member, Schema schema);
  Schema Child(Schema from, std::string_view part);
  void AddAnchor(const std::string& name, Schema schema);
  bool FindPath(const nlohmann::ordered_json& from, Schema schema, std::string& path) const;

  Schema root_ = nullptr;
  size_t num_bytes_ = 0;  // of the parts surveyed, about
  int64_t max_steps_ = kMaxSteps;
  mutable int64_t num_steps_left_ = kMaxSteps;  // errors spend some
  int proof_depth_ = 0;
  std::string id_;  // of the root
  bool has_inner_id_ = false;
  std::map<std::string, Schema, std::less<>> anchors_;  // null: several
  std::deque<nlohmann::ordered_json> added_;
  std::unordered_map<Schema, Schema> origins_;  // of added_
  std::unordered_map<Schema, Exclusion> exclusions_;
  std::unordered_map<Schema, std::unordered_map<std::string_view, Schema>> members_;  // of Member()
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_DOCUMENT_H_
