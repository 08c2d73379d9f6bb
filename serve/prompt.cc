#include "serve/prompt.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {

PromptEncoder::PromptEncoder(const Tokenizer& tokenizer, std::optional<ChatTemplate> chat_template,
                             const Conversation& fallback)
    : tokenizer_(tokenizer), chat_template_(std::move(chat_template)), fallback_(fallback) {
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string_view piece = tokenizer.ControlPiece(TokenId{id});
    if (!piece.empty()) controls_[piece.front()].push_back({piece, TokenId{id}});
  }
  for (auto& [first, controls] : controls_) {
    std::sort(controls.begin(), controls.end(), [](const Control& a, const Control& b) {
      return a.spelling.size() > b.spelling.size();
    });
  }
}

absl::StatusOr<std::vector<TokenId>> PromptEncoder::Encode(const Prompt& prompt,
                                                           const Options& options) const {
  std::vector<TokenId> ids;
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    SHORTLIST_ASSIGN_OR_RETURN(ids, EncodeText(*text, options.add_special_tokens, {}));
  } else if (const auto* chat = std::get_if<Chat>(&prompt)) {
    SHORTLIST_ASSIGN_OR_RETURN(ids, EncodeChat(*chat));
  } else {
    ids = std::get<std::vector<TokenId>>(prompt);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (Raw(ids[i]) >= 0 && Raw(ids[i]) < tokenizer_.size()) continue;
      return absl::InvalidArgumentError(absl::StrCat("token id ", Raw(ids[i]), " at position ", i,
                                                     " not in [0, ", tokenizer_.size(), ")"));
    }
  }
  if (ids.empty()) return absl::InvalidArgumentError("the prompt has no tokens");
  return ids;
}

absl::StatusOr<std::vector<TokenId>> PromptEncoder::EncodeChat(const Chat& chat) const {
  if (chat_template_.has_value()) {
    SHORTLIST_ASSIGN_OR_RETURN(const RenderedChat rendered, chat_template_->Render(chat));
    return EncodeText(rendered.text, /*add_special_tokens=*/false, rendered.content);
  }
  if (!chat.tools.is_null()) {
    return absl::InvalidArgumentError("tools: the model has no chat template that renders them");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const RenderedChat rendered, fallback_.Render(chat.messages));
  return EncodeText(rendered.text, /*add_special_tokens=*/true, rendered.content);
}

std::vector<PromptEncoder::Found> PromptEncoder::FindControls(
    std::string_view text, const std::vector<ByteRange>& content) const {
  std::vector<Found> found;
  auto typed = content.begin();
  for (size_t i = 0; i < text.size(); ++i) {
    const auto controls = controls_.find(text[i]);
    if (controls == controls_.end()) continue;
    for (const Control& control : controls->second) {
      if (!text.substr(i).starts_with(control.spelling)) continue;
      const size_t end = i + control.spelling.size();
      while (typed != content.end() && typed->end <= i) ++typed;
      const bool is_typed = typed != content.end() && typed->begin < end;
      found.push_back({i, end, control.id, is_typed});
      i = end - 1;
      break;
    }
  }
  return found;
}

absl::StatusOr<std::vector<TokenId>> PromptEncoder::EncodeText(
    const std::string& text, bool add_special_tokens, const std::vector<ByteRange>& content) const {
  const std::vector<Found> controls = FindControls(text, content);
  std::vector<TokenId> ids;
  if (controls.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(ids, tokenizer_.Encode(text, {add_special_tokens, false}));
    return ids;
  }
  const bool any_typed =
      std::any_of(controls.begin(), controls.end(), [](const Found& f) { return f.is_typed; });
  if (!any_typed && tokenizer_.kind() != "SentencePiece") {
    SHORTLIST_ASSIGN_OR_RETURN(ids, tokenizer_.Encode(text, {add_special_tokens, true}));
  } else {
    // What the tokenizer cannot be told: which of the spellings count.
    if (add_special_tokens) {
      SHORTLIST_ASSIGN_OR_RETURN(ids, tokenizer_.Encode("", {true, false}));
    }
    size_t begin = 0;
    for (size_t i = 0; i <= controls.size(); ++i) {
      if (i < controls.size() && controls[i].is_typed) continue;
      const size_t end = i < controls.size() ? controls[i].begin : text.size();
      SHORTLIST_ASSIGN_OR_RETURN(
          const std::vector<TokenId> part,
          tokenizer_.Encode(std::string_view(text).substr(begin, end - begin), {false, false}));
      ids.insert(ids.end(), part.begin(), part.end());
      if (i == controls.size()) break;
      ids.push_back(controls[i].id);
      begin = controls[i].end;
    }
  }
  const std::optional<TokenId> bos = tokenizer_.bos();
  if (add_special_tokens && bos.has_value() && ids.size() >= 2 && ids[0] == *bos &&
      ids[1] == *bos) {
    ids.erase(ids.begin());
  }
  return ids;
}

const absl::StatusOr<std::vector<TokenId>>& SharedPrompt::Encode(const PromptEncoder& encoder) {
  const std::lock_guard lock(mutex_);
  if (!ids_.has_value()) {
    ids_ = encoder.Encode(*prompt_, {});
    prompt_.reset();
  }
  return *ids_;
}

std::vector<std::string> PromptEncoder::ChatStops() const {
  return chat_template_.has_value() ? std::vector<std::string>() : fallback_.stop_str;
}

}  // namespace shortlist
