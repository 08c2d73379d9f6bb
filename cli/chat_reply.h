#ifndef SHORTLIST_CLI_CHAT_REPLY_H_
#define SHORTLIST_CLI_CHAT_REPLY_H_

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "text/reply/reply_parser.h"

namespace shortlist {

/// A reply of a model, written as its text comes. The answer goes to a stream. Reasoning goes to
/// standard error, dimmed if that is a terminal, so that a program which reads the stream gets the
/// answer alone. Not thread-safe.
class ChatReply {
 public:
  /// `prompt_end`: the end of the rendered prompt, which may have opened the reasoning. `out` must
  /// outlive this.
  ChatReply(const ReplyFormat& format, std::string_view prompt_end, std::ostream& out);
  ~ChatReply() { EndReasoning(); }
  ChatReply(const ChatReply&) = delete;
  ChatReply& operator=(const ChatReply&) = delete;

  /// False: the stream cannot be written.
  bool Append(std::string_view text);
  /// The reply has ended: writes what was held back, and a line end. False as above.
  bool Finish();

  const std::string& answer() const { return answer_; }
  const std::string& reasoning() const { return reasoning_; }

 private:
  void Write(const std::vector<ReplyPart>& parts);
  void EndReasoning();

  std::ostream& out_;
  std::optional<ReplyParser> parser_;  // nullopt: the whole text is the answer
  std::string answer_, reasoning_;
  bool writes_reasoning_ = false;  // the latest part written was reasoning
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_CHAT_REPLY_H_
