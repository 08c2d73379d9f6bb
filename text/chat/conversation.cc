#include "text/chat/conversation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"
#include "text/jinja/text.h"

namespace shortlist {
namespace {

using jinja::Text;
using nlohmann::ordered_json;

constexpr const char* kCuriousHuman =
    "A chat between a curious human and an artificial intelligence assistant. The assistant gives "
    "helpful, detailed, and polite answers to the human's questions.";
constexpr const char* kInstruction =
    "Below is an instruction that describes a task. Write a response that appropriately completes "
    "the request.";
constexpr const char* kPartyIdeas =
    "Of course! Here are some creative ideas for a 10-year-old's birthday party:\n"
    "1. Treasure Hunt: Organize a treasure hunt in your backyard or nearby park. Create clues and "
    "riddles for the kids to solve, leading them to hidden treasures and surprises.\n"
    "2. Science Party: Plan a science-themed party where kids can engage in fun and interactive "
    "experiments. You can set up different stations with activities like making slime, erupting "
    "volcanoes, or creating simple chemical reactions.\n"
    "3. Outdoor Movie Night: Set up a backyard movie night with a projector and a large screen or "
    "white sheet. Create a cozy seating area with blankets and pillows, and serve popcorn and "
    "snacks "
    "while the kids enjoy a favorite movie under the stars.\n"
    "4. DIY Crafts Party: Arrange a craft party where kids can unleash their creativity. Provide a "
    "variety of craft supplies like beads, paints, and fabrics, and let them create their own "
    "unique "
    "masterpieces to take home as party favors.\n"
    "5. Sports Olympics: Host a mini Olympics event with various sports and games. Set up "
    "different "
    "stations for activities like sack races, relay races, basketball shooting, and obstacle "
    "courses. Give out medals or certificates to the participants.\n"
    "6. Cooking Party: Have a cooking-themed party where the kids can prepare their own mini "
    "pizzas, "
    "cupcakes, or cookies. Provide toppings, frosting, and decorating supplies, and let them get "
    "hands-on in the kitchen.\n"
    "7. Superhero Training Camp: Create a superhero-themed party where the kids can engage in fun "
    "training activities. Set up an obstacle course, have them design their own superhero capes or "
    "masks, and organize superhero-themed games and challenges.\n"
    "8. Outdoor Adventure: Plan an outdoor adventure party at a local park or nature reserve. "
    "Arrange activities like hiking, nature scavenger hunts, or a picnic with games. Encourage "
    "exploration and appreciation for the outdoors.\n"
    "Remember to tailor the activities to the birthday child's interests and preferences. Have a "
    "great celebration!";

/// Returns a template whose turns are between <|im_start|> and <|im_end|>.
Conversation Chatml(std::string name, std::string system_message, std::vector<std::string> stop_str,
                    std::vector<int> stop_token_ids) {
  return {.name = std::move(name),
          .system_template = "<|im_start|>system\n{system_message}",
          .system_message = std::move(system_message),
          .roles = {"<|im_start|>user", "<|im_start|>assistant"},
          .sep_style = SeparatorStyle::kChatml,
          .sep = "<|im_end|>",
          .stop_str = std::move(stop_str),
          .stop_token_ids = std::move(stop_token_ids)};
}

/// Returns a template of the form <|system|>, <|user|>, <|assistant|>, with `sep` after each turn.
Conversation Bars(std::string name, std::string sep, std::vector<int> stop_token_ids) {
  return {.name = std::move(name),
          .system_template = "<|system|>\n{system_message}",
          .roles = {"<|user|>", "<|assistant|>"},
          .sep_style = SeparatorStyle::kChatml,
          .sep = sep,
          .stop_str = {sep},
          .stop_token_ids = std::move(stop_token_ids)};
}

std::vector<Conversation> BuildConversations() {
  return {
      {.name = "raw", .roles = {"", ""}, .sep_style = SeparatorStyle::kNoColonSingle},
      {.name = "one_shot",
       .system_message = kCuriousHuman,
       .roles = {"Human", "Assistant"},
       .examples = {{"Human", "Got any creative ideas for a 10 year old’s birthday?"},
                    {"Assistant", kPartyIdeas}},
       .sep = "\n### ",
       .stop_str = {"###"}},
      {.name = "zero_shot",
       .system_message = kCuriousHuman,
       .roles = {"Human", "Assistant"},
       .sep = "\n### ",
       .stop_str = {"###"}},
      {.name = "vicuna_v1.1",
       .system_message =
           "A chat between a curious user and an artificial intelligence assistant. The assistant "
           "gives helpful, detailed, and polite answers to the user's questions.",
       .roles = {"USER", "ASSISTANT"},
       .sep_style = SeparatorStyle::kAddColonTwo,
       .sep = " ",
       .sep2 = "</s>"},
      {.name = "koala_v1",
       .system_message = "BEGINNING OF CONVERSATION:",
       .roles = {"USER", "GPT"},
       .sep_style = SeparatorStyle::kAddColonTwo,
       .sep = " ",
       .sep2 = "</s>"},
      {.name = "alpaca",
       .system_message = kInstruction,
       .roles = {"### Instruction", "### Response"},
       .sep_style = SeparatorStyle::kAddColonTwo,
       .sep = "\n\n",
       .sep2 = "</s>"},
      {.name = "dolly_v2",
       .system_message = absl::StrCat(kInstruction, "\n\n"),
       .roles = {"### Instruction", "### Response"},
       .sep_style = SeparatorStyle::kDolly,
       .sep = "\n\n",
       .sep2 = "### End"},
      {.name = "llama-2",
       .system_template = "[INST] <<SYS>>\n{system_message}\n<</SYS>>\n\n",
       .roles = {"[INST]", "[/INST]"},
       .sep_style = SeparatorStyle::kLlama2,
       .sep = " ",
       .sep2 = " </s><s>"},
      {.name = "mistral",
       .system_template = "[INST] {system_message}\n",
       .roles = {"[INST]", "[/INST]"},
       .sep_style = SeparatorStyle::kLlama2,
       .sep = " ",
       .sep2 = "</s>"},
      {.name = "llama-3",
       .system_template =
           "<|start_header_id|>system<|end_header_id|>\n\n{system_message}<|eot_id|>",
       .roles = {"user", "assistant"},
       .sep_style = SeparatorStyle::kLlama3,
       .stop_str = {"<|eot_id|>"},
       .stop_token_ids = {128001, 128009}},
      {.name = "gemma",
       .roles = {"<start_of_turn>user\n", "<start_of_turn>model\n"},
       .sep_style = SeparatorStyle::kNoColonSingle,
       .sep = "<end_of_turn>\n",
       .stop_str = {"<end_of_turn>"}},
      Chatml("chatml", "You are a helpful assistant.", {"<|im_end|>"}, {}),
      Chatml("qwen-7b-chat", "You are a helpful assistant.", {"<|endoftext|>"},
             {151643, 151644, 151645}),
      {.name = "Yi-34b-chat",
       .roles = {"<|im_start|>user", "<|im_start|>assistant"},
       .sep_style = SeparatorStyle::kChatml,
       .sep = "<|im_end|>",
       .stop_str = {"<|endoftext|>"},
       .stop_token_ids = {2, 6, 7, 8}},
      Chatml(
          "orca-2",
          "You are Orca, an AI language model created by Microsoft. You are a cautious assistant. "
          "You carefully follow instructions. You are helpful and harmless and you follow ethical "
          "guidelines and promote positive behavior.",
          {"<|im_end|>"}, {}),
      Bars("zephyr", "</s>", {2}),
      Bars("TinyLlama", "</s>", {2}),
      {.name = "solar",
       .roles = {"### User", "### Assistant"},
       .sep_style = SeparatorStyle::kAddNewLineSingle,
       .sep = "\n\n",
       .stop_str = {"</s>"}},
      {.name = "tulu",
       .roles = {"<|user|>", "<|assistant|>"},
       .sep_style = SeparatorStyle::kAddNewLineSingle,
       .sep = "\n"},
      {.name = "openchat_3.5",
       .roles = {"GPT4 Correct User", "GPT4 Correct Assistant"},
       .sep_style = SeparatorStyle::kFalconChat,
       .sep = "<|end_of_turn|>"},
      {.name = "falcon-chat",
       .system_template = "System: {system_message}",
       .roles = {"User", "Falcon"},
       .sep_style = SeparatorStyle::kFalconChat,
       .sep = "\n",
       .sep2 = "<|endoftext|>",
       .stop_str = {"\nUser:"}},
      {.name = "deepseek-chat",
       .roles = {"User", "Assistant"},
       .sep_style = SeparatorStyle::kDeepseekChat,
       .sep = "\n\n",
       .sep2 = "<｜end▁of▁sentence｜>",
       .stop_str = {"<｜end▁of▁sentence｜>"}},
  };
}

/// The text that a style puts around the parts of a conversation.
struct Layout {
  bool system_when_empty = true;         // an empty system message still has its system part
  bool system_opens_first_turn = false;  // the system part replaces the first turn's role
  bool strips = false;                   // white space around a message is dropped
  std::string system_end;
  std::string role_begin;
  std::string role_end;                 // between a role and its text
  std::string open;                     // after the role of an open turn
  std::array<std::string, 2> turn_end;  // after turns at even and odd places
};

Layout LayoutOf(const Conversation& c) {
  const std::string sep2 = c.sep2.value_or("");
  const bool has_system_template = c.system_template != "{system_message}";
  switch (c.sep_style) {
    case SeparatorStyle::kAddColonSingle:
      return {.system_end = c.sep, .role_end = ": ", .open = ":", .turn_end = {c.sep, c.sep}};
    case SeparatorStyle::kAddColonTwo:
      return {.system_end = c.sep, .role_end = ": ", .open = ":", .turn_end = {c.sep, sep2}};
    case SeparatorStyle::kNoColonSingle:
      return {.turn_end = {c.sep, c.sep}};
    case SeparatorStyle::kNoColonTwo:
      return {.turn_end = {c.sep, sep2}};
    case SeparatorStyle::kAddNewLineSingle:
      return {.system_when_empty = has_system_template,
              .system_end = c.sep,
              .role_end = "\n",
              .open = "\n",
              .turn_end = {c.sep, c.sep}};
    case SeparatorStyle::kLlama2:
      return {.system_when_empty = false,
              .system_opens_first_turn = true,
              .role_end = " ",
              .turn_end = {c.sep, sep2}};
    case SeparatorStyle::kLlama3:
      return {.system_when_empty = false,
              .strips = true,
              .role_begin = "<|start_header_id|>",
              .role_end = "<|end_header_id|>\n\n",
              .open = "<|end_header_id|>\n\n",
              .turn_end = {"<|eot_id|>", "<|eot_id|>"}};
    case SeparatorStyle::kChatml:
      return {.system_when_empty = has_system_template,
              .system_end = c.sep + "\n",
              .role_end = "\n",
              .open = "\n",
              .turn_end = {c.sep + "\n", c.sep + "\n"}};
    case SeparatorStyle::kDolly:
      return {.role_end = ":\n", .open = ":\n", .turn_end = {c.sep, sep2 + "\n\n"}};
    case SeparatorStyle::kFalconChat:
      return {.system_when_empty = false,
              .system_end = c.sep,
              .role_end = ": ",
              .open = ":",
              .turn_end = {c.sep, c.sep}};
    case SeparatorStyle::kDeepseekChat:
      return {.role_end = ": ", .open = ":", .turn_end = {c.sep, sep2}};
  }
  return {};
}

/// A turn: role and text; an empty text leaves the turn open.
struct Turn {
  std::string role;
  Text text;
};

absl::Status InMessage(size_t index, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("messages[", index, "]: ", what));
}

/// Returns the text of a message; the parts of a list are joined by line ends.
absl::StatusOr<Text> ReadContent(const ordered_json& message, size_t index) {
  const auto content = message.find("content");
  if (content == message.end()) return InMessage(index, "no \"content\"");
  std::vector<const ordered_json*> texts;
  if (content->is_string()) {
    texts.push_back(&*content);
  } else if (content->is_array()) {
    for (const auto& part : *content) {
      const auto text = part.is_object() ? part.find("text") : part.end();
      if (!part.is_object() || text == part.end() || !text->is_string()) {
        return InMessage(index, "a part of \"content\" that is not a text");
      }
      texts.push_back(&*text);
    }
  } else {
    return InMessage(index, "\"content\" is neither a text nor a list of texts");
  }
  Text joined;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto& bytes = texts[i]->get_ref<const std::string&>();
    if (const auto offset = FindInvalidUtf8(bytes)) {
      return InMessage(index, absl::StrCat("text that is not valid UTF-8 at byte ", *offset));
    }
    if (i > 0) joined.AppendTemplate("\n");
    joined.Append(Text::FromContent(bytes));
  }
  if (joined.too_long()) {
    return InMessage(index, absl::StrCat("text longer than ", jinja::kMaxTextBytes, " bytes"));
  }
  return joined;
}

