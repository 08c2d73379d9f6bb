#include "text/reply/harmony_reader.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shortlist {
namespace {

enum HarmonyMark { kStartMark, kChannelMark, kConstrainMark, kMessageMark, kEndMark };

constexpr size_t kMaxHeaderBytes = 1024;

}  // namespace

std::vector<std::string> HarmonyMarks() {
  return {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>",
          "<|end|>",   "<|call|>",    "<|return|>"};
}

HarmonyReader::HarmonyReader(const ReplyParser::Options& options, const ToolTypes* tools)
    : tools_(tools),
      reasoning_is_content_(options.reasoning_is_content),
      state_(options.start == ReplyStart::kMayReason ? State::kStart : State::kBody),
      in_reasoning_(options.start == ReplyStart::kReasoning),
      finder_(HarmonyMarks()) {}

void HarmonyReader::Read(char c, PartWriter& writer) {
  if (state_ == State::kArguments) {
    ReadArguments(c, writer);
    return;
  }
  std::string plain;
  const int mark = finder_.Read(c, plain);
  for (const char byte : plain) {
    if (state_ == State::kStart) {
      ReadStart(byte, writer);
    } else {
      ReadText({&byte, 1}, writer);
    }
  }
  if (mark != MarkFinder::kNone) ReadMark(mark, writer);
}

// A reply may begin with a recipient, because its prompt ends after "<|start|>assistant".
void HarmonyReader::ReadStart(char c, PartWriter& writer) {
  constexpr std::string_view kRecipient = " to=";
  header_ += c;
  if (header_ == kRecipient) state_ = State::kHeader;
  if (kRecipient.substr(0, header_.size()) == header_) return;
  state_ = State::kBody;
  Text(header_, writer);
}

void HarmonyReader::ReadText(std::string_view text, PartWriter& writer) {
  if (state_ == State::kHeader) {
    header_ += text;
    if (header_.size() <= kMaxHeaderBytes) return;
    in_reasoning_ = false;
    text = header_;
  } else if (state_ == State::kBeforeArguments) {
    if (IsWhiteSpace(text.front())) return;
    if (text == "{") {
      writer.Call(name_, /*id=*/"");
      state_ = State::kArguments;
      arguments_ = {};
      ReadArguments('{', writer);
      return;
    }
  }
  state_ = State::kBody;
  Text(text, writer);
}

void HarmonyReader::ReadArguments(char c, PartWriter& writer) {
  std::string json;
  const JsonStep step = arguments_.Read(c, json);
  writer.Arguments(json);
  if (step == JsonStep::kMore) return;
  state_ = State::kBody;
  in_reasoning_ = false;
  if (step == JsonStep::kBad) Read(c, writer);
}

void HarmonyReader::ReadMark(int mark, PartWriter& writer) {
  const bool in_header = state_ == State::kHeader;
  if (state_ == State::kBeforeArguments) {  // no arguments
    writer.Call(name_, /*id=*/"");
    writer.Arguments("{}");
  }
  if (mark == kMessageMark) {
    if (!in_header) header_.clear();
    EndHeader(writer);
  } else if (mark >= kEndMark) {
    if (in_reasoning_ && state_ == State::kBody) ReasoningMark(HarmonyMarks()[mark], writer);
    state_ = State::kBody;
    in_reasoning_ = false;
  } else {
    if (!in_header || mark == kStartMark) header_.clear();
    header_ += HarmonyMarks()[mark];
    state_ = State::kHeader;
  }
}

void HarmonyReader::EndHeader(PartWriter& writer) {
  name_ = Callee();
  in_reasoning_ = header_.find("<|channel|>analysis") != std::string::npos;
  state_ = name_.empty() ? State::kBody : State::kBeforeArguments;
  if (in_reasoning_ && name_.empty()) ReasoningMark("<|channel|>analysis<|message|>", writer);
}

// The tool that the header's message goes to; empty: none.
std::string HarmonyReader::Callee() const {
  constexpr std::string_view kRecipient = "to=", kFunctions = "functions.";
  const size_t at = header_.find(kRecipient);
  if (at == std::string::npos || tools_ == nullptr) return "";
  std::string_view name = std::string_view(header_).substr(at + kRecipient.size());
  name = name.substr(0, name.find_first_of(" \t\r\n<"));
  const bool is_function = name.substr(0, kFunctions.size()) == kFunctions;
  if (is_function) name.remove_prefix(kFunctions.size());
  if (name.size() > kMaxCallNameBytes) return "";
  return is_function || tools_->Has(name) ? std::string(name) : "";
}

void HarmonyReader::Text(std::string_view text, PartWriter& writer) {
  if (in_reasoning_ && !reasoning_is_content_) {
    writer.Reasoning(text);
  } else {
    writer.Content(text);
  }
}

// A mark around reasoning that is content.
void HarmonyReader::ReasoningMark(std::string_view mark, PartWriter& writer) {
  if (reasoning_is_content_) writer.Content(mark);
}

void HarmonyReader::Finish(PartWriter& writer) {
  const std::string held = finder_.TakeHeld();
  if (state_ == State::kBeforeArguments) {
    if (held.empty()) writer.Call(name_, /*id=*/"");
  } else if (state_ != State::kHeader && state_ != State::kStart) {
    Text(held, writer);
  } else if (header_.find("<|") == std::string::npos) {
    writer.Content(header_ + held);
  }
}

}  // namespace shortlist
