#include "grammar/json_schema_document.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/excerpt.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

/// Members whose value is data, not a schema.
constexpr std::array<std::string_view, 4> kDataKeywords = {"const", "default", "enum", "examples"};

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::optional<int> HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') return lower - 'a' + 10;
  return std::nullopt;
}

/// Replaces %XX by the byte.
std::string DecodePercent(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto high = i + 2 < text.size() && text[i] == '%' ? HexValue(text[i + 1]) : std::nullopt;
    const auto low = high.has_value() ? HexValue(text[i + 2]) : std::nullopt;
    decoded += low.has_value() ? static_cast<char>(*high * 16 + *low) : text[i];
    if (low.has_value()) i += 2;
  }
  return decoded;
}

/// Returns the member of `from` that one part of a JSON pointer (RFC 6901) names, or null.
Schema Child(Schema from, std::string_view part) {
  const std::string key = absl::StrReplaceAll(View(part), {{"~1", "/"}, {"~0", "~"}});
  if (from->is_object()) {
    const auto found = from->find(key);
    return found == from->end() ? nullptr : &*found;
  }
  if (!from->is_array() || key.empty() || key.size() > 6 ||
      key.find_first_not_of("0123456789") != key.npos || (key.size() > 1 && key[0] == '0')) {
    return nullptr;
  }
  const size_t index = std::stoul(key);
  return index < from->size() ? &(*from)[index] : nullptr;
}

}  // namespace

absl::StatusOr<SchemaDocument> SchemaDocument::Create(const ordered_json& root) {
  SchemaDocument document;
  document.root_ = &root;
  if (root.is_object() && root.contains("$id") && root["$id"].is_string()) {
    document.id_ = root["$id"].get<std::string>();
  }
  SHORTLIST_RETURN_IF_ERROR(document.Survey(root, 0, /*is_data=*/false));
  return document;
}

/// Bounds the size of `value` and finds its anchors.
absl::Status SchemaDocument::Survey(const ordered_json& value, int depth, bool is_data) {
  if (depth > kMaxDepth) {
    return absl::InvalidArgumentError(absl::StrCat("schema nests deeper than ", kMaxDepth));
  }
  num_bytes_ += value.is_string() ? value.get_ref<const std::string&>().size() + 2 : 2;
  if (num_bytes_ > kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat("schema exceeds ", kMaxBytes, " bytes"));
  }
  if (value.is_array()) {
    for (const ordered_json& item : value) {
      SHORTLIST_RETURN_IF_ERROR(Survey(item, depth + 1, is_data));
    }
  }
  if (!value.is_object()) return absl::OkStatus();
  for (const auto& [key, member] : value.items()) {
    num_bytes_ += key.size() + 3;
    if (member.is_string() && !is_data) {
      const auto& text = member.get_ref<const std::string&>();
      if (key == "$anchor" || key == "$dynamicAnchor") {
        AddAnchor(text, &value);
      } else if (key == "$id" && text.starts_with('#')) {
        AddAnchor(text.substr(1), &value);
      } else if (key == "$id" && depth > 0) {
        has_inner_id_ = true;
      }
    }
    const bool member_is_data =
        is_data || std::ranges::find(kDataKeywords, key) != kDataKeywords.end();
    SHORTLIST_RETURN_IF_ERROR(Survey(member, depth + 1, member_is_data));
  }
  return absl::OkStatus();
}

void SchemaDocument::AddAnchor(const std::string& name, Schema schema) {
  const auto [found, is_new] = anchors_.try_emplace(name, schema);
  if (!is_new && found->second != schema) found->second = nullptr;
}

absl::StatusOr<Schema> SchemaDocument::Resolve(Schema schema) const {
  const ordered_json& value = schema->at("$ref");
  if (!value.is_string()) return Error(schema, "$ref", "not a string");
  const auto& ref = value.get_ref<const std::string&>();
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
  return absl::InvalidArgumentError(absl::StrCat("schema at ", Excerpt(PointerOf(schema)),
                                                 ", keyword \"", Excerpt(keyword),
                                                 "\": ", View(reason)));
}

std::string SchemaDocument::PointerOf(Schema schema) const {
  for (auto found = origins_.find(schema); found != origins_.end();) {
    schema = found->second;
    found = origins_.find(schema);
  }
  std::string path = "#";
  if (FindPath(*root_, schema, path)) return path;
  for (const auto& [added, origin] : origins_) {
    std::string inner;
    if (FindPath(*added, schema, inner)) return PointerOf(origin);
  }
  return "#";
}

/// Appends the way from `from` to `schema`. False if there is none.
bool SchemaDocument::FindPath(const ordered_json& from, Schema schema, std::string& path) const {
  if (&from == schema) return true;
  if (!from.is_structured()) return false;
  const size_t size = path.size();
  for (const auto& [key, member] : from.items()) {
    if (!member.is_structured() && &member != schema) continue;
    absl::StrAppend(&path, "/", absl::StrReplaceAll(key, {{"~", "~0"}, {"/", "~1"}}));
    if (FindPath(member, schema, path)) return true;
    path.resize(size);
  }
  return false;
}

absl::Status SchemaDocument::Spend(int64_t steps) {
  num_steps_left_ -= steps;
  if (num_steps_left_ >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the schema needs more than ", kMaxSteps, " steps to compile"));
}

}  // namespace shortlist
