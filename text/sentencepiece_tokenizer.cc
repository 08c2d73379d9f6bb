#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/sentencepiece_model.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxModelBytes = int64_t{64} << 20;
constexpr int64_t kMaxConfigBytes = int64_t{64} << 20;
// Far beyond any context window; SentencePiece needs about a hundred bytes for each of these.
constexpr size_t kMaxTextBytes = size_t{16} << 20;

struct SequenceEnds {
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  bool add_bos = false;
  bool add_eos = false;
};

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(std::unique_ptr<SentencePieceModel> model, SequenceEnds ends)
      : model_(std::move(model)), ends_(ends) {}

  absl::StatusOr<std::vector<TokenId>> Encode(std::string_view text) const override {
    if (text.size() > kMaxTextBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("text of ", text.size(), " bytes, more than ", kMaxTextBytes));
    }
    if (const std::optional<size_t> offset = FindInvalidUtf8(text)) {
      return absl::InvalidArgumentError(absl::StrCat("text is not valid UTF-8 at byte ", *offset));
    }
    const auto result = model_->Encode(text);
    if (const auto* problem = std::get_if<std::string>(&result)) {
      return absl::InvalidArgumentError(absl::StrCat("cannot encode the text: ", *problem));
    }
    const std::vector<int32_t>& text_ids = std::get<std::vector<int32_t>>(result);
    std::vector<TokenId> ids;
    ids.reserve(text_ids.size() + 2);
    if (ends_.add_bos) ids.push_back(*ends_.bos);
    for (const int32_t id : text_ids) ids.push_back(TokenId{id});
    if (ends_.add_eos) ids.push_back(*ends_.eos);
    return ids;
  }

  int64_t size() const override { return model_->size(); }
  std::string_view TokenBytes(TokenId id) const override { return model_->bytes(Checked(id)); }
  bool IsSpecial(TokenId id) const override { return model_->is_control(Checked(id)); }
  std::string_view ControlPiece(TokenId id) const override {
    return IsSpecial(id) ? std::string_view(model_->name(Raw(id))) : std::string_view();
  }
  std::optional<TokenId> bos() const override { return ends_.bos; }
  std::optional<TokenId> eos() const override { return ends_.eos; }
  bool adds_leading_space() const override { return model_->add_dummy_prefix(); }

  /// As SentencePiece decodes: a text loses the space mark that it begins with; where the model
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

 private:
  int32_t Checked(TokenId id) const {
    SHORTLIST_CHECK(Raw(id) >= 0 && Raw(id) < model_->size());
    return Raw(id);
  }

  const std::unique_ptr<SentencePieceModel> model_;
  const SequenceEnds ends_;
};

/// The value of an optional member that must be true, false or null.
absl::StatusOr<std::optional<bool>> ReadFlag(const json& config, const char* name) {
  const auto member = config.find(name);
  if (member == config.end() || member->is_null()) return std::nullopt;
  if (!member->is_boolean()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is neither true, false nor null"));
  }
  return member->get<bool>();
}

/// The id that `bos_token` or `eos_token` names, as a string or as an object with "content";
/// `fallback` where the member is missing, none where it is null.
absl::StatusOr<std::optional<TokenId>> ReadNamedToken(const json& config, const char* name,
                                                      const SentencePieceModel& model,
                                                      std::optional<int32_t> fallback) {
  const auto member = config.find(name);
  if (member == config.end()) {
    if (!fallback.has_value()) return std::nullopt;
    return TokenId{*fallback};
  }
  if (member->is_null()) return std::nullopt;
  const json* spelling = &*member;
  if (spelling->is_object() && spelling->contains("content")) spelling = &(*spelling)["content"];
  if (!spelling->is_string()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is no string"));
  }
  const std::string& piece = spelling->get_ref<const std::string&>();
  const std::optional<int32_t> id = model.FindPiece(piece);
  if (!id.has_value() || !model.is_control(*id)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " \"", piece, "\" is no control piece of tokenizer.model"));
  }
  return TokenId{*id};
}

