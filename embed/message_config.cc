#include "embed/message_config.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "embed/text_field.h"

namespace shortlist {
namespace {

using nlohmann::json;
using Format = MessageConfig::Format;

constexpr size_t kMaxNameBytes = 256;

/// Arguments of transformers' apply_chat_template that are not template variables.
constexpr std::string_view kOtherArguments[] = {
    "chat_template",
    "continue_final_message",
    "conversation",
    "documents",
    "max_length",
    "padding",
    "return_assistant_tokens_mask",
    "return_dict",
    "return_tensors",
    "tokenize",
    "tokenizer_kwargs",
    "tools",
    "truncation",
};

absl::Status ReadFormat(const ConfigFields& fields, Format& format) {
  constexpr char kName[] = "format";
  constexpr std::pair<std::string_view, Format> kFormats[] = {
      {"auto", Format::kAuto}, {"flat", Format::kFlat}, {"structured", Format::kStructured}};
  SHORTLIST_ASSIGN_OR_RETURN(const auto text, OptionalText(fields, kName, kMaxNameBytes));
  if (!text) return absl::OkStatus();
  for (const auto& [name, value] : kFormats) {
    if (*text != name) continue;
    format = value;
    return absl::OkStatus();
  }
  return fields.Unsupported(kName, *text, "flat, structured and auto are");
}

absl::Status ReadTemplateArguments(const ConfigFields& file, MessageConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* const all, OptionalObject(file, "processing_kwargs"));
  if (all == nullptr) return absl::OkStatus();
  const ConfigFields sections(absl::StrCat(file.where(), ": processing_kwargs"), *all);
  SHORTLIST_ASSIGN_OR_RETURN(const json* const arguments,
                             OptionalObject(sections, "chat_template"));
  if (arguments == nullptr) return absl::OkStatus();
  const ConfigFields fields(absl::StrCat(sections.where(), ": chat_template"), *arguments);
  SHORTLIST_ASSIGN_OR_RETURN(config.restores_end,
                             fields.Bool("restore_suffix", config.restores_end));
  SHORTLIST_ASSIGN_OR_RETURN(config.add_generation_prompt,
                             fields.Bool("add_generation_prompt", config.add_generation_prompt));
  for (const auto& [name, value] : arguments->items()) {
    if (name == "restore_suffix" || name == "add_generation_prompt") continue;
    if (std::find(std::begin(kOtherArguments), std::end(kOtherArguments), name) !=
        std::end(kOtherArguments)) {
      return fields.Unsupported(name.c_str(), value,
                                "restore_suffix, add_generation_prompt and the template's own "
                                "variables are");
    }
    config.variables[name] = value;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<MessageConfig>> ReadMessageConfig(const ConfigFields& fields,
                                                               const char* output_name) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* const modalities,
                             OptionalObject(fields, "modality_config"));
  if (modalities == nullptr) return std::nullopt;
  const ConfigFields members(absl::StrCat(fields.where(), ": modality_config"), *modalities);
  SHORTLIST_ASSIGN_OR_RETURN(const json* const text, OptionalObject(members, "text"));
  if (text == nullptr) return members.Invalid("text", "is missing");
  SHORTLIST_ASSIGN_OR_RETURN(const json* const message, OptionalObject(members, "message"));
  for (const auto& [name, member] : {std::pair("text", text), std::pair("message", message)}) {
    if (member == nullptr) continue;
    SHORTLIST_RETURN_IF_ERROR(
        CheckTexts(ConfigFields(absl::StrCat(members.where(), ": ", name), *member),
                   {{"method", "forward"}, {"method_output_name", output_name}}));
  }
  if (message == nullptr) return std::nullopt;
  MessageConfig config;
  SHORTLIST_RETURN_IF_ERROR(ReadFormat(
      ConfigFields(absl::StrCat(members.where(), ": message"), *message), config.format));
  SHORTLIST_RETURN_IF_ERROR(ReadTemplateArguments(fields, config));
  return config;
}

}  // namespace shortlist
