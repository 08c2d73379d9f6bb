#ifndef SHORTLIST_SERVE_OPENAI_CHAT_MESSAGE_H_
#define SHORTLIST_SERVE_OPENAI_CHAT_MESSAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "serve/openai/reply_plan.h"
#include "serve/output.h"
#include "text/reply/reply_parser.h"

namespace shortlist {

/// A call of a tool in a reply.
struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // the text of a JSON object
};

/// Returns the id of a new call: "call_" and 24 hexadecimal digits, or for `format`s whose
/// templates accept no other, nine letters and digits.
std::string NewCallId(ToolFormat format);

/// Reads one reply as it comes: its parts, and what they make together. Not thread-safe.
class ReplyAssembly {
 public:
  /// `plan` must outlive this.
  explicit ReplyAssembly(const ReplyPlan& plan);

  /// Returns the parts that new output completes, without reasoning that is not told. A call's part
  /// has an id. After the last output everything has been returned.
  std::vector<ReplyPart> Read(const Output& output);

  const std::string& content() const { return content_; }
  const std::string& reasoning() const { return reasoning_; }
  const std::vector<ToolCall>& calls() const { return calls_; }
  /// True if the arguments of the last call have not ended: the reply was cut.
  bool ends_within_call() const;
  /// Number of output tokens of the reasoning, with its end mark.
  int64_t num_reasoning_tokens() const { return num_reasoning_tokens_; }

 private:
  void Finish(std::vector<ReplyPart>& parts);
  std::vector<ReplyPart> Keep(std::vector<ReplyPart> parts, bool is_last);

  const ReplyPlan& plan_;
  ReplyParser parser_;
  std::string content_, reasoning_, unsent_reasoning_;
  std::vector<ToolCall> calls_;
  int64_t num_reasoning_tokens_ = 0;
};

/// Returns "message" of a complete choice in /v1/chat/completions.
nlohmann::ordered_json ChatMessage(const ReplyAssembly& reader);

/// Returns "delta"s for `parts`, in order: each has one of content, reasoning, and tool_calls.
/// `num_calls_before`: calls of the reply before these parts.
std::vector<nlohmann::ordered_json> ChatDeltas(const std::vector<ReplyPart>& parts,
                                               size_t num_calls_before);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_CHAT_MESSAGE_H_
