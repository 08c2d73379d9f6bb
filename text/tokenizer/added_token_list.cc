#include "text/tokenizer/added_token_list.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
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
    if (size == config.end()) continue;
    const auto value = ToInteger(*size, "vocab_size", 0, kMaxVocabularySize);
    if (value.ok()) return *value;
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
  /// It stays special if it was. Under transformers 4, the first `normalized` of a special token
  /// counts, and that of another token stays true. InvalidArgument for an id that is not the
  /// token's own.
  absl::Status Add(AddedToken token) {
    SHORTLIST_RETURN_IF_ERROR(CheckId(token));
    const auto known = index_of_.find(token.content);
    if (known == index_of_.end()) {
      if (!vocabulary_.Find(token.content).has_value()) WarnOfGap(token);
      Append(std::move(token));
    } else {
      AddedToken& old = tokens_[known->second];
      token.special |= old.special;
      if (parts_.as_transformers_4) {
        token.normalized = old.normalized || (token.normalized && !token.special);
      }
      old = std::move(token);
    }
    return absl::OkStatus();
  }

  /// Adds the tokens of "added_tokens_decoder".
  absl::Status AddConfigRows(std::vector<AddedToken> rows) {
    has_config_rows_ = true;
    for (AddedToken& token : rows) {
      const auto known = index_of_.find(token.content);
      const bool is_new = known == index_of_.end();
      const bool changes = !is_new && FlagsOf(tokens_[known->second]) != FlagsOf(token);
      config_rows_.emplace(token.content, ConfigRow{.is_new = is_new, .changes = changes});
      SHORTLIST_RETURN_IF_ERROR(Add(std::move(token)));
    }
    return absl::OkStatus();
  }

  /// Adds the special tokens that files and the class name. A token that the vocabulary lacks gets
  /// the next id, if one is left. If several names have the same spelling, the first counts under
  /// transformers 4, and the last one of other flags under transformers 5.
  void AddNamed(const std::vector<NamedToken>& names) {
    const size_t num_known = tokens_.size();
    std::set<std::tuple<std::string_view, bool, Flags>> added;
    for (const NamedToken& named : names) {
      const bool is_new =
          parts_.as_transformers_4
              ? added.emplace(named.token.content, false, Flags()).second
              : added.emplace(named.token.content, named.has_flags, FlagsOf(named.token)).second;
      const auto known = index_of_.find(named.token.content);
      if (known == index_of_.end()) AppendNamed(named);
      if (known == index_of_.end() || !is_new) continue;
      AddedToken& token = tokens_[known->second];
      if (ReplacesFlags(named, /*was_known=*/known->second < num_known)) {
        AddedToken again = TokenOf(named, token.id);
        again.special |= token.special;
        token = std::move(again);
      } else {
        token.special |= MakesSpecial(named);
      }
    }
  }

  AddedTokens Take() { return {.tokens = std::move(tokens_), .warnings = std::move(warnings_)}; }

 private:
  using Flags = std::array<bool, 5>;
  struct ConfigRow {
    bool is_new;   // tokenizer.json lacks the token
    bool changes;  // tokenizer.json has it with other flags
  };

  static Flags FlagsOf(const AddedToken& token) {
    return {token.single_word, token.lstrip, token.rstrip, token.normalized, token.special};
  }

  void AppendNamed(const NamedToken& named) {
    std::optional<int32_t> id = vocabulary_.Find(named.token.content);
    if (!id.has_value()) {
      if (next_id_ >= num_embeddings_) {
        if (!named.is_default) Warn(named);
        return;
      }
      id = next_id_;
    }
    Append(TokenOf(named, *id));
  }

  /// True if the flags of `named` replace those of an added token of the same spelling.
  /// `was_known`: the token was there before the named ones.
  ///
  /// transformers 5 (TokenizersBackend.__init__) adds names that are no added tokens yet, so the
  /// last flags of a name count; some classes then add all names again. transformers 4
  /// (PreTrainedTokenizerFast.__init__) adds names with flags again, unless the config's row of
  /// that spelling is used in their place or changes the token.
  bool ReplacesFlags(const NamedToken& named, bool was_known) const {
    if (!parts_.as_transformers_4) {
      const bool is_default = named.is_default || (named.IsListed() && !named.has_flags);
      return !was_known || parts_.special_tokens_are_plain ||
             (parts_.default_tokens_are_plain && is_default);
    }
    const bool has_flags = named.has_flags || AbsorbsSpace(named) ||
                           (parts_.default_tokens_are_plain && !named.IsListed());
    if (!has_flags) return false;
    const auto row = config_rows_.find(named.token.content);
    if (named.IsListed() || named.is_default)
      return row == config_rows_.end() || !row->second.changes;
    return has_config_rows_ && row == config_rows_.end();
  }

  /// True if `named` makes an added token of the same spelling special.
  bool MakesSpecial(const NamedToken& named) const {
    if (!has_config_rows_) return named.makes_special;
    const auto row = config_rows_.find(named.token.content);
    if (!parts_.as_transformers_4) return named.makes_special && row != config_rows_.end();
    if (row != config_rows_.end() && (row->second.is_new || row->second.changes)) return true;
    return named.IsListed() ? named.has_flags : !named.is_default && row != config_rows_.end();
  }

  bool AbsorbsSpace(const NamedToken& named) const {
    return parts_.mask_absorbs_space && named.member == "mask_token" && !named.has_flags;
  }

  AddedToken TokenOf(const NamedToken& named, int32_t id) const {
    const bool is_plain =
        parts_.special_tokens_are_plain || (parts_.default_tokens_are_plain && !named.has_flags);
    AddedToken token = is_plain ? PlainSpecialToken(named.token.content, id) : named.token;
    token.id = id;
    token.lstrip |= AbsorbsSpace(named);
    return token;
  }

  void Append(AddedToken token) {
    index_of_.emplace(token.content, tokens_.size());
    next_id_ = std::max(next_id_, token.id + 1);
    tokens_.push_back(std::move(token));
  }

  /// Warns if the new `token` does not have the next free id, which transformers would give it.
  /// Only the first such token is named.
  void WarnOfGap(const AddedToken& token) {
    if (token.id == next_id_ || !warnings_.empty()) return;
    warnings_.push_back(absl::StrCat("added token \"", token.content.substr(0, 80), "\" has id ",
                                     token.id, ", but the next free id is ", next_id_,
                                     ", which transformers gives it"));
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
  bool has_config_rows_ = false;  // tokenizer_config.json has "added_tokens_decoder"
  std::map<std::string, ConfigRow> config_rows_;  // by spelling
};

