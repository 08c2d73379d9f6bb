#include "serve/fastchat/frame.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/chat/conversation_of_model.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

// Words that no template changes.
constexpr const char* kSystem = "Zq0";
constexpr std::array kTurns = {"Zq1", "Zq2", "Zq3", "Zq4", "Zq5"};  // the user's turns and answers

constexpr std::string_view kField = "{system_message}";
constexpr std::string_view kSystemMark = "[no system message]";
constexpr std::string_view kAnswerMark = "[answer]";

/// Returns the first `num_turns` turns, after a system message if there is one.
ordered_json Messages(bool has_system, size_t num_turns) {
  auto messages = ordered_json::array();
  if (has_system) messages.push_back({{"role", "system"}, {"content", kSystem}});
  for (size_t i = 0; i < num_turns; ++i) {
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", kTurns[i]}});
  }
  return messages;
}

/// Returns the chat as the template renders it.
absl::StatusOr<std::string> Rendered(const ChatTemplate& own, bool has_system, size_t num_turns) {
  SHORTLIST_ASSIGN_OR_RETURN(RenderedChat chat,
                             own.Render({.messages = Messages(has_system, num_turns)}));
  return std::move(chat.text);
}

/// Returns the text before, between and after `words` in `text`; empty unless they occur in this
/// order.
std::vector<std::string> CutAt(std::string_view text, std::initializer_list<const char*> words) {
  std::vector<std::string> parts;
  for (const std::string_view word : words) {
    const size_t at = text.find(word);
    if (at == std::string_view::npos) return {};
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(at + word.size());
  }
  parts.emplace_back(text);
  return parts;
}

/// The parts of a template's prompt for "user, answer, user".
struct Parts {
  bool takes_system = false;
  std::string before_system;  // with a system message: before it
  std::string after_system;   // with a system message: between it and the user's first word
  std::string begin;          // before the user's first word, without a system message
  std::string answer;         // between the user's word and the answer
  std::string next;           // between the answer and the user's next word
  std::string open;           // after the last word
};

std::optional<Parts> ReadParts(const ChatTemplate& own) {
  const absl::StatusOr<std::string> plain = Rendered(own, /*has_system=*/false, 3);
  if (!plain.ok()) return std::nullopt;
  std::vector<std::string> cut = CutAt(*plain, {kTurns[0], kTurns[1], kTurns[2]});
  if (cut.empty()) return std::nullopt;
  Parts parts{.begin = cut[0], .answer = cut[1], .next = cut[2], .open = cut[3]};
  const absl::StatusOr<std::string> whole = Rendered(own, /*has_system=*/true, 3);
  if (!whole.ok()) return parts;
  cut = CutAt(*whole, {kSystem, kTurns[0]});
  if (cut.empty()) return std::nullopt;
  parts.takes_system = true;
  parts.before_system = cut[0];
  parts.after_system = cut[1];
  return parts;
}

std::string_view CommonEnd(std::string_view a, std::string_view b) {
  const auto [end, unused] = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return a.substr(a.size() - static_cast<size_t>(end - a.rbegin()));
}

/// Returns `text` without `end`. Precondition: `text` ends with `end`.
std::string Without(std::string_view text, std::string_view end) {
  return std::string(text.substr(0, text.size() - end.size()));
}

/// Sets the system part, for a style that always writes it. The user's role begins with `role`.
void SetSystem(const Parts& parts, std::string_view role, FastchatFrame& frame) {
  Conversation& c = frame.conversation;
  const std::string begin = Without(parts.begin, role);
  if (!parts.takes_system) {
    c.system_template = begin + std::string(kField);
    return;
  }
  const std::string& before = parts.before_system;
  const std::string after = Without(parts.after_system, role);
  c.system_template = absl::StrCat(before, std::string(kField), after);
  if (begin.size() >= before.size() + after.size() && begin.starts_with(before) &&
      begin.ends_with(after)) {
    c.system_message = begin.substr(before.size(), begin.size() - before.size() - after.size());
    return;
  }
  c.system_message = kSystemMark;
  frame.marked_system = absl::StrCat(before, c.system_message, after);
  frame.no_system = begin;
}

