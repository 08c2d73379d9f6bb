#include "text/chat/prompt_encoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/chat/conversation_of_model.h"
#include "text/chat/final_message.h"

namespace shortlist {

namespace {

absl::Status TooMany(int64_t max_tokens) {
  return absl::OutOfRangeError(absl::StrCat("more than ", max_tokens, " tokens"));
}

constexpr char kDeveloper[] = "developer";

bool IsFromDeveloper(const nlohmann::ordered_json& message) {
  return message.is_object() && message.contains("role") && message["role"] == kDeveloper;
}

/// Returns the messages with the role "developer" replaced by "system".
nlohmann::ordered_json WithoutDeveloper(nlohmann::ordered_json messages) {
  for (auto& message : messages) {
    if (IsFromDeveloper(message)) message["role"] = "system";
  }
  return messages;
}

}  // namespace

PromptEncoder::PromptEncoder(const Tokenizer& tokenizer, std::optional<ChatTemplate> chat_template,
                             const Conversation& fallback, int64_t num_rows)
    : PromptEncoder(tokenizer, std::move(chat_template), &fallback, num_rows) {}

PromptEncoder::PromptEncoder(const Tokenizer& tokenizer, int64_t num_rows)
    : PromptEncoder(tokenizer, std::nullopt, nullptr, num_rows) {}

PromptEncoder::PromptEncoder(const Tokenizer& tokenizer, std::optional<ChatTemplate> chat_template,
                             const Conversation* fallback, int64_t num_rows)
    : tokenizer_(tokenizer),
      chat_template_(std::move(chat_template)),
      fallback_(fallback),
      num_rows_(num_rows) {
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string_view piece = tokenizer.ControlPiece(TokenId{id});
    longest_ =
        std::max({longest_, std::ssize(piece), std::ssize(tokenizer.TokenBytes(TokenId{id}))});
  }
}

absl::StatusOr<PromptEncoder> PromptEncoder::Open(const Tokenizer& tokenizer, const Model& model) {
  std::optional<ChatTemplate> chat_template;
  const Conversation* conversation = &FallbackConversation(model.name);
  if (!model.conv_template.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(conversation, FindConversation(model.conv_template));
  } else {
    absl::StatusOr<ChatTemplate> loaded = ChatTemplate::Load(model.source);
    if (!loaded.ok() && !absl::IsNotFound(loaded.status())) return loaded.status();
    if (loaded.ok()) chat_template = *std::move(loaded);
  }
  return PromptEncoder(tokenizer, std::move(chat_template), *conversation, model.num_rows);
}

absl::StatusOr<std::vector<TokenId>> PromptEncoder::Encode(const Prompt& prompt,
                                                           const Options& options) const {
  std::vector<TokenId> ids;
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    SHORTLIST_ASSIGN_OR_RETURN(ids, EncodeText(*text, options, {}));
  } else if (const auto* chat = std::get_if<Chat>(&prompt)) {
    SHORTLIST_ASSIGN_OR_RETURN(ids, EncodeChat(*chat, options));
  } else {
    ids = std::get<std::vector<TokenId>>(prompt);
    if (std::ssize(ids) > options.max_tokens) return TooMany(options.max_tokens);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (Raw(ids[i]) >= 0 && Raw(ids[i]) < tokenizer_.size()) continue;
      return absl::InvalidArgumentError(absl::StrCat("token id ", Raw(ids[i]), " at position ", i,
                                                     " not in [0, ", tokenizer_.size(), ")"));
    }
  }
  if (ids.empty()) return absl::InvalidArgumentError("the prompt has no tokens");
  SHORTLIST_RETURN_IF_ERROR(CheckRows(ids, tokenizer_, num_rows_));
  return ids;
}

absl::StatusOr<RenderedChat> PromptEncoder::Render(const Chat& chat) const {
  const bool knows_developer = chat_template_.has_value() && chat_template_->KnowsRole(kDeveloper);
  if (!knows_developer &&
      std::any_of(chat.messages.begin(), chat.messages.end(), IsFromDeveloper)) {
    Chat renamed = chat;
    renamed.messages = WithoutDeveloper(std::move(renamed.messages));
    return Render(renamed);
  }
  if (chat_template_.has_value()) return chat_template_->Render(chat);
  if (fallback_ == nullptr) return absl::InvalidArgumentError("there is no chat template");
  if (!chat.tools.is_null()) {
    return absl::InvalidArgumentError("tools: the model has no chat template that renders them");
  }
  if (!chat.variables.empty()) {
    return absl::InvalidArgumentError(
        "chat_template_kwargs, documents: the model has no chat template that reads them");
  }
  if (!chat.continue_final_message && !chat.add_generation_prompt) {
    return absl::InvalidArgumentError(
        "add_generation_prompt: the model has no chat template that reads it");
  }
  if (!chat.continue_final_message) return fallback_->Render(chat.messages);
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::ordered_json messages,
                             MarkFinalMessage(chat.messages));
  SHORTLIST_ASSIGN_OR_RETURN(RenderedChat rendered, fallback_->Render(messages));
  return CutAtMark(std::move(rendered), chat.messages);
}

absl::StatusOr<std::vector<TokenId>> PromptEncoder::EncodeChat(const Chat& chat,
                                                               Options options) const {
  options.add_special_tokens = !chat_template_.has_value();
  options.parse_special = true;
  SHORTLIST_ASSIGN_OR_RETURN(const RenderedChat rendered, Render(chat));
  return EncodeText(rendered.text, options, rendered.content);
}

/// Counts adjacent white space characters as one, since tokenizers may merge them.
absl::Status PromptEncoder::CheckBytes(std::string_view text, int64_t max_tokens) const {
  const int64_t size = std::ssize(text);
  if (size / longest_ <= max_tokens) return absl::OkStatus();
  int64_t num_merged = 0;
  for (size_t i = 1; i < text.size(); ++i) {
    num_merged += absl::ascii_isspace(static_cast<unsigned char>(text[i])) &&
                  absl::ascii_isspace(static_cast<unsigned char>(text[i - 1]));
  }
  return (size - num_merged) / longest_ <= max_tokens ? absl::OkStatus() : TooMany(max_tokens);
}

absl::StatusOr<std::vector<TokenId>> PromptEncoder::EncodeText(
    const std::string& text, const Options& options, std::span<const ByteRange> content) const {
  SHORTLIST_RETURN_IF_ERROR(CheckBytes(text, options.max_tokens));
  SHORTLIST_ASSIGN_OR_RETURN(
      std::vector<TokenId> ids,
      tokenizer_.Encode(text, {.add_special_tokens = options.add_special_tokens,
                               .parse_special = options.parse_special,
                               .literal = content,
                               .max_tokens = options.max_tokens}));
  const std::optional<TokenId> bos = tokenizer_.bos();
  if (options.add_special_tokens && bos.has_value() && ids.size() >= 2 && ids[0] == *bos &&
      ids[1] == *bos) {
    ids.erase(ids.begin());
  }
  return ids;
}

std::vector<std::string> PromptEncoder::ChatStops() const {
  const bool has_stops = !chat_template_.has_value() && fallback_ != nullptr;
  return has_stops ? fallback_->stop_str : std::vector<std::string>();
}

std::vector<TokenId> PromptEncoder::ChatStopTokenIds() const {
  std::vector<TokenId> ids;
  if (chat_template_.has_value() || fallback_ == nullptr) return ids;
  for (const int id : fallback_->stop_token_ids) {
    if (id >= 0 && id < tokenizer_.size()) ids.push_back(TokenId{id});
  }
  return ids;
}

}  // namespace shortlist
