#include "text/sentencepiece/tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/sentencepiece/long_text.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/sequence_template.h"
#include "text/tokenizer_config.h"

namespace shortlist {
namespace {

using nlohmann::json;

struct SequenceEnds {
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  bool add_bos = false;
  bool add_eos = false;
};

std::vector<std::string> Contents(const std::vector<AddedToken>& tokens) {
  std::vector<std::string> contents;
  for (const AddedToken& token : tokens) contents.push_back(token.content);
  return contents;
}

class SentencePieceTokenizer final : public Tokenizer {
 public:
  /// `legacy`: text after a control token begins with an added space, like the start of a text.
  SentencePieceTokenizer(std::unique_ptr<SentencePieceModel> model, SequenceEnds ends,
                         const std::vector<AddedToken>& controls, bool legacy)
      : model_(std::move(model)),
        ends_(ends),
        controls_(controls, Contents(controls)),
        legacy_(legacy) {
    const bool takes_space = std::any_of(controls.begin(), controls.end(),
                                         [](const AddedToken& t) { return t.lstrip || t.rstrip; });
    if (!takes_space) max_token_bytes_ = model_->max_token_bytes();
    std::vector<TokenId> before, after;
    if (ends.add_bos) before.push_back(*ends.bos);
    if (ends.add_eos) after.push_back(*ends.eos);
    template_ = WithEnds(before, after);
  }

  std::string_view kind() const override { return "SentencePiece"; }
  int64_t size() const override { return model_->size(); }
  std::string_view TokenBytes(TokenId id) const override { return model_->bytes(Checked(id)); }
  bool IsSpecial(TokenId id) const override { return model_->is_control(Checked(id)); }
  std::string_view ControlPiece(TokenId id) const override {
    return IsSpecial(id) ? std::string_view(model_->name(Raw(id))) : std::string_view();
  }
  std::optional<TokenId> bos() const override { return ends_.bos; }
  std::optional<TokenId> eos() const override { return ends_.eos; }
  std::optional<int64_t> max_token_bytes() const override { return max_token_bytes_; }
  bool adds_leading_space() const override { return model_->add_dummy_prefix(); }
  Replacement replacement() const override { return Replacement::kPerByte; }

  /// Decodes like SentencePiece. A text loses the space mark that it begins with. If the model
  /// removes extra white space, every piece loses one until there is some text. A space that is a
  /// byte piece stays.
  std::string_view NextBytes(TokenId id, bool& at_start) const override {
    std::string_view bytes = TokenBytes(id);
    if (!at_start) return bytes;
    const bool strips_all = model_->remove_extra_whitespaces();
    const bool strips = strips_all || model_->add_dummy_prefix();
    const bool stripped = strips && model_->begins_with_space_mark(Raw(id));
    if (stripped) bytes.remove_prefix(1);
    at_start = bytes.empty() && (strips_all || !stripped);
    return bytes;
  }

 protected:
  /// Splits at control tokens here, since SentencePiece never reads text as a control token.
  absl::Status EncodeText(std::string_view text, const EncodeOptions& options, EncodeBudget& budget,
                          std::vector<TokenId>& ids) const override {
    // A text that is too long as a whole is not encoded in parts either.
    const bool is_too_long =
        !model_->has_byte_pieces() && text.size() > SentencePieceModel::kMaxTextBytesWithoutBytes;
    if (!options.parse_special || is_too_long) {
      return AppendText(text, /*is_whole=*/true, budget, ids);
    }
    std::vector<AddedTokenMatcher::Part> parts;
    const size_t max_tokens = budget.max_ids() - std::min(ids.size(), budget.max_ids());
    if (!controls_.Split(text, true, max_tokens, parts, options.literal)) {
      return budget.CheckIds(budget.max_ids() + 1);
    }
    for (const AddedTokenMatcher::Part& part : parts) {
      if (part.token != nullptr) {
        ids.push_back(TokenId{part.token->id});
        SHORTLIST_RETURN_IF_ERROR(budget.CheckIds(ids.size()));
        continue;
      }
      const bool begins_with_space =
          part.text.starts_with(' ') || part.text.starts_with("\xE2\x96\x81");
      const bool is_first = part.text.data() == text.data();
      const bool is_whole = is_first || (legacy_ && !begins_with_space);
      SHORTLIST_RETURN_IF_ERROR(AppendText(part.text, is_whole, budget, ids));
    }
    return absl::OkStatus();
  }

