#include "grammar/tag_document.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "grammar/structural_tag.h"

namespace shortlist {

using nlohmann::ordered_json;

namespace {

// The parts of a TagError in a status.
constexpr char kPointer[] = "shortlist/tag_pointer";
constexpr char kReason[] = "shortlist/tag_reason";

}  // namespace

absl::Status TagPart::Error(const std::string& message) const {
  absl::Status status = absl::InvalidArgumentError(
      absl::StrCat("structural tag, ", Excerpt(pointer_), ": ", message));
  status.SetPayload(kPointer, absl::Cord(pointer_.substr(1)));  // without "#"
  status.SetPayload(kReason, absl::Cord(message));
  return status;
}

std::optional<TagError> TagErrorOf(const absl::Status& status) {
  const auto pointer = status.GetPayload(kPointer);
  const auto reason = status.GetPayload(kReason);
  if (!pointer.has_value() || !reason.has_value()) return std::nullopt;
  return TagError{std::string(*pointer), std::string(*reason)};
}

std::string TagPart::Dump() const {
  return value_->dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
}

absl::Status TagPart::CheckMembers(std::span<const std::string_view> names) const {
  if (!value_->is_object()) return Error("an object is wanted");
  for (const auto& [name, unused] : value_->items()) {
    if (name == "type" || (!name.empty() && std::ranges::find(names, name) != names.end())) {
      continue;
    }
    return Error(absl::StrCat(Excerpt(name), " is not supported here"));
  }
  return absl::OkStatus();
}

bool TagPart::Has(const char* name) const {
  const auto found = value_->find(name);
  return found != value_->end() && !found->is_null();
}

absl::StatusOr<TagPart> TagPart::Member(const char* name) const {
  if (!Has(name)) return Error(absl::StrCat(name, " is missing"));
  return TagPart((*value_)[name], absl::StrCat(pointer_, "/", name));
}

absl::StatusOr<std::vector<TagPart>> TagPart::Items(const char* name) const {
  SHORTLIST_ASSIGN_OR_RETURN(const TagPart list, Member(name));
  if (!list.value_->is_array() || list.value_->empty()) {
    return list.Error("an array with at least one item is wanted");
  }
  std::vector<TagPart> items;
  for (const ordered_json& item : *list.value_) {
    items.push_back(TagPart(item, absl::StrCat(list.pointer_, "/", items.size())));
  }
  return items;
}

absl::StatusOr<std::string> TagPart::AsText() const {
  if (!value_->is_string()) return Error("a text is wanted");
  const auto& text = value_->get_ref<const std::string&>();
  if (FindInvalidUtf8(text).has_value()) return Error("the text is not UTF-8");
  return text;
}

absl::StatusOr<std::string> TagPart::Text(const char* name) const {
  SHORTLIST_ASSIGN_OR_RETURN(const TagPart member, Member(name));
  return member.AsText();
}

absl::StatusOr<std::string> TagPart::Text(const char* name, const char* missing) const {
  if (!Has(name)) return std::string(missing);
  return Text(name);
}

absl::StatusOr<std::vector<std::string>> TagPart::Texts(const char* name) const {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TagPart> items, Items(name));
  std::vector<std::string> texts;
  for (const TagPart& item : items) {
    SHORTLIST_ASSIGN_OR_RETURN(std::string text, item.AsText());
    if (text.empty()) return item.Error("the text is empty");
    texts.push_back(std::move(text));
  }
  return texts;
}

absl::StatusOr<std::vector<std::string>> TagPart::TextOrTexts(const char* name) const {
  SHORTLIST_ASSIGN_OR_RETURN(const TagPart member, Member(name));
  std::vector<std::string> texts;
  if (!member.value_->is_array()) {
    SHORTLIST_ASSIGN_OR_RETURN(texts.emplace_back(), member.AsText());
    return texts;
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TagPart> items, Items(name));
  for (const TagPart& item : items) {
    SHORTLIST_ASSIGN_OR_RETURN(texts.emplace_back(), item.AsText());
  }
  return texts;
}

absl::StatusOr<bool> TagPart::Flag(const char* name) const {
  if (!Has(name)) return false;
  SHORTLIST_ASSIGN_OR_RETURN(const TagPart member, Member(name));
  if (!member.value_->is_boolean()) return member.Error("true or false is wanted");
  return member.value_->get<bool>();
}

absl::StatusOr<int64_t> TagPart::Count(const char* name, int64_t lowest) const {
  constexpr int64_t kHighest = 1'000'000;
  SHORTLIST_ASSIGN_OR_RETURN(const TagPart member, Member(name));
  if (member.value_->is_number_integer()) {
    const double count = member.value_->get<double>();  // an int64_t does not hold all of them
    if (count >= static_cast<double>(lowest) && count <= static_cast<double>(kHighest)) {
      return static_cast<int64_t>(count);
    }
  }
  return member.Error(absl::StrCat("an integer in [", lowest, ", ", kHighest, "] is wanted"));
}

ordered_json TagFormatOf(const GrammarSpec& spec) {
  switch (spec.kind) {
    case GrammarSpec::Kind::kJsonSchema:
      return {{"type", "json_schema"}, {"json_schema", spec.schema}};
    case GrammarSpec::Kind::kJsonObject:
      return {{"type", "json_schema"}, {"json_schema", {{"type", "object"}}}};
    case GrammarSpec::Kind::kRegex:
      return {{"type", "regex"}, {"pattern", spec.text}};
    case GrammarSpec::Kind::kEbnf:
      return {{"type", "grammar"}, {"grammar", spec.text}};
    case GrammarSpec::Kind::kStructuralTag:
      return spec.schema["format"];
    case GrammarSpec::Kind::kChoice:
      break;
  }
  ordered_json texts = ordered_json::array();
  for (const std::string& choice : spec.choices) {
    texts.push_back({{"type", "const_string"}, {"value", choice}});
  }
  return {{"type", "or"}, {"elements", std::move(texts)}};
}

}  // namespace shortlist
