#ifndef SHORTLIST_TEXT_REPLY_REPLY_PARSER_H_
#define SHORTLIST_TEXT_REPLY_REPLY_PARSER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"
#include "text/reply/reply_format.h"

namespace shortlist {

/// A piece of a reply.
struct ReplyPart {
  enum class Kind {
    kContent,
    kReasoning,
    kCall,      // a call begins; `text` is its whole name
    kArguments  // the next piece of the latest call's arguments
  };
  Kind kind = Kind::kContent;
  std::string text;     // never empty, except for kCall in damaged replies
  std::string call_id;  // of kCall: the id that the model gave; empty: none

  bool operator==(const ReplyPart&) const = default;
};

/// Takes the text of a reply as it comes and tells content, reasoning and tool calls apart. Total:
/// what is no call is content, whatever the model writes. The joined pieces do not depend on where
/// the text was cut. The joined arguments of a complete call are a JSON object: the model's own
/// bytes where the format writes JSON, else made of its values by the tool's parameters. Text that
/// may begin a mark is held back, arguments only as long as they cannot be told. Time is linear in
/// the text; memory is that of what is held back. Not thread-safe.
///
/// - A call is reported by its marks, whatever its name, as other engines do. Without a mark (Llama
///   3, Llama 4) and within the reasoning, its name must be a tool's. Such a call within the
///   reasoning ends the reasoning.
/// - In formats whose calls are JSON, an answer may be one block of Markdown that contains calls.
///   See FencedCallReader.
/// - Arguments may be missing or null ({}), or an object's text in a string. Anything else that is
///   no object makes the call content. Control characters in JSON strings become escapes.
/// - A reply that ends within a call: if the name is certain, the call has the arguments so far,
///   perhaps none; otherwise its text is content.
/// - White space is dropped at both ends of the reasoning, and where content borders on reasoning
///   or a call. Between two pieces of content it stays.
class ReplyParser {
 public:
  struct Options {
    ReplyFormat format;
    ReplyStart start = ReplyStart::kAnswer;
    // OpenAI's "tools": the types of arguments in formats that do not write JSON. Null: calls are
    // not parsed, they are content. Read in the constructor.
    nlohmann::ordered_json tools;
    bool is_single = false;             // calls after the first are dropped
    bool reasoning_is_content = false;  // reasoning is content, with its marks
    // The reply follows CallTag() with ToolFormat::kNone: a JSON array of calls.
    bool is_call_array = false;
  };
  explicit ReplyParser(Options options);
  ReplyParser(ReplyParser&&) noexcept;
  ~ReplyParser();

  /// Appends to `parts` what is certain now; consecutive pieces of one kind may come as several
  /// parts.
  void Append(std::string_view text, std::vector<ReplyPart>& parts);
  /// The reply has ended: appends what was held back.
  void Finish(std::vector<ReplyPart>& parts);

  /// True if the text so far ends within the reasoning, before its end mark.
  bool in_reasoning() const;
  /// Number of calls so far.
  int num_calls() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_REPLY_PARSER_H_
