#include "text/tokenizer/json_shape.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"

namespace shortlist {
namespace {

using nlohmann::json;
using Names = std::vector<const char*>;

constexpr std::array<std::string_view, 9> kMembers = {
    "version",       "truncation",     "padding", "added_tokens", "normalizer",
    "pre_tokenizer", "post_processor", "decoder", "model"};

/// A type of step, and the members without which the library (0.22, 0.23) rejects it.
struct StepShape {
  const char* type;
  Names needed;
};
/// A member of the document that holds a step, and the types with needed members. Those of other
/// types need none, or are unknown.
struct Slot {
  const char* name;
  std::vector<StepShape> steps;
  const char* sequence;  // member of a Sequence that lists its steps; null: no Sequence
};

const std::vector<Slot>& Slots() {
  static const auto* const slots = new std::vector<Slot>{
      {"normalizer",
       {{"BertNormalizer", {"clean_text", "handle_chinese_chars", "lowercase"}},
        {"Strip", {"strip_left", "strip_right"}},
        {"Prepend", {"prepend"}},
        {"Replace", {"pattern", "content"}}},
       "normalizers"},
      {"pre_tokenizer",
       {{"ByteLevel", {"add_prefix_space", "trim_offsets"}},
        {"CharDelimiterSplit", {"delimiter"}},
        {"Digits", {"individual_digits"}},
        {"Metaspace", {"replacement"}},
        {"Split", {"pattern", "behavior", "invert"}}},
       "pretokenizers"},
      {"post_processor",
       {{"BertProcessing", {"sep", "cls"}},
        {"RobertaProcessing", {"sep", "cls"}},
        {"ByteLevel", {"add_prefix_space", "trim_offsets"}},
        {"TemplateProcessing", {"single", "pair", "special_tokens"}}},
       "processors"},
      {"decoder",
       {{"ByteLevel", {"add_prefix_space", "trim_offsets"}},
        {"WordPiece", {"prefix", "cleanup"}},
        {"Strip", {"content", "start", "stop"}},
        {"Replace", {"pattern", "content"}},
        {"Metaspace", {"replacement"}},
        {"BPEDecoder", {"suffix"}},
        {"CTC", {"pad_token", "word_delimiter_token", "cleanup"}}},
       "decoders"},
      {"model",
       {{"BPE", {"vocab", "merges"}},
        {"WordPiece",
         {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"}},
        {"WordLevel", {"vocab", "unk_token"}},
        {"Unigram", {"vocab"}}},
       nullptr}};
  return *slots;
}

absl::Status CheckHas(const json& object, const Names& needed, const std::string& where) {
  for (const char* const name : needed) {
    if (object.contains(name)) continue;
    return absl::InvalidArgumentError(absl::StrCat(where, ": no \"", name, "\""));
  }
  return absl::OkStatus();
}

absl::Status CheckTemplate(const json& step, const std::string& where) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* tokens, FindMember(step, "special_tokens"));
  if (tokens == nullptr || !tokens->is_object()) return absl::OkStatus();
  for (const auto& [name, token] : tokens->items()) {
    if (!token.is_object()) continue;
    SHORTLIST_RETURN_IF_ERROR(CheckHas(token, {"id", "ids", "tokens"},
                                       absl::StrCat(where, ": special_tokens: ", Excerpt(name))));
  }
  return absl::OkStatus();
}

absl::Status CheckStep(const json& step, const Slot& slot) {
  if (!step.is_object() || !step.contains("type") || !step["type"].is_string()) {
    return absl::OkStatus();
  }
  const std::string type = step["type"].get<std::string>();
  const std::string where = absl::StrCat(slot.name, ": ", Excerpt(type));
  if (type == "Sequence" && slot.sequence != nullptr) {
    SHORTLIST_RETURN_IF_ERROR(CheckHas(step, {slot.sequence}, where));
    const json& members = step[slot.sequence];
    if (!members.is_array()) return absl::OkStatus();
    for (const json& member : members) SHORTLIST_RETURN_IF_ERROR(CheckStep(member, slot));
    return absl::OkStatus();
  }
  for (const StepShape& shape : slot.steps) {
    if (type == shape.type) SHORTLIST_RETURN_IF_ERROR(CheckHas(step, shape.needed, where));
  }
  return type == "TemplateProcessing" ? CheckTemplate(step, where) : absl::OkStatus();
}

/// The member `name`, which is absent, null or an object with the members `needed`.
absl::Status CheckObject(const json& document, const char* name, const Names& needed) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* member, FindMember(document, name));
  if (member == nullptr) return absl::OkStatus();
  if (!member->is_object()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is not an object"));
  }
  return CheckHas(*member, needed, name);
}

absl::Status CheckAddedTokens(const json& document) {
  if (!document.contains("added_tokens")) return absl::OkStatus();
  const json& tokens = document["added_tokens"];
  if (!tokens.is_array()) return absl::InvalidArgumentError("\"added_tokens\" is not an array");
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is_object()) continue;
    SHORTLIST_RETURN_IF_ERROR(CheckHas(
        tokens[i], {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"},
        absl::StrCat("added_tokens[", i, "]")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckJsonShape(const json& document) {
  if (!document.is_object()) return absl::InvalidArgumentError("not a JSON object");
  for (const auto& [name, value] : document.items()) {
    if (std::ranges::find(kMembers, name) != kMembers.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("\"", Excerpt(name), "\" is not a member of a tokenizer"));
  }
  if (document.contains("version") && document["version"] != "1.0") {
    return absl::InvalidArgumentError(absl::StrCat("version ", Excerpt(document["version"].dump()),
                                                   " is not supported; \"1.0\" is"));
  }
  SHORTLIST_RETURN_IF_ERROR(
      CheckObject(document, "truncation", {"max_length", "strategy", "stride"}));
  SHORTLIST_RETURN_IF_ERROR(CheckObject(
      document, "padding", {"strategy", "direction", "pad_id", "pad_type_id", "pad_token"}));
  SHORTLIST_RETURN_IF_ERROR(CheckAddedTokens(document));
  for (const Slot& slot : Slots()) {
    if (!document.contains(slot.name)) continue;
    SHORTLIST_RETURN_IF_ERROR(CheckStep(document[slot.name], slot));
  }
  return absl::OkStatus();
}

}  // namespace shortlist
