#include "embed/transformer_file.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "embed/text_field.h"
#include "io/quote.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxSeqLen = int64_t{1} << 24;
constexpr size_t kMaxTextBytes = 256;
constexpr char kModelMaxLength[] = "model_max_length";
constexpr char kInputNames[] = "model_input_names";
constexpr char kSide[] = "truncation_side";

/// The first existing file is used.
constexpr const char* kFileNames[] = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
};

/// Arguments of a tokenizer that do not change its ids.
constexpr std::string_view kInertArguments[] = {
    "cache_dir",         "clean_up_tokenization_spaces",
    "force_download",    "local_files_only",
    "padding_side",      "revision",
    "subfolder",         "token",
    "trust_remote_code", "use_fast",
};

/// A huge number means no bound.
absl::StatusOr<std::optional<int64_t>> ReadMaxLength(const ConfigFields& fields, const char* name) {
  const json* const value = fields.Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number() && value->get<double>() > static_cast<double>(kMaxSeqLen)) {
    return std::nullopt;
  }
  return fields.Int(name, 1, kMaxSeqLen);
}

absl::StatusOr<std::optional<bool>> ReadTruncatesLeft(const ConfigFields& fields) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto side, OptionalText(fields, kSide, kMaxTextBytes));
  if (!side) return std::nullopt;
  if (*side == "left" || *side == "right") return *side == "left";
  return fields.Invalid(kSide,
                        absl::StrCat("= ", Quote(*side), " is neither \"left\" nor \"right\""));
}

absl::StatusOr<std::optional<bool>> ReadGivesTokenTypes(const ConfigFields& fields) {
  const json* const names = fields.Find(kInputNames);
  if (names == nullptr) return std::nullopt;
  if (!names->is_array()) {
    return fields.Invalid(kInputNames, absl::StrCat("= ", Quote(*names), " is not a list"));
  }
  return std::find(names->begin(), names->end(), "token_type_ids") != names->end();
}

/// Reads the tokenizer's constructor arguments, which override tokenizer_config.json. Sets
/// max_seq_len if they contain one.
absl::Status ReadProcessorArguments(const ConfigFields& fields, TransformerFile& transformer) {
  for (const auto& [name, value] : fields.object().items()) {
    const bool is_known = name == kModelMaxLength || name == kInputNames || name == kSide ||
                          std::find(std::begin(kInertArguments), std::end(kInertArguments), name) !=
                              std::end(kInertArguments);
    if (!is_known) {
      return fields.Unsupported(name.c_str(), value,
                                "model_max_length, truncation_side and model_input_names are; "
                                "tokenizer_config.json says the rest");
    }
  }
  if (fields.object().contains(kModelMaxLength)) {
    SHORTLIST_ASSIGN_OR_RETURN(transformer.max_seq_len, ReadMaxLength(fields, kModelMaxLength));
  }
  SHORTLIST_ASSIGN_OR_RETURN(transformer.tokenizer, ReadTokenizerArguments(fields));
  return absl::OkStatus();
}

/// Reads the arguments of the tokenizer's call. Sets max_seq_len if they contain one.
absl::Status ReadCallArguments(const ConfigFields& file, TransformerFile& transformer) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* const all, OptionalObject(file, "processing_kwargs"));
  if (all == nullptr) return absl::OkStatus();
  const ConfigFields sections(absl::StrCat(file.where(), ": processing_kwargs"), *all);
  for (const char* section : {"common", "text"}) {
    SHORTLIST_ASSIGN_OR_RETURN(const json* const arguments, OptionalObject(sections, section));
    if (arguments == nullptr) continue;
    const ConfigFields fields(absl::StrCat(sections.where(), ": ", section), *arguments);
    for (const auto& [name, value] : arguments->items()) {
      const bool truncates = name == "truncation" && (value == true || value == "longest_first");
      if (name == "padding" || name == "return_tensors" || truncates) continue;
      if (name == "max_length") {
        SHORTLIST_ASSIGN_OR_RETURN(transformer.max_seq_len, ReadMaxLength(fields, "max_length"));
        continue;
      }
      return fields.Unsupported(name.c_str(), value, "max_length and padding are");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TokenizerArguments> ReadTokenizerArguments(const ConfigFields& fields) {
  TokenizerArguments arguments;
  SHORTLIST_ASSIGN_OR_RETURN(arguments.truncates_left, ReadTruncatesLeft(fields));
  SHORTLIST_ASSIGN_OR_RETURN(arguments.gives_token_types, ReadGivesTokenTypes(fields));
  return arguments;
}

absl::StatusOr<std::optional<int64_t>> ReadTokenizerMaxLength(const ModelSource& source) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModuleConfig file,
                             ReadModuleConfig(source, "tokenizer_config.json"));
  const char* const name = file.object.contains(kModelMaxLength) ? kModelMaxLength : "max_len";
  return ReadMaxLength(file.fields(), name);
}

absl::StatusOr<TransformerFile> ReadTransformerFile(const ModelSource& source) {
  constexpr NeutralField kNeutral[] = {
      {"query_length", "null"}, {"document_length", "null"}, {"query_expansion", "null"}};
  TransformerFile transformer;
  for (const char* name : kFileNames) {
    SHORTLIST_ASSIGN_OR_RETURN(transformer.file, ReadModuleConfig(source, name));
    if (transformer.file.exists) break;
  }
  const ConfigFields fields = transformer.file.fields();
  SHORTLIST_RETURN_IF_ERROR(fields.CheckNeutral(kNeutral));
  if (fields.Find("max_seq_length") != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(transformer.max_seq_len,
                               fields.Int("max_seq_length", 1, kMaxSeqLen));
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(transformer.max_seq_len, ReadTokenizerMaxLength(source));
  }
  // sentence-transformers prefers the older name to the newer one.
  const char* const name = fields.Find("tokenizer_args") ? "tokenizer_args" : "processor_kwargs";
  SHORTLIST_ASSIGN_OR_RETURN(const json* const arguments, OptionalObject(fields, name));
  if (arguments != nullptr) {
    const ConfigFields members(absl::StrCat(fields.where(), ": ", name), *arguments);
    SHORTLIST_RETURN_IF_ERROR(ReadProcessorArguments(members, transformer));
  }
  SHORTLIST_RETURN_IF_ERROR(ReadCallArguments(fields, transformer));
  return transformer;
}

}  // namespace shortlist