Text Stripped(const Text& text) {
  const std::string& bytes = text.bytes();
  size_t begin = 0, end = bytes.size();
  for (size_t next = 0; begin < end && jinja::IsSpace(jinja::NextCodePoint(bytes, next));)
    begin = next;
  while (begin < end) {
    const size_t previous = jinja::PreviousCodePoint(bytes, end);
    size_t next = previous;
    if (!jinja::IsSpace(jinja::NextCodePoint(bytes, next))) break;
    end = previous;
  }
  return text.Slice(begin, end);
}

/// Returns the system template around its message.
Text SystemPart(const Conversation& conversation, const Text& message) {
  static constexpr std::string_view kField = "{system_message}";
  const std::string& form = conversation.system_template;
  const size_t field = form.find(kField);
  Text part;
  part.AppendTemplate(std::string_view(form).substr(0, field));
  part.Append(message);
  part.AppendTemplate(std::string_view(form).substr(field + kField.size()));
  return part;
}

Text Join(const Conversation& conversation, const Text& system, const std::vector<Turn>& turns) {
  const Layout layout = LayoutOf(conversation);
  Text prompt;
  const bool has_system = layout.system_when_empty || !system.bytes().empty();
  if (has_system) {
    prompt.Append(SystemPart(conversation, system));
    prompt.AppendTemplate(layout.system_end);
  }
  for (size_t i = 0; i < turns.size(); ++i) {
    // FastChat's LLAMA2 names the roles by position.
    const std::string& role =
        layout.system_opens_first_turn ? conversation.roles[i % 2] : turns[i].role;
    const bool is_open = turns[i].text.bytes().empty();
    if (i > 0 || !layout.system_opens_first_turn || !has_system || is_open) {
      prompt.AppendTemplate(layout.role_begin);
      prompt.AppendTemplate(role);
      prompt.AppendTemplate(is_open ? layout.open : layout.role_end);
    }
    if (is_open) continue;
    prompt.Append(layout.strips ? Stripped(turns[i].text) : turns[i].text);
    prompt.AppendTemplate(layout.turn_end[i % 2]);
  }
  return prompt;
}

}  // namespace

