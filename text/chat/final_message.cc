#include "text/chat/final_message.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/text.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kMark = "CONTINUE_FINAL_MESSAGE_TAG ";

/// Returns the last text of a message, or null.
ordered_json* FinalText(ordered_json& message) {
  if (!message.is_object() || !message.contains("content")) return nullptr;
  ordered_json& content = message["content"];
  if (content.is_string()) return &content;
  if (!content.is_array()) return nullptr;
  for (size_t i = content.size(); i > 0; --i) {
    ordered_json& part = content[i - 1];
    if (part.is_object() && part.contains("text") && part["text"].is_string()) return &part["text"];
  }
  return nullptr;
}

/// Returns the end of `text`, cut at `end`, without trailing white space.
size_t TrimmedEnd(std::string_view text, size_t end) {
  while (end > 0) {
    const size_t previous = jinja::PreviousCodePoint(text, end);
    size_t position = previous;
    if (!jinja::IsSpace(jinja::NextCodePoint(text, position))) break;
    end = previous;
  }
  return end;
}

std::string_view Strip(std::string_view text) {
  text = text.substr(0, TrimmedEnd(text, text.size()));
  size_t begin = 0;
  for (size_t next = 0; next < text.size() && jinja::IsSpace(jinja::NextCodePoint(text, next));) {
    begin = next;
  }
  return text.substr(begin);
}

}  // namespace

absl::StatusOr<ordered_json> MarkFinalMessage(ordered_json messages) {
  const bool has_last = messages.is_array() && !messages.empty();
  ordered_json* const text = has_last ? FinalText(messages.back()) : nullptr;
  if (text == nullptr) {
    return absl::InvalidArgumentError(
        "continue_final_message: the last message has no text to go on with");
  }
  if (FindInvalidUtf8(text->get_ref<const std::string&>())) {
    return absl::InvalidArgumentError(
        "continue_final_message: the last message is not valid UTF-8");
  }
  text->get_ref<std::string&>() += kMark;
  return messages;
}

absl::StatusOr<RenderedChat> CutAtMark(RenderedChat rendered, const ordered_json& messages) {
  std::string& text = rendered.text;
  const std::string_view bare = kMark.substr(0, kMark.size() - 1);
  size_t end = text.rfind(bare);
  ordered_json last = messages.back();
  const std::string_view message = Strip(FinalText(last)->get_ref<const std::string&>());
  if (end == text.npos || jinja::Find(text, message) == text.npos) {
    return absl::InvalidArgumentError(
        "continue_final_message: the chat template does not write the last message as it is");
  }
  const bool is_trimmed = !std::string_view(text).substr(end).starts_with(kMark);
  if (is_trimmed) end = TrimmedEnd(text, end);
  text.resize(end);
  std::erase_if(rendered.content, [end](const ByteRange& range) { return range.begin >= end; });
  if (!rendered.content.empty()) {
    rendered.content.back().end = std::min(rendered.content.back().end, end);
  }
  return rendered;
}

}  // namespace shortlist