/// Everything between two words is part of a role: FastChat writes roles around empty messages too.
FastchatFrame FrameOf(const Parts& parts) {
  std::string_view role = CommonEnd(parts.begin, parts.next);
  if (parts.takes_system) role = CommonEnd(role, parts.after_system);
  FastchatFrame frame;
  frame.origin = "the checkpoint's chat template";
  Conversation& c = frame.conversation;
  c.name = "checkpoint";
  c.sep_style = SeparatorStyle::kNoColonTwo;
  c.roles = {std::string(role), parts.answer};
  c.sep2 = Without(parts.next, role);
  if (parts.answer != parts.open && !parts.answer.empty()) {
    c.roles[1] += kAnswerMark;
    frame.marked_answer = c.roles[1];
    frame.answer = parts.answer;
    frame.open_answer = parts.open;
  }
  SetSystem(parts, role, frame);
  return frame;
}

/// True if the system template has braces besides its field. FastChat formats the template, so they
/// would have to be doubled.
bool HasBraces(const Conversation& c) {
  const auto is_brace = [](char byte) { return byte == '{' || byte == '}'; };
  return std::count_if(c.system_template.begin(), c.system_template.end(), is_brace) != 2;
}

/// True if the frame's prompts are the template's.
bool SaysTheSame(const FastchatFrame& frame, const ChatTemplate& own, bool takes_system) {
  for (const size_t num_turns : {size_t{1}, size_t{3}, size_t{5}}) {
    for (const bool has_system : {false, true}) {
      if (has_system && !takes_system) continue;
      const absl::StatusOr<std::string> wanted = Rendered(own, has_system, num_turns);
      const absl::StatusOr<RenderedChat> made =
          frame.conversation.Render(Messages(has_system, num_turns));
      if (!wanted.ok() || !made.ok() || frame.Unmark(made->text) != *wanted) return false;
    }
  }
  return true;
}

}  // namespace

std::string FastchatFrame::Unmark(std::string prompt) const {
  if (!marked_system.empty() && prompt.starts_with(marked_system)) {
    prompt.replace(0, marked_system.size(), no_system);
  }
  if (marked_answer.empty()) return prompt;
  if (prompt.ends_with(marked_answer)) {
    prompt.replace(prompt.size() - marked_answer.size(), marked_answer.size(), open_answer);
  }
  return absl::StrReplaceAll(prompt, {{marked_answer, answer}});
}

std::optional<FastchatFrame> DeriveFastchatFrame(const ChatTemplate& own) {
  const std::optional<Parts> parts = ReadParts(own);
  if (!parts.has_value()) return std::nullopt;
  FastchatFrame frame = FrameOf(*parts);
  const bool is_sayable =
      !HasBraces(frame.conversation) && SaysTheSame(frame, own, parts->takes_system);
  return is_sayable ? std::optional(std::move(frame)) : std::nullopt;
}

absl::StatusOr<FastchatFrame> ChooseFastchatFrame(std::string_view conv_template,
                                                  const ChatTemplate* own, std::string_view model) {
  if (!conv_template.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(const Conversation* named, FindConversation(conv_template));
    return FastchatFrame{.conversation = *named, .origin = named->name};
  }
  if (own != nullptr) {
    std::optional<FastchatFrame> derived = DeriveFastchatFrame(*own);
    if (derived.has_value()) return *std::move(derived);
  }
  if (const Conversation* const named = FindConversationOfModel(model)) {
    return FastchatFrame{.conversation = *named, .origin = named->name + ", by the model's name"};
  }
  return absl::NotFoundError(
      absl::StrCat(own == nullptr ? "the checkpoint has no chat template"
                                  : "FastChat's styles cannot say the checkpoint's chat template",
                   ", and its name '", std::string(model.substr(0, 80)),
                   "' goes with none of FastChat's: name one with --conv-template"));
}

}  // namespace shortlist
