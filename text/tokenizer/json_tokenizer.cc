#include "text/tokenizer/json_tokenizer.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/pipeline_tokenizer.h"
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

/// The added tokens of both files; where both have one, tokenizer.json's counts. Refuses a token
/// whose id is not its own.
absl::StatusOr<std::vector<AddedToken>> ReadAddedTokens(const json& document, const json& config,
                                                        const Vocabulary& vocabulary) {
  std::vector<AddedToken> candidates;
  SHORTLIST_ASSIGN_OR_RETURN(const json* members, ReadArray(document, "added_tokens"));
  for (const json& member : *members) {
    SHORTLIST_ASSIGN_OR_RETURN(AddedToken token, ParseAddedToken(member));
    candidates.push_back(std::move(token));
  }
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<AddedToken> more, ReadAddedTokensOfConfig(config));
  for (AddedToken& token : more) candidates.push_back(std::move(token));

  std::vector<AddedToken> tokens;
  std::map<std::string, int32_t> id_of;
  std::map<int32_t, std::string> content_of;
  for (AddedToken& token : candidates) {
    const auto refuse = [&token](const std::string& what) {
      return absl::InvalidArgumentError(absl::StrCat("added token \"", token.content.substr(0, 80),
                                                     "\" has id ", token.id, ", ", what));
    };
    const std::optional<int32_t> known = vocabulary.Find(token.content);
    if (known.has_value() && *known != token.id) {
      return refuse(absl::StrCat("but the vocabulary gives it ", *known));
    }
    if (!known.has_value() && token.id < vocabulary.size() && vocabulary.Has(token.id)) {
      return refuse(absl::StrCat("which is \"", vocabulary.token(token.id).substr(0, 80), "\""));
    }
    const auto [by_content, is_new] = id_of.emplace(token.content, token.id);
    if (!is_new && by_content->second == token.id) continue;
    if (!is_new) return refuse(absl::StrCat("and ", by_content->second, " as well"));
    const auto [by_id, is_free] = content_of.emplace(token.id, token.content);
    if (!is_free) return refuse(absl::StrCat("which is \"", by_id->second.substr(0, 80), "\""));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

/// Refuses a model's vocabulary with gaps that no added token fills. Added tokens themselves may
/// lie anywhere behind it: the files made from cl100k's ranks leave ids between them free.
absl::Status CheckComplete(const Vocabulary& vocabulary, const std::vector<AddedToken>& added) {
  std::vector<int32_t> ids;
  for (const AddedToken& token : added) ids.push_back(token.id);
  return vocabulary.CheckComplete(ids);
}

/// As transformers 5 has it: the post-processor decides what goes round a text, whatever
/// add_bos_token and add_eos_token say. CodeLlama's class puts BOS first in any case.
void FollowClass(const TokenizerConfig& config, TokenizerPipeline& pipeline) {
  if (!config.tokenizer_class.starts_with("CodeLlama") || !pipeline.bos) return;
  pipeline.sequence_template = WithEnds({*pipeline.bos}, {});
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
                                                              const json& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* model_spec, FindMember(document, "model"));
  if (model_spec == nullptr) return absl::InvalidArgumentError("no \"model\"");
  TokenizerPipeline pipeline;
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.normalizer,
                             ParseNormalizer(MemberOrNull(document, "normalizer")));
  SHORTLIST_ASSIGN_OR_RETURN(
      pipeline.pre_tokenizer,
      ParsePreTokenizer(MemberOrNull(document, "pre_tokenizer"), CanTakeBytes(*model_spec)));
  SHORTLIST_ASSIGN_OR_RETURN(JsonModel model,
                             ParseModel(*model_spec, pipeline.pre_tokenizer.ends_in_byte_level));
  pipeline.kind = std::move(model.kind);
  pipeline.vocabulary = std::move(model.vocabulary);
  pipeline.model = std::move(model.model);
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.added_tokens,
                             ReadAddedTokens(document, config, *pipeline.vocabulary));
  SHORTLIST_RETURN_IF_ERROR(CheckComplete(*pipeline.vocabulary, pipeline.added_tokens));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string suffix, ReadEndOfWordSuffix(*model_spec));
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.decoder,
                             ParseDecoder(MemberOrNull(document, "decoder"), suffix));
  SHORTLIST_ASSIGN_OR_RETURN(
      pipeline.sequence_template,
      ParseSequenceTemplate(MemberOrNull(document, "post_processor"), pipeline.size()));

  SHORTLIST_ASSIGN_OR_RETURN(const TokenizerConfig settings, ParseTokenizerConfig(config));
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.bos, FindNamed(settings.bos, "bos_token", pipeline));
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.eos, FindNamed(settings.eos, "eos_token", pipeline));
  FollowClass(settings, pipeline);
  return PipelineTokenizer::Create(std::move(pipeline));
}

}  // namespace shortlist
