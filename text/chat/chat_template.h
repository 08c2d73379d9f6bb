#ifndef SHORTLIST_TEXT_CHAT_CHAT_TEMPLATE_H_
#define SHORTLIST_TEXT_CHAT_CHAT_TEMPLATE_H_

#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "io/model_source.h"
#include "nlohmann/json.hpp"
#include "text/chat/content_form.h"
#include "text/jinja/text.h"

namespace shortlist {

/// A prompt made from a conversation.
///
/// `content` are the bytes that came from the conversation: messages, tools, variables. A special
/// token spelled in them ("<|im_end|>") was typed by a user and must stay text, unless the caller
/// asks otherwise. So a spelling is a special token only if none of its bytes is in `content`. A
/// role that is a plain word (letters, digits, "_", "-") is not content, since templates build
/// special tokens from it ("<|user|>").
struct RenderedChat {
  std::string text;
  std::vector<ByteRange> content;  // sorted, neither overlapping nor touching
};

/// The input of a chat template. JSON keeps the order of its keys, which is visible in prompts that
/// print tools.
struct Chat {
  nlohmann::ordered_json messages;  // an array of objects, not empty
  nlohmann::ordered_json tools;     // an array, or null for none
  bool add_generation_prompt = true;
  bool continue_final_message = false;  // the prompt ends inside the last message, to continue it
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // further ones, by name
  std::optional<std::tm> now;  // for strftime_now; nullopt: the local time
};

/// A checkpoint's own chat template: Jinja, run by a small interpreter with bounded steps, depth
/// and output (text/jinja/interpreter.h). Immutable; any thread may render.
class ChatTemplate {
 public:
  /// Maximum size of a template's source.
  static constexpr int64_t kMaxBytes = int64_t{1} << 20;

  /// `sources` by name; must contain "default", may contain "tool_use". `special_tokens` are the
  /// variables bos_token, eos_token and so on. InvalidArgument names the line where the default
  /// template is wrong. An error in another template does not fail Create: Render reports it when a
  /// chat needs that template.
  static absl::StatusOr<ChatTemplate> Create(const std::map<std::string, std::string>& sources,
                                             std::map<std::string, std::string> special_tokens);

  /// Loads the template of a model directory from the first of these that exists:
  /// chat_template.jinja, `chat_template` of tokenizer_config.json (one, or a list of named ones),
  /// chat_template.json. Templates in additional_chat_templates/*.jinja are added and replace
  /// others of the same name. (Without a chat_template.jinja, transformers 5.24 has only the
  /// additional ones, and renders nothing without tools.) Special tokens are those of
  /// text/chat/special_tokens.h. NotFound if there is no template; InvalidArgument names the file.
  /// An additional file that cannot be read does not fail Load.
  static absl::StatusOr<ChatTemplate> Load(const ModelSource& source);

  /// Returns the prompt, as transformers' apply_chat_template (5.x) does. Members of a message that
  /// are null count as missing; a message of calls without "content" has an empty one if the
  /// template cannot do without. "reasoning_content" and "thinking" are set from each other, or
  /// from "reasoning". "tool_use" is used if there are tools. InvalidArgument for messages that are
  /// not a list of objects, text that is not valid UTF-8, a chat that the template itself rejects,
  /// an invalid operation in the template, and an exceeded bound. Returns the error of a "tool_use"
  /// template that could not be compiled or read.
  absl::StatusOr<RenderedChat> Render(const Chat& chat) const;

  /// True if the source of a template contains `name`, so that it handles that role specifically. A
  /// template may write out other roles too.
  bool KnowsRole(std::string_view name) const;

  /// True if messages of the role "tool" would leave no trace in prompts: no template spells the
  /// role, and short chats with such a message render without its content. False if those chats do
  /// not render; Render then reports why.
  bool IgnoresToolRole() const { return ignores_tool_role_; }

  /// True if the template joins "arguments" of a call as a text; else it reads an object.
  bool reads_argument_text() const { return reads_argument_text_; }

  /// Returns the forms of content that the template reads in messages of `role`. A role other than
  /// system, developer, user, assistant and tool counts as user.
  ContentForm content_form(std::string_view role) const;

  /// Returns the source of the template named "default".
  const std::string& source() const { return source_; }

  /// Returns the source of the template that renders chats with tools.
  const std::string& source_with_tools() const;

  /// Returns the names of the templates, sorted.
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
  bool reads_argument_text_ = false;
  bool needs_content_of_calls_ = false;
  std::map<std::string, ContentForm, std::less<>> content_forms_;  // by role
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_CHAT_TEMPLATE_H_