absl::StatusOr<RenderedChat> Conversation::Render(const ordered_json& messages) const {
  if (!messages.is_array() || messages.empty()) {
    return absl::InvalidArgumentError("messages: not a list with at least one message");
  }
  Text system = Text::FromTemplate(system_message);
  std::vector<Turn> turns;
  for (const Message& example : examples) {
    turns.push_back({example.role, Text::FromTemplate(example.text)});
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    const ordered_json& message = messages[i];
    const auto role = message.is_object() ? message.find("role") : message.end();
    if (!message.is_object() || role == message.end() || !role->is_string()) {
      return InMessage(i, "not an object with a \"role\"");
    }
    SHORTLIST_ASSIGN_OR_RETURN(Text text, ReadContent(message, i));
    if (*role == "system") {
      system = std::move(text);
    } else if (*role == "user" || *role == "assistant") {
      turns.push_back({roles[*role == "assistant"], std::move(text)});
    } else {
      return InMessage(i, absl::StrCat("role \"", role->get<std::string>().substr(0, 40),
                                       "\" is none of system, user, assistant"));
    }
  }
  turns.push_back({roles[1], Text()});
  const Text prompt = Join(*this, system, turns);
  if (prompt.too_long()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a prompt longer than ", jinja::kMaxTextBytes, " bytes"));
  }
  return RenderedChat{prompt.bytes(), prompt.content()};
}

std::span<const Conversation> Conversations() {
  static const auto* const conversations = new std::vector<Conversation>(BuildConversations());
  return *conversations;
}

absl::StatusOr<const Conversation*> FindConversation(std::string_view name) {
  std::string names;
  for (const Conversation& conversation : Conversations()) {
    if (conversation.name == name) return &conversation;
    absl::StrAppend(&names, names.empty() ? "" : ", ", conversation.name);
  }
  return absl::NotFoundError(absl::StrCat("no conversation template '",
                                          std::string(name.substr(0, 80)), "'; there are ", names));
}

}  // namespace shortlist
