#include "serve/tokenizer_info.h"

#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"

namespace shortlist {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Returns a token, which is a text or an object with the text as "content".
ordered_json TokenOf(const json& config, const char* name, const ordered_json& fallback) {
  const auto member = config.find(name);
  if (member == config.end()) return fallback;
  const bool is_object = member->is_object() && member->contains("content");
  const json& text = is_object ? (*member)["content"] : *member;
  return text.is_string() ? ordered_json(text) : fallback;
}

ordered_json Spelling(const Tokenizer& tokenizer, std::optional<TokenId> id) {
  if (!id.has_value()) return nullptr;
  return std::string(tokenizer.ControlPiece(*id));
}

}  // namespace

absl::StatusOr<std::string> TokenizerInfo(const ModelSource& source,
                                          const Generator::Options& options) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto file, source.ReadObject("tokenizer_config.json"));
  const json config = file.value_or(json::object());
  const Tokenizer& tokenizer = *options.tokenizer;
  const ChatTemplate* const chat_template = options.prompt_encoder->chat_template();
  ordered_json info;
  info["tokenizer_class"] = TokenOf(config, "tokenizer_class", std::string(tokenizer.kind()));
  info["bos_token"] = TokenOf(config, "bos_token", Spelling(tokenizer, tokenizer.bos()));
  info["eos_token"] = TokenOf(config, "eos_token", Spelling(tokenizer, tokenizer.eos()));
  info["unk_token"] = TokenOf(config, "unk_token", nullptr);
  info["pad_token"] = TokenOf(config, "pad_token", nullptr);
  info["chat_template"] = nullptr;
  if (chat_template != nullptr) info["chat_template"] = chat_template->source();
  info["chat_stops"] = options.prompt_encoder->ChatStops();
  info["chat_stop_token_ids"] = ordered_json::array();
  for (const TokenId id : options.prompt_encoder->ChatStopTokenIds()) {
    info["chat_stop_token_ids"].push_back(Raw(id));
  }
  info["model_max_length"] = options.context_length;
  return Dump(info);
}

}  // namespace shortlist
