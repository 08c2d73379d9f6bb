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

AddedToken PlainSpecialToken(std::string content, int32_t id) {
  return {.content = std::move(content), .id = id, .normalized = false, .special = true};
}

/// Collects added tokens, each under its own id.
class AddedTokenList {
 public:
  /// Where `named_are_plain`, named tokens are special and have no other flag, whatever is given.
  AddedTokenList(const Vocabulary& vocabulary, bool named_are_plain)
      : vocabulary_(vocabulary), named_are_plain_(named_are_plain) {}

  /// Adds `token`. One of the same spelling that is there already takes the flags of `token`, and
  /// stays special. InvalidArgument for an id that is not the token's own.
  absl::Status Add(AddedToken token) {
    SHORTLIST_RETURN_IF_ERROR(CheckId(token));
    const auto [at, is_new] = index_of_.emplace(token.content, tokens_.size());
    if (!is_new) {
      AddedToken& known = tokens_[at->second];
      token.special |= known.special;
      known = std::move(token);
      return absl::OkStatus();
    }
    tokens_.push_back(std::move(token));
    return absl::OkStatus();
  }

  /// Adds a special token that is in the vocabulary. Ignores one that is not: no model knows it.
  void AddNamed(const NamedToken& named) {
    const auto known = index_of_.find(named.token.content);
    if (known != index_of_.end()) {
      AddedToken& token = tokens_[known->second];
      if (named_are_plain_) {
        token = PlainSpecialToken(token.content, token.id);
      } else {
        token.special |= named.is_standard;
      }
      return;
    }
    const std::optional<int32_t> id = vocabulary_.Find(named.token.content);
    if (!id.has_value()) return;
    index_of_.emplace(named.token.content, tokens_.size());
    tokens_.push_back(named_are_plain_ ? PlainSpecialToken(named.token.content, *id) : named.token);
    tokens_.back().id = *id;
  }

  std::vector<AddedToken> Take() { return std::move(tokens_); }

 private:
  absl::Status CheckId(const AddedToken& token) {
    const auto refuse = [&token](const std::string& what) {
      return absl::InvalidArgumentError(absl::StrCat("added token \"", token.content.substr(0, 80),
                                                     "\" has id ", token.id, ", ", what));
    };
    const std::optional<int32_t> known = vocabulary_.Find(token.content);
    if (known.has_value() && *known != token.id) {
      return refuse(absl::StrCat("but the vocabulary gives it ", *known));
    }
    if (!known.has_value() && token.id < vocabulary_.size() && vocabulary_.Has(token.id)) {
      return refuse(absl::StrCat("which is \"", vocabulary_.token(token.id).substr(0, 80), "\""));
    }
    const auto other_id = index_of_.find(token.content);
    if (other_id != index_of_.end() && tokens_[other_id->second].id != token.id) {
      return refuse(absl::StrCat("and ", tokens_[other_id->second].id, " as well"));
    }
    const auto [by_id, is_free] = content_of_.emplace(token.id, token.content);
    if (!is_free && by_id->second != token.content) {
      return refuse(absl::StrCat("which is \"", by_id->second.substr(0, 80), "\""));
    }
    return absl::OkStatus();
  }

  const Vocabulary& vocabulary_;
  const bool named_are_plain_;
  std::vector<AddedToken> tokens_;
  std::map<std::string, size_t> index_of_;
  std::map<int32_t, std::string> content_of_;
};

/// The added tokens of tokenizer.json and of `config`, whose flags count where both have a token;
/// then the special tokens that `config` names and those of the class.
absl::StatusOr<std::vector<AddedToken>> ReadAddedTokens(const json& document, const json& config,
                                                        const ClassParts& parts,
                                                        const Vocabulary& vocabulary) {
  AddedTokenList tokens(vocabulary, parts.special_tokens_are_plain);
  SHORTLIST_ASSIGN_OR_RETURN(const json* members, ReadArray(document, "added_tokens"));
  for (const json& member : *members) {
    SHORTLIST_ASSIGN_OR_RETURN(AddedToken token, ParseAddedToken(member));
    SHORTLIST_RETURN_IF_ERROR(tokens.Add(std::move(token)));
  }
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<AddedToken> more, ReadAddedTokensOfConfig(config));
  for (AddedToken& token : more) SHORTLIST_RETURN_IF_ERROR(tokens.Add(std::move(token)));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<NamedToken> named,
                             ReadSpecialTokensOfConfig(config));
  for (const NamedToken& token : named) tokens.AddNamed(token);
  for (const auto& [name, content] : parts.special_tokens) {
    if (config.contains(std::string(name))) continue;
    tokens.AddNamed(
        {.token = PlainSpecialToken(std::string(content), /*id=*/0), .is_standard = true});
  }
  return tokens.Take();
}

/// Refuses a model's vocabulary with gaps that no added token fills. Added tokens themselves may
/// lie anywhere behind it: the files made from cl100k's ranks leave ids between them free.
absl::Status CheckComplete(const Vocabulary& vocabulary, const std::vector<AddedToken>& added) {
  std::vector<int32_t> ids;
  for (const AddedToken& token : added) ids.push_back(token.id);
  return vocabulary.CheckComplete(ids);
}

/// The spelling of the token that `config`, or else the class, has for `name`.
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

/// The parts of a template with ids; none where a token is not there.
std::optional<std::vector<SequenceTemplate::Part>> FillIn(
    const std::vector<ClassTemplate::Part>& spec, const json& config, const ClassParts& parts,
    const TokenizerPipeline& pipeline) {
  std::vector<SequenceTemplate::Part> result;
  for (const ClassTemplate::Part& part : spec) {
    if (part.name == "A") {
      result.push_back(SequenceTemplate::First(part.type_id));
    } else if (part.name == "B") {
      result.push_back(SequenceTemplate::Second(part.type_id));
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

/// Puts the template of the class into `pipeline`, where its tokens are there.
void FollowClass(const json& config, const ClassParts& parts, TokenizerPipeline& pipeline) {
  if (!parts.sequence_template.has_value()) return;
  auto single = FillIn(parts.sequence_template->single, config, parts, pipeline);
  auto pair = FillIn(parts.sequence_template->pair, config, parts, pipeline);
  if (!single.has_value() || !pair.has_value()) return;
  pipeline.sequence_template = {.single = *std::move(single), .pair = *std::move(pair)};
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
  SHORTLIST_ASSIGN_OR_RETURN(JsonModel model,
                             ParseModel(*model_spec, pipeline.pre_tokenizer.ends_in_byte_level));
  pipeline.kind = std::move(model.kind);
  pipeline.vocabulary = std::move(model.vocabulary);
  pipeline.model = std::move(model.model);
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.added_tokens,
                             ReadAddedTokens(document, config, parts, *pipeline.vocabulary));
  SHORTLIST_RETURN_IF_ERROR(CheckComplete(*pipeline.vocabulary, pipeline.added_tokens));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string suffix, ReadEndOfWordSuffix(*model_spec));
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.decoder, ParseDecoder(parts.decoder, suffix));
  SHORTLIST_ASSIGN_OR_RETURN(
      pipeline.sequence_template,
      ParseSequenceTemplate(MemberOrNull(document, "post_processor"), pipeline.size()));

  SHORTLIST_ASSIGN_OR_RETURN(pipeline.bos, FindNamed(settings.bos, "bos_token", pipeline));
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.eos, FindNamed(settings.eos, "eos_token", pipeline));
  FollowClass(config, parts, pipeline);
  return PipelineTokenizer::Create(std::move(pipeline));
}

}  // namespace shortlist