bool Has(const json& config, std::string_view name) { return config.contains(std::string(name)); }

/// Returns the tokens that `config` names and those of the class, in the order in which they get
/// ids.
absl::StatusOr<std::vector<NamedToken>> ReadNamedTokens(const json& config,
                                                        const ClassParts& parts) {
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<NamedToken> named,
                             ReadSpecialTokensOfConfig(config, parts.as_transformers_4));
  for (const auto& [name, content] : parts.special_tokens) {
    const bool has_list = name == kAdditionalTokens && Has(config, "extra_special_tokens") &&
                          !parts.as_transformers_4;
    if (Has(config, name) || has_list) continue;
    named.push_back({.token = PlainSpecialToken(std::string(content), /*id=*/0),
                     .member = std::string(name),
                     .makes_special = true,
                     .is_default = true});
  }
  SortByMember(parts.as_transformers_4, named);
  return named;
}

}  // namespace

absl::StatusOr<AddedTokens> ReadAddedTokens(const json& document, const json& config,
                                            const json& model_config, const ClassParts& parts,
                                            const Vocabulary& vocabulary) {
  AddedTokenList tokens(vocabulary, NumEmbeddings(model_config), parts);
  SHORTLIST_ASSIGN_OR_RETURN(const json* members, ReadArray(document, "added_tokens"));
  const bool has_rows = Has(config, "added_tokens_decoder");
  for (const json& member : *members) {
    SHORTLIST_ASSIGN_OR_RETURN(AddedToken token, ParseAddedToken(member));
    if (!parts.is_built || !has_rows) SHORTLIST_RETURN_IF_ERROR(tokens.Add(std::move(token)));
  }
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<AddedToken> more, ReadAddedTokensOfConfig(config));
  if (has_rows) SHORTLIST_RETURN_IF_ERROR(tokens.AddConfigRows(std::move(more)));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<NamedToken> named, ReadNamedTokens(config, parts));
  tokens.AddNamed(named);
  return tokens.Take();
}

}  // namespace shortlist
