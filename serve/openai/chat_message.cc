#include "serve/openai/chat_message.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/http/target.h"

namespace shortlist {

using nlohmann::ordered_json;

std::string NewCallId(ToolFormat format) {
  std::string digits;
  for (const char c : NewRequestId()) {
    if (c != '-') digits += c;
  }
  const bool is_short = format == ToolFormat::kMistral || format == ToolFormat::kMistralArgs;
  return is_short ? digits.substr(0, 9) : absl::StrCat("call_", digits.substr(0, 24));
}

ReplyAssembly::ReplyAssembly(const ReplyPlan& plan) : plan_(plan), parser_(plan.parser) {}

std::vector<ReplyPart> ReplyAssembly::Read(const Output& output) {
  std::vector<ReplyPart> parts;
  if (!plan_.is_parsed) {
    content_ += output.text;
    if (!output.text.empty()) parts.push_back({.text = output.text});
    return parts;
  }
  // Token by token, to count those of the reasoning; a stop withholds the end of their text.
  std::string_view rest = output.text;
  for (const OutputToken& token : output.tokens) {
    const size_t size = std::min(rest.size(), token.text.size());
    if (parser_.in_reasoning()) ++num_reasoning_tokens_;
    parser_.Append(rest.substr(0, size), parts);
    rest.remove_prefix(size);
  }
  parser_.Append(rest, parts);
  if (output.last.finished) Finish(parts);
  return Keep(std::move(parts), output.last.finished);
}

/// Appends what was held back until the end of the reply.
void ReplyAssembly::Finish(std::vector<ReplyPart>& parts) {
  std::vector<ReplyPart> held;
  parser_.Finish(held);
  for (ReplyPart& part : held) {
    // Where the reply is calls alone, this is the beginning of a call that was cut.
    const bool is_mark = plan_.is_required && part.kind == ReplyPart::Kind::kContent;
    if (!is_mark) parts.push_back(std::move(part));
  }
}

bool ReplyAssembly::ends_within_call() const {
  return !calls_.empty() && !ordered_json::accept(calls_.back().arguments);
}

/// Adds the parts to the whole reply, and returns those that are sent now.
std::vector<ReplyPart> ReplyAssembly::Keep(std::vector<ReplyPart> parts, bool is_last) {
  std::vector<ReplyPart> sent;
  const auto send_reasoning = [&] {
    if (unsent_reasoning_.empty()) return;
    sent.push_back({.kind = ReplyPart::Kind::kReasoning, .text = std::move(unsent_reasoning_)});
    unsent_reasoning_.clear();
  };
  for (ReplyPart& part : parts) {
    if (part.kind == ReplyPart::Kind::kReasoning) {
      if (!plan_.return_reasoning) continue;
      reasoning_ += part.text;
      unsent_reasoning_ += part.text;
      if (plan_.stream_reasoning) send_reasoning();
      continue;
    }
    send_reasoning();
    if (part.kind == ReplyPart::Kind::kContent) content_ += part.text;
    if (part.kind == ReplyPart::Kind::kCall) {
      if (part.call_id.empty()) part.call_id = NewCallId(plan_.parser.format.tools);
      calls_.push_back({.id = part.call_id, .name = part.text, .arguments = ""});
    }
    if (part.kind == ReplyPart::Kind::kArguments) calls_.back().arguments += part.text;
    sent.push_back(std::move(part));
  }
  if (is_last) send_reasoning();
  return sent;
}

ordered_json ChatMessage(const ReplyAssembly& reader) {
  ordered_json message = {{"role", "assistant"}, {"content", reader.content()}};
  if (!reader.calls().empty() && reader.content().empty()) message["content"] = nullptr;
  if (!reader.reasoning().empty()) {
    message["reasoning_content"] = reader.reasoning();
    message["reasoning"] = reader.reasoning();
  }
  if (reader.calls().empty()) return message;
  ordered_json calls = ordered_json::array();
  for (const ToolCall& call : reader.calls()) {
    calls.push_back({{"id", call.id},
                     {"type", "function"},
                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  message["tool_calls"] = std::move(calls);
  return message;
}

std::vector<ordered_json> ChatDeltas(const std::vector<ReplyPart>& parts, size_t num_calls_before) {
  std::vector<ordered_json> deltas;
  size_t num_calls = num_calls_before;
  for (const ReplyPart& part : parts) {
    switch (part.kind) {
      case ReplyPart::Kind::kContent:
        deltas.push_back({{"content", part.text}});
        break;
      case ReplyPart::Kind::kReasoning:
        deltas.push_back({{"reasoning_content", part.text}, {"reasoning", part.text}});
        break;
      case ReplyPart::Kind::kCall: {
        const ordered_json call = {{"index", num_calls++},
                                   {"id", part.call_id},
                                   {"type", "function"},
                                   {"function", {{"name", part.text}, {"arguments", ""}}}};
        deltas.push_back({{"tool_calls", ordered_json::array({call})}});
        break;
      }
      case ReplyPart::Kind::kArguments: {
        const ordered_json call = {{"index", num_calls - 1},
                                   {"function", {{"arguments", part.text}}}};
        deltas.push_back({{"tool_calls", ordered_json::array({call})}});
        break;
      }
    }
  }
  return deltas;
}

}  // namespace shortlist
