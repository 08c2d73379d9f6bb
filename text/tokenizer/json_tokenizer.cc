#include "text/tokenizer/json_tokenizer.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/added_token_list.h"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/pipeline_tokenizer.h"
#include "text/tokenizer/tokenizer_class.h"
#include "text/tokenizer/words/json_model.h"
#include "text/tokenizer_config.h"

namespace shortlist {
namespace {

using nlohmann::json;

const json& MemberOrNull(const json& object, const char* name) {
  static const json kNull;
  const auto member = object.find(name);
  return member == object.end() ? kNull : *member;
}

/// Rejects a model's vocabulary with gaps that no added token fills. Added tokens themselves may
/// have any ids after it: the files made from cl100k's ranks leave gaps between them.
absl::Status CheckComplete(const Vocabulary& vocabulary, const std::vector<AddedToken>& added) {
  std::vector<int32_t> ids;
  for (const AddedToken& token : added) ids.push_back(token.id);
  return vocabulary.CheckComplete(ids);
}

/// Returns the spelling of the token `name` in `config`, or else in the class.
std::optional<std::string> SpellingOf(const json& config, const ClassParts& parts,
                                      std::string_view name) {
  const auto member = config.find(std::string(name));
  if (member != config.end()) {
    const json& spelling = member->is_object() ? MemberOrNull(*member, "content") : *member;
    if (!spelling.is_string()) return std::nullopt;
    return spelling.get<std::string>();
  }
  for (const auto& [own_name, content] : parts.special_tokens) {
    if (own_name == name) return std::string(content);
  }
  return std::nullopt;
}

bool IsNull(const json& config, std::string_view name) {
  const auto member = config.find(std::string(name));
  return member != config.end() && member->is_null();
}

/// Returns the parts of a template with ids; nullopt if a token does not exist.
std::optional<std::vector<SequenceTemplate::Part>> FillIn(
    const std::vector<ClassTemplate::Part>& spec, const json& config, const ClassParts& parts,
    const TokenizerPipeline& pipeline) {
  std::vector<SequenceTemplate::Part> result;
  for (const ClassTemplate::Part& part : spec) {
    if (part.name == "A") {
      result.push_back(SequenceTemplate::First(part.type_id));
    } else if (part.name == "B") {
      result.push_back(SequenceTemplate::Second(part.type_id));
    } else if (part.is_optional && IsNull(config, part.name)) {
      continue;
    } else if (part.id_if_null.has_value() && IsNull(config, part.name)) {
      if (*part.id_if_null >= pipeline.size()) return std::nullopt;
      result.push_back(SequenceTemplate::Token(TokenId{*part.id_if_null}, part.type_id));
    } else {
      const std::optional<std::string> spelling = SpellingOf(config, parts, part.name);
      if (!spelling.has_value()) return std::nullopt;
      const std::optional<int32_t> id = pipeline.FindToken(*spelling);
      if (!id.has_value()) return std::nullopt;
      result.push_back(SequenceTemplate::Token(TokenId{*id}, part.type_id));
    }
  }
  return result;
}

/// Returns the names of the tokens in `spec`, for messages.
std::string NamesOf(const ClassTemplate& spec) {
  std::set<std::string> names;
  for (const ClassTemplate::Part& part : spec.pair) {
    if (part.name != "A" && part.name != "B") names.emplace(part.name);
  }
  return absl::StrJoin(names, ", ");
}

/// Puts the template of the class into `pipeline`, if all its tokens exist; otherwise warns.
void FollowClass(const json& config, const ClassParts& parts, TokenizerPipeline& pipeline) {
  if (!parts.sequence_template.has_value()) return;
  auto single = FillIn(parts.sequence_template->single, config, parts, pipeline);
  auto pair = FillIn(parts.sequence_template->pair, config, parts, pipeline);
  if (!single.has_value() || !pair.has_value()) {
    pipeline.warnings.push_back(
        absl::StrCat("the tokenizer class puts ", NamesOf(*parts.sequence_template),
                     " before or after a text, and not all of them are tokens: it is encoded as "
                     "tokenizer.json says"));
    return;
  }
  pipeline.sequence_template = {.single = *std::move(single), .pair = *std::move(pair)};
}

/// Like transformers 5: output of BPE is not cleaned up unless a second member demands it.
absl::StatusOr<bool> CleansUpSpaces(const json& config, std::string_view kind) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool cleans,
                             ReadBool(config, "clean_up_tokenization_spaces", false));
  if (!cleans || kind != "BPE") return cleans;
  return ReadBool(config, "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
                  false);
}

absl::StatusOr<std::optional<TokenId>> FindNamed(const std::optional<std::string>& token,
                                                 const char* name,
                                                 const TokenizerPipeline& pipeline) {
  if (!token.has_value()) return std::nullopt;
  const std::optional<int32_t> id = pipeline.FindToken(*token);
  if (!id.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " \"", token->substr(0, 80), "\" is no token"));
  }
  return TokenId{*id};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> ParseJsonTokenizer(const json& document,
                                                              const json& config,
                                                              const json& model_config) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* model_spec, FindMember(document, "model"));
  if (model_spec == nullptr) return absl::InvalidArgumentError("no \"model\"");
  SHORTLIST_ASSIGN_OR_RETURN(const TokenizerConfig settings, ParseTokenizerConfig(config));
  SHORTLIST_ASSIGN_OR_RETURN(const ClassParts parts, PartsOfClass(document, config, model_config));
  TokenizerPipeline pipeline;
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.normalizer, ParseNormalizer(parts.normalizer));
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.pre_tokenizer,
                             ParsePreTokenizer(parts.pre_tokenizer, CanTakeBytes(*model_spec)));
  ModelSettings model_settings = parts.model;
  if (parts.names_unk_of_model) model_settings.unk = SpellingOf(config, parts, "unk_token");
  SHORTLIST_ASSIGN_OR_RETURN(
      JsonModel model,
      ParseModel(*model_spec, pipeline.pre_tokenizer.ends_in_byte_level, model_settings));
  pipeline.kind = std::move(model.kind);
  pipeline.vocabulary = std::move(model.vocabulary);
  pipeline.model = std::move(model.model);
  SHORTLIST_ASSIGN_OR_RETURN(AddedTokens added, ReadAddedTokens(document, config, model_config,
                                                                parts, *pipeline.vocabulary));
  pipeline.added_tokens = std::move(added.tokens);
  pipeline.warnings = parts.warnings;
  std::ranges::move(added.warnings, std::back_inserter(pipeline.warnings));
  SHORTLIST_RETURN_IF_ERROR(CheckComplete(*pipeline.vocabulary, pipeline.added_tokens));
  std::string suffix;
  if (parts.decodes_word_ends) {
    SHORTLIST_ASSIGN_OR_RETURN(suffix, ReadEndOfWordSuffix(*model_spec));
  }
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.decoder, ParseDecoder(parts.decoder, suffix));
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.cleans_up_spaces, CleansUpSpaces(config, pipeline.kind));
  SHORTLIST_ASSIGN_OR_RETURN(
      pipeline.sequence_template,
      ParseSequenceTemplate(MemberOrNull(document, "post_processor"), pipeline.size()));

  SHORTLIST_ASSIGN_OR_RETURN(pipeline.bos, FindNamed(settings.bos, "bos_token", pipeline));
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.eos, FindNamed(settings.eos, "eos_token", pipeline));
  FollowClass(config, parts, pipeline);
  return PipelineTokenizer::Create(std::move(pipeline));
}

}  // namespace shortlist
