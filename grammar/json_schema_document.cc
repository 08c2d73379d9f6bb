#include "grammar/json_schema_document.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/excerpt.h"
#include "base/hex.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

/// Members whose value is data, not a schema.
constexpr std::array<std::string_view, 4> kDataKeywords = {"const", "default", "enum", "examples"};
/// Members whose own members are schemas, of any name.
constexpr std::array<std::string_view, 6> kMapKeywords = {
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"};
constexpr size_t kMinIndexedMembers = 16;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

/// Replaces %XX by the byte.
std::string DecodePercent(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = i + 2 < text.size() && text[i] == '%' &&
                           HexDigitValue(text[i + 1]) >= 0 && HexDigitValue(text[i + 2]) >= 0;
    if (is_escape) {
      decoded += static_cast<char>(HexDigitValue(text[i + 1]) * 16 + HexDigitValue(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

}  // namespace

enum class SchemaDocument::Kind { kSchema, kMap, kData };

absl::StatusOr<SchemaDocument> SchemaDocument::Create(const ordered_json& root) {
  SchemaDocument document;
  document.root_ = &root;
  if (root.is_object() && root.contains("$id") && root["$id"].is_string()) {
    document.id_ = root["$id"].get<std::string>();
  }
  SHORTLIST_RETURN_IF_ERROR(document.Survey(root, 0, Kind::kSchema));
  return document;
}

SchemaDocument::Kind SchemaDocument::KindOfMember(Kind kind, const std::string& key) {
  if (kind != Kind::kSchema) return kind == Kind::kMap ? Kind::kSchema : Kind::kData;
  if (std::ranges::find(kDataKeywords, key) != kDataKeywords.end()) return Kind::kData;
  return std::ranges::find(kMapKeywords, key) != kMapKeywords.end() ? Kind::kMap : Kind::kSchema;
}

/// Bounds the size of `value` and finds its anchors.
absl::Status SchemaDocument::Survey(const ordered_json& value, int depth, Kind kind) {
  if (depth > kMaxDepth) {
    return absl::InvalidArgumentError(absl::StrCat("schema nests deeper than ", kMaxDepth));
  }
  num_bytes_ += value.is_string() ? value.get_ref<const std::string&>().size() + 2 : 2;
  if (num_bytes_ > kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat("schema exceeds ", kMaxBytes, " bytes"));
  }
  if (value.is_array()) {
    for (const ordered_json& item : value) {
      SHORTLIST_RETURN_IF_ERROR(Survey(item, depth + 1, kind));
    }
  }
  if (!value.is_object()) return absl::OkStatus();
  for (const auto& [key, member] : value.items()) {
    num_bytes_ += key.size() + 3;
    if (kind == Kind::kSchema) SurveyName(key, member, &value);
    SHORTLIST_RETURN_IF_ERROR(Survey(member, depth + 1, KindOfMember(kind, key)));
  }
  return absl::OkStatus();
}

/// Notes the anchors and names that the member `key` gives to `schema`.
void SchemaDocument::SurveyName(const std::string& key, const ordered_json& member, Schema schema) {
  if (!member.is_string()) return;
  const auto& text = member.get_ref<const std::string&>();
  if (key == "$anchor" || key == "$dynamicAnchor") {
    AddAnchor(text, schema);
  } else if (key == "$id" && text.starts_with('#')) {
    AddAnchor(text.substr(1), schema);
  } else if (key == "$id" && schema != root_) {
    has_inner_id_ = true;
  }
}

void SchemaDocument::AddAnchor(const std::string& name, Schema schema) {
  const auto [found, is_new] = anchors_.try_emplace(name, schema);
  if (!is_new && found->second != schema) found->second = nullptr;
}

Schema SchemaDocument::Member(Schema object, const std::string& name) {
  if (!object->is_object()) return nullptr;
  if (object->size() < kMinIndexedMembers) {
    const auto found = object->find(name);
    return found == object->end() ? nullptr : &*found;
  }
  const auto [index, is_new] = members_.try_emplace(object);
  if (is_new) {
    for (const auto& [key, member] : object->get_ref<const ordered_json::object_t&>()) {
      index->second.emplace(key, &member);
    }
  }
  const auto found = index->second.find(name);
  return found == index->second.end() ? nullptr : found->second;
}

/// Returns the member of `from` that one part of a JSON pointer (RFC 6901) names, or null.
Schema SchemaDocument::Child(Schema from, std::string_view part) {
  const std::string key = absl::StrReplaceAll(View(part), {{"~1", "/"}, {"~0", "~"}});
  if (from->is_object()) return Member(from, key);
  if (!from->is_array() || key.empty() || key.size() > 6 ||
      key.find_first_not_of("0123456789") != key.npos || (key.size() > 1 && key[0] == '0')) {
    return nullptr;
  }
  const size_t index = std::stoul(key);
  return index < from->size() ? &(*from)[index] : nullptr;
}

absl::StatusOr<Schema> SchemaDocument::Resolve(Schema schema) {
  const ordered_json& value = schema->at("$ref");
  if (!value.is_string()) return Error(schema, "$ref", "not a string");
  const auto& ref = value.get_ref<const std::string&>();
  SHORTLIST_RETURN_IF_ERROR(Spend(static_cast<int64_t>(ref.size() / 16)));
  if (has_inner_id_) return Error(schema, "$ref", "together with $id of an inner schema");
  std::string_view rest = ref;
  const std::string_view base = std::string_view(id_).substr(0, id_.find('#'));
  if (!base.empty() && rest.starts_with(base)) rest.remove_prefix(base.size());
  if (rest.empty()) return root_;
  const std::string quoted = absl::StrCat("\"", Excerpt(ref), "\" ");
  if (rest[0] != '#') return Error(schema, "$ref", quoted + "is not in this schema");
  const std::string fragment = DecodePercent(rest.substr(1));
  if (!fragment.empty() && fragment[0] != '/') {
    const auto found = anchors_.find(fragment);
    if (found == anchors_.end() || found->second == nullptr) {
      return Error(schema, "$ref", quoted + "names no anchor, or several");
    }
    return found->second;
  }
  Schema target = root_;
  for (size_t begin = 1; begin <= fragment.size();) {
    const size_t end = std::min(fragment.find('/', begin), fragment.size());
    target = Child(target, std::string_view(fragment).substr(begin, end - begin));
    if (target == nullptr) return Error(schema, "$ref", quoted + "names nothing");
    begin = end + 1;
  }
  return target;
}

Schema SchemaDocument::Add(ordered_json schema, Schema origin) {
  added_.push_back(std::move(schema));
  origins_.emplace(&added_.back(), origin);
  return &added_.back();
}

void SchemaDocument::Exclude(Schema schema, Exclusion exclusion) {
  exclusions_.emplace(schema, std::move(exclusion));
}

const SchemaDocument::Exclusion* SchemaDocument::FindExclusion(Schema schema) const {
  const auto found = exclusions_.find(schema);
  return found == exclusions_.end() ? nullptr : &found->second;
}

absl::Status SchemaDocument::Error(Schema schema, std::string_view keyword,
                                   std::string_view reason) const {
  if (proof_depth_ > 0) return absl::InvalidArgumentError("");
  num_steps_left_ -= static_cast<int64_t>(num_bytes_ / 64 + added_.size());
  return absl::InvalidArgumentError(absl::StrCat("schema at ", Excerpt(PointerOf(schema)),
                                                 ", keyword \"", Excerpt(keyword),
                                                 "\": ", View(reason)));
}

std::string SchemaDocument::PointerOf(Schema schema) const {
  for (auto found = origins_.find(schema); found != origins_.end();) {
    schema = found->second;
    found = origins_.find(schema);
  }
  std::string path;
  if (FindPath(*root_, schema, path)) return "#" + path;
  for (const auto& [added, origin] : origins_) {
    std::string inner;
    if (FindPath(*added, schema, inner)) return PointerOf(origin);
  }
  return "#";
}

/// Puts the way from `from` to `schema` before `path`. False if there is none.
bool SchemaDocument::FindPath(const ordered_json& from, Schema schema, std::string& path) const {
  if (&from == schema) return true;
  if (from.is_array()) {
    for (size_t i = 0; i < from.size(); ++i) {
      if (!FindPath(from[i], schema, path)) continue;
      path.insert(0, absl::StrCat("/", i));
      return true;
    }
  } else if (from.is_object()) {
    for (const auto& [key, member] : from.get_ref<const ordered_json::object_t&>()) {
      if (!FindPath(member, schema, path)) continue;
      path.insert(0, absl::StrCat("/", absl::StrReplaceAll(key, {{"~", "~0"}, {"/", "~1"}})));
      return true;
    }
  }
  return false;
}

absl::Status SchemaDocument::Spend(int64_t steps) {
  num_steps_left_ -= steps;
  if (num_steps_left_ >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the schema needs more than ", max_steps_, " steps to compile"));
}

}  // namespace shortlist
