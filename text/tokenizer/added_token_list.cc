#include "text/tokenizer/added_token_list.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer_config.h"

namespace shortlist {
namespace {

using nlohmann::json;

AddedToken PlainSpecialToken(std::string content, int32_t id) {
  return {.content = std::move(content), .id = id, .normalized = false, .special = true};
}

/// Returns the number of rows of the model's embeddings; kMaxVocabularySize if it is not known.
int64_t NumEmbeddings(const json& model_config) {
  const auto text_config = model_config.find("text_config");
  for (const json& config :
       {model_config, text_config == model_config.end() ? json() : *text_config}) {
    const auto size = config.find("vocab_size");
    if (size == config.end() || !size->is_number_integer()) continue;
    return std::clamp<int64_t>(size->get<int64_t>(), 0, kMaxVocabularySize);
  }
  return kMaxVocabularySize;
}

/// Collects added tokens; each has its own id.
class AddedTokenList {
 public:
  AddedTokenList(const Vocabulary& vocabulary, int64_t num_embeddings, const ClassParts& parts)
      : vocabulary_(vocabulary),
        num_embeddings_(num_embeddings),
        parts_(parts),
        next_id_(vocabulary.size()) {}

  /// Adds `token`. A token of the same spelling that is already present takes the flags of `token`.
  /// It stays special if it was, unless the class is built anew. Under transformers 4, the first
  /// `normalized` of a special token counts, and that of another token stays true. InvalidArgument
  /// for an id that is not the token's own.
  absl::Status Add(AddedToken token) {
    SHORTLIST_RETURN_IF_ERROR(CheckId(token));
    const auto known = index_of_.find(token.content);
    if (known == index_of_.end()) {
      Append(std::move(token));
    } else {
      AddedToken& old = tokens_[known->second];
      token.special |= old.special && !parts_.is_built;
      if (parts_.as_transformers_4) {
        token.normalized = old.normalized || (token.normalized && !token.special);
      }
      old = std::move(token);
    }
    return absl::OkStatus();
  }

  /// Adds a special token. A token that the vocabulary lacks gets the next id, if one is left.
  void AddNamed(const NamedToken& named) {
    const auto known = index_of_.find(named.token.content);
    if (known != index_of_.end()) {
      AddedToken& token = tokens_[known->second];
      if (parts_.special_tokens_are_plain) {
        token = PlainSpecialToken(token.content, token.id);
      } else {
        token.special |= named.makes_special;
      }
      return;
    }
    std::optional<int32_t> id = vocabulary_.Find(named.token.content);
    if (!id.has_value()) {
      if (next_id_ >= num_embeddings_) return named.is_default ? void() : Warn(named);
      id = next_id_;
    }
    AddedToken token =
        parts_.special_tokens_are_plain ? PlainSpecialToken(named.token.content, *id) : named.token;
    token.id = *id;
    Append(std::move(token));
  }

  AddedTokens Take() { return {.tokens = std::move(tokens_), .warnings = std::move(warnings_)}; }

 private:
  void Append(AddedToken token) {
    index_of_.emplace(token.content, tokens_.size());
    next_id_ = std::max(next_id_, token.id + 1);
    tokens_.push_back(std::move(token));
  }

  void Warn(const NamedToken& named) {
    std::string warning = absl::StrCat(named.member, " \"", named.token.content.substr(0, 80),
                                       "\" is not in the vocabulary, whose ", next_id_,
                                       " ids leave none of the model's ", num_embeddings_,
                                       " embeddings for it: it is read as plain text");
    if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end()) {
      warnings_.push_back(std::move(warning));
    }
  }

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
  const int64_t num_embeddings_;
  const ClassParts& parts_;
  int32_t next_id_;  // above all ids in use
  std::vector<AddedToken> tokens_;
  std::vector<std::string> warnings_;
  std::map<std::string, size_t> index_of_;
  std::map<int32_t, std::string> content_of_;
};

bool Has(const json& config, std::string_view name) { return config.contains(std::string(name)); }

/// Returns the tokens that `config` names and those of the class, in the order in which they get
/// ids. The classes are those of transformers 5. Under transformers 4, their default tokens are
/// used only if the vocabulary has them.
absl::StatusOr<std::vector<NamedToken>> ReadNamedTokens(const json& config, const ClassParts& parts,
                                                        const Vocabulary& vocabulary) {
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<NamedToken> named,
                             ReadSpecialTokensOfConfig(config, parts.as_transformers_4));
  for (const auto& [name, content] : parts.special_tokens) {
    const bool is_listed = name == kAdditionalTokens && Has(config, "extra_special_tokens");
    if (Has(config, name) || is_listed) continue;
    if (parts.as_transformers_4 && !vocabulary.Find(content).has_value()) continue;
    named.push_back({.token = PlainSpecialToken(std::string(content), /*id=*/0),
                     .member = std::string(name),
                     .makes_special = true,
                     .is_default = true});
  }
  SortStandardTokensFirst(named);
  return named;
}

}  // namespace

absl::StatusOr<AddedTokens> ReadAddedTokens(const json& document, const json& config,
                                            const json& model_config, const ClassParts& parts,
                                            const Vocabulary& vocabulary) {
  AddedTokenList tokens(vocabulary, NumEmbeddings(model_config), parts);
  SHORTLIST_ASSIGN_OR_RETURN(const json* members, ReadArray(document, "added_tokens"));
  for (const json& member : *members) {
    SHORTLIST_ASSIGN_OR_RETURN(AddedToken token, ParseAddedToken(member));
    SHORTLIST_RETURN_IF_ERROR(tokens.Add(std::move(token)));
  }
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<AddedToken> more, ReadAddedTokensOfConfig(config));
  for (AddedToken& token : more) SHORTLIST_RETURN_IF_ERROR(tokens.Add(std::move(token)));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<NamedToken> named,
                             ReadNamedTokens(config, parts, vocabulary));
  for (const NamedToken& token : named) tokens.AddNamed(token);
  return tokens.Take();
}

}  // namespace shortlist
