#ifndef SHORTLIST_TEXT_REPLY_REPLY_FORMAT_H_
#define SHORTLIST_TEXT_REPLY_REPLY_FORMAT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// How a model writes tool calls.
enum class ToolFormat {
  kNone,
  kHermes,      // <tool_call>{"name", "arguments"}</tool_call>: Hermes, Qwen 2.5 and 3, Granite 4
  kQwen3Coder,  // <tool_call><function=N><parameter=k>v</parameter></function></tool_call>
  kLlama3Json,  // {"name", "parameters"}, perhaps behind <|python_tag|>, joined by "; "
  kLlama4Pythonic,
  kMistral,      // [TOOL_CALLS] [{"name", "arguments"}, ...]
  kMistralArgs,  // [TOOL_CALLS]N[ARGS]{...}, perhaps with [CALL_ID]
  kHarmony,
  kDeepSeekR1,  // V3 and R1: function<sep>N, arguments in a block ```json
  kDeepSeekV31,
  kDeepSeekV32,  // DSML
  kGlm,
  kGemma4,
  kFunctionGemma,
  kPhi4,
  kGranite,
  kCohere,
  kKimiK2,
  kMiniMaxM2,
  kLfm2,
  kOlmo3
};

/// How a model writes its reply: which part is reasoning, answer, or a call of a tool.
struct ReplyFormat {
  ToolFormat tools = ToolFormat::kNone;
  // The marks around reasoning, e.g. "<think>" and "</think>". Empty: the model has none, or the
  // tool format itself separates reasoning (harmony).
  std::string reasoning_begin, reasoning_end;

  bool has_reasoning() const { return !reasoning_end.empty() || tools == ToolFormat::kHarmony; }
  bool operator==(const ReplyFormat&) const = default;
};

/// Returns the format whose marks occur in the source of a chat template; kNone if none does.
ReplyFormat FindReplyFormat(std::string_view template_source);

/// A short name for logs and flags ("hermes"); kNone: "none".
std::string_view ToolFormatName(ToolFormat format);
/// The format with this name; nullopt if there is none.
std::optional<ToolFormat> ParseToolFormat(std::string_view name);

/// The spellings by which a reply of this format is parsed, those of reasoning too. Where one of
/// them is a control token, the text that ReplyParser reads must contain it.
std::vector<std::string> ReplyMarks(const ReplyFormat& format);

/// Where a reply begins, as the end of its prompt tells.
enum class ReplyStart {
  kAnswer,     // reasoning is over, or there is none
  kMayReason,  // the model may open reasoning itself
  kReasoning   // the prompt has opened it
};
ReplyStart FindReplyStart(const ReplyFormat& format, std::string_view prompt_end);

/// What of its calls a reply must follow.
struct CallRule {
  nlohmann::ordered_json tools;  // those that may be called, as in OpenAI's "tools"
  bool is_required = false;      // at least one call, and no text besides reasoning
  bool is_parallel = true;       // more than one call is allowed
};

/// Returns a structural tag (grammar/structural_tag.h) for replies with such calls: {"type":
/// "structural_tag", "format": ...}. Free text goes on until a call's beginning; from there on the
/// name is that of a tool, and the arguments fit its parameters (`strict`, or is_required), or are
/// any JSON object. Calls that Llama 4 writes without a mark are constrained only if required. With
/// kNone, required calls are one JSON array of {"name", "parameters"}, and others are not
/// constrained (null); so are rules without tools. InvalidArgument, naming the tool, if arguments
/// must fit parameters with a name or a schema that the format cannot write.
absl::StatusOr<nlohmann::ordered_json> CallTag(const ReplyFormat& format, ReplyStart start,
                                               const CallRule& rule);

/// Returns a structural tag for replies whose answer, after the reasoning, follows `answer`: a
/// format of structural tags, e.g. {"type": "json_schema", "json_schema": ...}. `calls`, a format
/// too, stands for calls that may be made in place of the answer; null: none.
nlohmann::ordered_json AnswerTag(const ReplyFormat& format, ReplyStart start,
                                 const nlohmann::ordered_json& answer,
                                 const nlohmann::ordered_json& calls = nullptr);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_REPLY_FORMAT_H_