/// Tokens beyond the pieces of tokenizer.model would be read as ordinary text and never be emitted.
/// `config`: {"added_tokens_decoder": {id: token}}.
absl::Status RefuseAddedTokens(const json& config, int32_t size) {
  const auto member = config.find("added_tokens_decoder");
  if (member == config.end()) return absl::OkStatus();
  if (!member->is_object()) {
    return absl::InvalidArgumentError("added_tokens_decoder is no object");
  }
  for (const auto& [id, token] : member->items()) {
    int64_t value = -1;
    if (!absl::SimpleAtoi(id, &value) || value < 0 || value >= size) {
      return absl::InvalidArgumentError(absl::StrCat("added token ", token.dump(), " has id ", id,
                                                     ", not in [0, ", size, "): not supported"));
    }
  }
  return absl::OkStatus();
}

/// A model that does not say whether BOS goes first has it when it is a Llama tokenizer.
absl::StatusOr<bool> DefaultAddsBos(const json& config, bool has_bos) {
  const auto member = config.find("tokenizer_class");
  if (!has_bos || member == config.end() || member->is_null()) return has_bos;
  if (member->is_string()) {
    const std::string& name = member->get_ref<const std::string&>();
    if (name.starts_with("LlamaTokenizer") || name.starts_with("CodeLlamaTokenizer")) return true;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "tokenizer_class ", member->dump(), " is not known here and add_bos_token is not set"));
}

absl::StatusOr<SequenceEnds> ReadEnds(const json& config, const SentencePieceModel& model) {
  if (!config.is_object()) return absl::InvalidArgumentError("not a JSON object");
  SHORTLIST_RETURN_IF_ERROR(RefuseAddedTokens(config, model.size()));
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<bool> add_prefix_space,
                             ReadFlag(config, "add_prefix_space"));
  if (add_prefix_space.value_or(model.add_dummy_prefix()) != model.add_dummy_prefix()) {
    return absl::InvalidArgumentError("add_prefix_space is not what tokenizer.model does");
  }

  SequenceEnds ends;
  SHORTLIST_ASSIGN_OR_RETURN(ends.bos, ReadNamedToken(config, "bos_token", model, model.bos()));
  SHORTLIST_ASSIGN_OR_RETURN(ends.eos, ReadNamedToken(config, "eos_token", model, model.eos()));
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<bool> add_bos, ReadFlag(config, "add_bos_token"));
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<bool> add_eos, ReadFlag(config, "add_eos_token"));
  if (add_bos.has_value()) {
    ends.add_bos = *add_bos;
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(ends.add_bos, DefaultAddsBos(config, ends.bos.has_value()));
  }
  ends.add_eos = add_eos.value_or(false);
  if (ends.add_bos && !ends.bos.has_value()) {
    return absl::InvalidArgumentError("add_bos_token is true, but there is no BOS token");
  }
  if (ends.add_eos && !ends.eos.has_value()) {
    return absl::InvalidArgumentError("add_eos_token is true, but there is no EOS token");
  }
  return ends;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizer(const std::string& model_dir) {
  const std::filesystem::path dir(model_dir);
  const std::string model_path = (dir / "tokenizer.model").string();
  SHORTLIST_ASSIGN_OR_RETURN(const std::string serialized, ReadFile(model_path, kMaxModelBytes));
  auto loaded = SentencePieceModel::Load(serialized);
  if (const auto* problem = std::get_if<std::string>(&loaded)) {
    return absl::InvalidArgumentError(absl::StrCat(model_path, ": ", *problem));
  }
  auto& model = std::get<std::unique_ptr<SentencePieceModel>>(loaded);

  json config = json::object();
  const std::string config_path = (dir / "tokenizer_config.json").string();
  if (std::error_code error; std::filesystem::exists(config_path, error)) {
    SHORTLIST_ASSIGN_OR_RETURN(config, ReadJsonFile(config_path, kMaxConfigBytes));
  }
  absl::StatusOr<SequenceEnds> ends = ReadEnds(config, *model);
  if (!ends.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(config_path, ": ", std::string(ends.status().message())));
  }
  return std::make_unique<SentencePieceTokenizer>(std::move(model), *ends);
}

}  // namespace shortlist
