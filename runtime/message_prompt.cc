#include "runtime/message_prompt.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;
using Format = MessageConfig::Format;

/// Resolves kAuto, as sentence-transformers guesses the format from the template's source.
Format GuessFormat(const ChatTemplate& chat_template) {
  constexpr std::string_view kSigns[] = {"content[0]", ".type",     "'type'",
                                         "\"type\"",   "item.type", "message.content["};
  const bool is_structured =
      chat_template.source().empty() || chat_template.Names().size() > 1 ||
      std::any_of(std::begin(kSigns), std::end(kSigns), [&](std::string_view sign) {
        return chat_template.source().find(sign) != std::string::npos;
      });
  return is_structured ? Format::kStructured : Format::kFlat;
}

ordered_json Message(const char* role, std::string_view text, Format format) {
  if (format == Format::kFlat) return {{"role", role}, {"content", std::string(text)}};
  const ordered_json part = {{"type", "text"}, {"text", std::string(text)}};
  return {{"role", role}, {"content", ordered_json::array({part})}};
}

absl::Status CarriesNoPair(const std::string& cause) {
  return absl::UnimplementedError(
      absl::StrCat("the chat template carries no pair of a message of the role \"query\" and one "
                   "of the role \"document\" (",
                   cause,
                   "), as sentence-transformers makes them of a pair: put a chat_template.jinja "
                   "there that renders both; a model that reads pairs without a template needs "
                   "none, and no \"message\" in modality_config"));
}

}  // namespace

MessagePrompt::MessagePrompt(MessageConfig config, ChatTemplate chat_template,
                             const Tokenizer& tokenizer)
    : config_(std::move(config)), template_(std::move(chat_template)), tokenizer_(&tokenizer) {
  if (config_.format == Format::kAuto) config_.format = GuessFormat(template_);
  pair_status_ = CheckPairs();
}

/// If a text changes and the prompt does not, the prompt does not contain that text.
absl::Status MessagePrompt::CheckPairs() const {
  const auto pair = template_.Render(ChatOf("", "alpha", "bravo"));
  const auto other_query = template_.Render(ChatOf("", "charlie", "bravo"));
  const auto other_document = template_.Render(ChatOf("", "alpha", "foxtrot"));
  for (const auto* rendered : {&pair, &other_query, &other_document}) {
    if (!rendered->ok()) return CarriesNoPair(std::string(rendered->status().message()));
  }
  const bool has_query = other_query->text != pair->text;
  const bool has_document = other_document->text != pair->text;
  if (has_query && has_document) return absl::OkStatus();
  return CarriesNoPair(absl::StrCat(
      "the text of ", has_query ? "" : "\"query\"", has_query || has_document ? "" : " and ",
      has_document ? "" : "\"document\"", " does not reach the prompt"));
}

Chat MessagePrompt::ChatOf(std::string_view instruction, std::string_view text,
                           std::optional<std::string_view> second) const {
  Chat chat{.messages = ordered_json::array(),
            .add_generation_prompt = config_.add_generation_prompt,
            .variables = config_.variables};
  const auto add = [&](const char* role, std::string_view content) {
    chat.messages.push_back(Message(role, content, config_.format));
  };
  if (!instruction.empty()) add("system", instruction);
  add(second ? "query" : "user", text);
  if (second) add("document", *second);
  return chat;
}

absl::StatusOr<std::vector<TokenId>> MessagePrompt::EncodeChat(
    const Chat& chat, int64_t max_tokens, std::optional<Truncation::Side> cut) const {
  SHORTLIST_ASSIGN_OR_RETURN(const RenderedChat rendered, template_.Render(chat));
  EncodeOptions options{
      .add_special_tokens = false, .parse_special = true, .literal = rendered.content};
  Truncation truncation;
  if (cut) {
    truncation = {.max_len = max_tokens, .side = *cut};
  } else {
    options.max_tokens = max_tokens;
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      Encoding encoding,
      tokenizer_->EncodeSequence(rendered.text, std::nullopt, options, truncation));
  return std::move(encoding.ids);
}

/// The common end of prompts with different texts; empty if there is none or they are equal.
std::vector<TokenId> MessagePrompt::End(std::string_view instruction, bool is_pair) const {
  const auto encode = [&](std::string_view filler) {
    const auto second = is_pair ? std::optional(filler) : std::nullopt;
    return EncodeChat(ChatOf(instruction, filler, second), std::numeric_limits<int64_t>::max(),
                      std::nullopt);
  };
  const auto one = encode("0"), other = encode("1 2 3 4");
  if (!one.ok() || !other.ok()) return {};
  const auto first =
      std::mismatch(one->rbegin(), one->rend(), other->rbegin(), other->rend()).first.base();
  const auto size = one->end() - first;
  if (size >= std::min(std::ssize(*one), std::ssize(*other))) return {};
  return {first, one->end()};
}

absl::StatusOr<std::vector<TokenId>> MessagePrompt::Encode(
    std::string_view instruction, std::string_view text, std::optional<std::string_view> second,
    int64_t max_tokens, std::optional<Truncation::Side> cut) const {
  if (second) SHORTLIST_RETURN_IF_ERROR(pair_status_);
  const Chat chat = ChatOf(instruction, text, second);
  absl::StatusOr<std::vector<TokenId>> ids = EncodeChat(chat, max_tokens, cut);
  if (absl::IsOutOfRange(ids.status())) {
    return absl::OutOfRangeError(
        absl::StrCat(second ? "the pair has " : "", "more than ", max_tokens, " tokens"));
  }
  if (!ids.ok()) return ids.status();
  if (ids->empty()) return absl::InvalidArgumentError("there are no tokens in it");
  if (cut && config_.restores_end && std::ssize(*ids) >= max_tokens) {
    const std::vector<TokenId> end = End(instruction, second.has_value());
    const auto size = std::min(std::ssize(end), std::ssize(*ids));
    std::copy(end.end() - size, end.end(), ids->end() - size);
  }
  return ids;
}

}  // namespace shortlist
