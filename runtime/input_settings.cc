#include "runtime/input_settings.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "embed/modules_file.h"
#include "embed/text_field.h"
#include "embed/transformer_file.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/tokenizer_class.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr char kTokenizerFile[] = "tokenizer.json";
constexpr int64_t kMaxTokenizerBytes = int64_t{256} << 20;
constexpr size_t kMaxNameBytes = 256;

/// Reads the member "truncation" of tokenizer.json; null if there is none. Other members of the
/// file, which may be large, are skipped.
absl::StatusOr<json> ReadTruncation(const ModelSource& source) {
  if (!source.Contains(kTokenizerFile)) return json();
  SHORTLIST_ASSIGN_OR_RETURN(const std::string text,
                             source.Read(kTokenizerFile, kMaxTokenizerBytes));
  const auto keep = [](int depth, json::parse_event_t event, json& value) {
    return depth != 1 || event != json::parse_event_t::key || value == "truncation";
  };
  const json file = json::parse(text, keep, /*allow_exceptions=*/false);
  if (!file.is_object() || !file.contains("truncation")) return json();
  return file["truncation"];
}

absl::StatusOr<bool> TruncatesLeft(const ModelSource& source) {
  constexpr char kName[] = "direction";
  const std::string path = source.PathOf(kTokenizerFile);
  SHORTLIST_ASSIGN_OR_RETURN(const json truncation, ReadTruncation(source));
  if (truncation.is_null()) return false;
  if (!truncation.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": truncation = ", Quote(truncation), " is not an object"));
  }
  const ConfigFields members(path + ": truncation", truncation);
  SHORTLIST_ASSIGN_OR_RETURN(const auto side, OptionalText(members, kName, kMaxNameBytes));
  if (side && *side != "Left" && *side != "Right") {
    return members.Invalid(kName,
                           absl::StrCat("= ", Quote(*side), " is neither \"Left\" nor \"Right\""));
  }
  return side == "Left";
}

/// True if the tokenizer's class gives token types.
absl::StatusOr<bool> ClassGivesTokenTypes(const ModelSource& source, const ConfigFields& config) {
  constexpr char kClass[] = "tokenizer_class";
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig model, ReadModuleConfig(source, "config.json"));
  const ConfigFields fields = model.fields();
  SHORTLIST_ASSIGN_OR_RETURN(auto name, OptionalText(config, kClass, kMaxNameBytes));
  if (!name) {
    SHORTLIST_ASSIGN_OR_RETURN(name, OptionalText(fields, kClass, kMaxNameBytes));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const auto type, OptionalText(fields, "model_type", kMaxNameBytes));
  return GivesTokenTypes(name.value_or(""), type.value_or(""));
}

}  // namespace

absl::StatusOr<InputSettings> ReadInputSettings(const ModelSource& source,
                                                const TokenizerArguments& overrides) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file,
                             ReadModuleConfig(source, "tokenizer_config.json"));
  SHORTLIST_ASSIGN_OR_RETURN(TokenizerArguments arguments, ReadTokenizerArguments(file.fields()));
  if (overrides.truncates_left) arguments.truncates_left = overrides.truncates_left;
  if (overrides.gives_token_types) arguments.gives_token_types = overrides.gives_token_types;
  if (!arguments.truncates_left) {
    SHORTLIST_ASSIGN_OR_RETURN(arguments.truncates_left, TruncatesLeft(source));
  }
  if (!arguments.gives_token_types) {
    SHORTLIST_ASSIGN_OR_RETURN(arguments.gives_token_types,
                               ClassGivesTokenTypes(source, file.fields()));
  }
  return InputSettings{
      .side = *arguments.truncates_left ? Truncation::Side::kLeft : Truncation::Side::kRight,
      .gives_token_types = *arguments.gives_token_types};
}

}  // namespace shortlist
