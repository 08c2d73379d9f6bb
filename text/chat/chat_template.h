#ifndef SHORTLIST_TEXT_CHAT_CHAT_TEMPLATE_H_
#define SHORTLIST_TEXT_CHAT_CHAT_TEMPLATE_H_

#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "io/model_source.h"
#include "nlohmann/json.hpp"
#include "text/jinja/text.h"

namespace shortlist {

/// A prompt made from a conversation.
///
/// `content` are the bytes that came from the conversation: messages, tools, variables. Where they
/// spell a special token ("<|im_end|>"), that was typed by someone and must stay text, unless the
/// caller asks otherwise: a spelling is a special token only where none of its bytes lies in
/// `content`. A role that is a plain word (letters, digits, "_", "-") is not content, since
/// templates build special tokens from it ("<|user|>").
struct RenderedChat {
  std::string text;
  std::vector<ByteRange> content;  // sorted, neither overlapping nor touching
};

/// What a chat template is rendered with. JSON keeps the order of its keys, which shows in prompts
/// that print tools.
struct Chat {
  nlohmann::ordered_json messages;  // an array of objects, not empty
  nlohmann::ordered_json tools;     // an array, or null for none
  bool add_generation_prompt = true;
  bool continue_final_message = false;  // the prompt ends inside the last message, for more of it
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // further ones, by name
  std::optional<std::tm> now;  // for strftime_now; the local time where it is not set
};

/// A checkpoint's own chat template: Jinja, run by a small interpreter in bounded steps, depth and
/// output (text/jinja/interpreter.h). Immutable; any thread may render.
class ChatTemplate {
 public:
  /// Bound of a template's source.
  static constexpr int64_t kMaxBytes = int64_t{1} << 20;

  /// `sources` by name; "default" must be among them, "tool_use" may be. `special_tokens` are the
  /// variables bos_token, eos_token and so on. InvalidArgument names the line where the default
  /// template is wrong. Another template that is wrong costs only itself: Render reports it when a
  /// chat asks for it.
  static absl::StatusOr<ChatTemplate> Create(const std::map<std::string, std::string>& sources,
                                             std::map<std::string, std::string> special_tokens);

  /// The template of a model, from the first that is there: chat_template.jinja,
  /// `chat_template` of tokenizer_config.json (one, or a list of named ones), chat_template.json.
  /// Further ones, or others of their names, are in additional_chat_templates/*.jinja. Without a
  /// chat_template.jinja, transformers 5.24 has these alone, and renders nothing without tools.
  /// Special tokens are those of
  /// text/chat/special_tokens.h. NotFound where there is no template; InvalidArgument names the
  /// file. An additional file that cannot be read costs only itself.
  static absl::StatusOr<ChatTemplate> Load(const ModelSource& source);

  /// The prompt, as transformers' apply_chat_template (5.x) gives it: members of a message that are
  /// null count as missing, "reasoning_content" and "thinking" stand for one another, and
  /// "tool_use" is taken where there are tools. InvalidArgument for messages that are no list of
  /// objects, text that is not valid UTF-8, what the template itself refuses, and operations that
  /// it gets wrong; InvalidArgument past a bound. The error of a "tool_use" template that could not
  /// be compiled or read.
  absl::StatusOr<RenderedChat> Render(const Chat& chat) const;

  /// Whether a template knows the role `name`, other than by writing down whatever role there is:
  /// its source spells it.
  bool KnowsRole(std::string_view name) const;

  /// Whether messages of the role "tool" would leave no trace in prompts: no template spells the
  /// role, and short chats with such a message render without its content. False where they do not
  /// render: Render then says why.
  bool IgnoresToolRole() const { return ignores_tool_role_; }

  /// The text of the template that is named "default".
  const std::string& source() const { return source_; }

  /// Names of the templates, sorted.
  std::vector<std::string> Names() const;

 private:
  struct Parsed;
  using Source = absl::StatusOr<std::string>;
  ChatTemplate() = default;
  static absl::StatusOr<ChatTemplate> CreateOf(const std::map<std::string, Source>& sources,
                                               std::map<std::string, std::string> special_tokens);
  static absl::StatusOr<std::shared_ptr<const Parsed>> Compile(const std::string& name,
                                                               const Source& source);

  std::string source_;
  std::map<std::string, absl::StatusOr<std::shared_ptr<const Parsed>>> templates_;
  std::map<std::string, std::string> special_tokens_;
  bool ignores_tool_role_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_CHAT_TEMPLATE_H_