  const SequenceTemplate& sequence_template() const override { return template_; }

 private:
  absl::Status AppendText(std::string_view text, bool is_whole, EncodeBudget& budget,
                          std::vector<TokenId>& ids) const {
    if (long_texts_.Takes(text)) return long_texts_.Append(text, is_whole, budget, ids);
    const SentencePieceModel::EncodeResult result =
        is_whole ? model_->Encode(text) : model_->EncodeRest(text);
    if (const auto* problem = std::get_if<std::string>(&result)) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot encode the text: ", Excerpt(*problem)));
    }
    const auto& raw_ids = std::get<std::vector<int32_t>>(result);
    SHORTLIST_RETURN_IF_ERROR(budget.CheckIds(ids.size() + raw_ids.size()));
    for (const int32_t id : raw_ids) ids.push_back(TokenId{id});
    return absl::OkStatus();
  }

  int32_t Checked(TokenId id) const {
    SHORTLIST_CHECK(Raw(id) >= 0 && Raw(id) < model_->size());
    return Raw(id);
  }

  const std::unique_ptr<SentencePieceModel> model_;
  const LongTextEncoder long_texts_{*model_};
  const SequenceEnds ends_;
  const AddedTokenMatcher controls_;
  const bool legacy_;
  std::optional<int64_t> max_token_bytes_;
  SequenceTemplate template_;
};

/// Returns the control pieces; they absorb white space if the configuration says so.
absl::StatusOr<std::vector<AddedToken>> ReadControls(const json& config,
                                                     const SentencePieceModel& model) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<AddedToken> named, ReadAddedTokensOfConfig(config));
  std::vector<AddedToken> controls;
  for (int32_t id = 0; id < model.size(); ++id) {
    if (!model.is_control(id)) continue;
    AddedToken& control = controls.emplace_back();
    const auto token =
        std::lower_bound(named.begin(), named.end(), id,
                         [](const AddedToken& t, int32_t wanted) { return t.id < wanted; });
    if (token != named.end() && token->id == id) control = *token;
    control.content = model.name(id);
    control.id = id;
    control.special = true;
  }
  return controls;
}

/// Returns the id of the token `spelling` of the configuration, or `fallback`, the model's own, if
/// the configuration has no such member (`names` is false).
absl::StatusOr<std::optional<TokenId>> FindNamed(const std::optional<std::string>& spelling,
                                                 bool names, const char* name,
                                                 const SentencePieceModel& model,
                                                 std::optional<int32_t> fallback) {
  if (!names && fallback.has_value()) return TokenId{*fallback};
  if (!spelling.has_value()) return std::nullopt;
  const std::optional<int32_t> id = model.FindPiece(*spelling);
  if (!id.has_value() || !model.is_control(*id)) {
    return absl::InvalidArgumentError(absl::StrCat(name, " \"", Excerpt(*spelling),
                                                   "\" is not a control piece of tokenizer.model"));
  }
  return TokenId{*id};
}

/// Says what to do about a token that tokenizer.model lacks. It would be read as ordinary text and
/// never be emitted.
absl::Status NoPiece(const std::string& problem) {
  return absl::InvalidArgumentError(
      absl::StrCat(problem,
                   ": not supported; save the tokenizer as tokenizer.json "
                   "(AutoTokenizer.from_pretrained(...).save_pretrained(...))"));
}

absl::Status CheckPiece(const std::string& content, int64_t id, const SentencePieceModel& model) {
  const std::string token = absl::StrCat("added token \"", Excerpt(content), "\" has id ", id);
  if (id < 0 || id >= model.size()) {
    return NoPiece(absl::StrCat(token, ", not in [0, ", model.size(), ")"));
  }
  const std::string& piece = model.name(static_cast<int32_t>(id));
  if (piece == content) return absl::OkStatus();
  return NoPiece(absl::StrCat(token, ", which is \"", Excerpt(piece), "\" in tokenizer.model"));
}

absl::Status RefuseAddedTokens(const json& config, const SentencePieceModel& model) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<AddedToken> tokens, ReadAddedTokensOfConfig(config));
  for (const AddedToken& token : tokens) {
    SHORTLIST_RETURN_IF_ERROR(CheckPiece(token.content, token.id, model));
  }
  return absl::OkStatus();
}

/// Returns whether BOS is put first if the configuration does not say so: true if there is a BOS,
/// and the class is of Llama or Gemma or is not given. InvalidArgument for other classes with a
/// BOS.
absl::StatusOr<bool> DefaultAddsBos(const std::string& tokenizer_class, bool has_bos) {
  if (!has_bos || tokenizer_class.empty()) return has_bos;
  if (tokenizer_class.starts_with("LlamaTokenizer") ||
      tokenizer_class.starts_with("CodeLlamaTokenizer") ||
      tokenizer_class.starts_with("GemmaTokenizer")) {
    return true;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("tokenizer_class \"", Excerpt(tokenizer_class),
                   "\" is not known here and add_bos_token is not set"));
}

absl::StatusOr<SequenceEnds> ReadEnds(const json& json_config, const SentencePieceModel& model) {
  SHORTLIST_ASSIGN_OR_RETURN(const TokenizerConfig config, ParseTokenizerConfig(json_config));
  SHORTLIST_RETURN_IF_ERROR(RefuseAddedTokens(json_config, model));
  if (config.add_prefix_space.value_or(model.add_dummy_prefix()) != model.add_dummy_prefix()) {
    return absl::InvalidArgumentError("add_prefix_space is not what tokenizer.model does");
  }

  SequenceEnds ends;
  SHORTLIST_ASSIGN_OR_RETURN(
      ends.bos, FindNamed(config.bos, config.names_bos, "bos_token", model, model.bos()));
  SHORTLIST_ASSIGN_OR_RETURN(
      ends.eos, FindNamed(config.eos, config.names_eos, "eos_token", model, model.eos()));
  if (config.add_bos.has_value()) {
    ends.add_bos = *config.add_bos;
  } else if (json_config.contains("add_bos_token")) {
    ends.add_bos = false;  // null is false, as in transformers 4 and 5
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(ends.add_bos,
                               DefaultAddsBos(config.tokenizer_class, ends.bos.has_value()));
  }
  ends.add_eos = config.add_eos.value_or(false);
  if (ends.add_bos && !ends.bos.has_value()) {
    return absl::InvalidArgumentError("add_bos_token is true, but there is no BOS token");
  }
  if (ends.add_eos && !ends.eos.has_value()) {
    return absl::InvalidArgumentError("add_eos_token is true, but there is no EOS token");
  }
  return ends;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SentencePieceModel>> LoadSentencePieceModel(
    const std::string& serialized) {
  auto loaded = SentencePieceModel::Load(serialized);
  if (const auto* problem = std::get_if<std::string>(&loaded)) {
    return absl::InvalidArgumentError(Excerpt(*problem));
  }
  return std::move(std::get<std::unique_ptr<SentencePieceModel>>(loaded));
}

absl::Status CheckAddedTokens(const json& added, const SentencePieceModel& model) {
  for (const auto& [content, id] : added.items()) {
    if (!id.is_number_integer()) {
      return absl::InvalidArgumentError(
          absl::StrCat("added token \"", Excerpt(content), "\" has no whole number as its id"));
    }
    SHORTLIST_RETURN_IF_ERROR(CheckPiece(content, id.get<int64_t>(), model));
  }
  return absl::OkStatus();
}

absl::Status CheckSpecialTokens(const json& config, const SentencePieceModel& model) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<NamedToken> tokens,
                             ReadSpecialTokensOfConfig(config, /*as_transformers_4=*/true));
  for (const NamedToken& named : tokens) {
    if (model.FindPiece(named.token.content)) continue;
    return NoPiece(absl::StrCat(named.member, " \"", Excerpt(named.token.content),
                                "\" is not a piece of tokenizer.model"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Tokenizer>> MakeSentencePieceTokenizer(
    std::unique_ptr<SentencePieceModel> model, const json& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const SequenceEnds ends, ReadEnds(config, *model));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<AddedToken> controls, ReadControls(config, *model));
  SHORTLIST_ASSIGN_OR_RETURN(const TokenizerConfig settings, ParseTokenizerConfig(config));
  return std::make_unique<SentencePieceTokenizer>(std::move(model), ends, controls,
                                                  settings.legacy.value_or(false));
}

}  // namespace shortlist
