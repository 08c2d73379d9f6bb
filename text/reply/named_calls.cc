#include "text/reply/named_calls.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace shortlist {
namespace {

// The name in "functions.N:0".
std::string_view NameOfId(std::string_view id) {
  constexpr std::string_view kPrefix = "functions.";
  if (id.substr(0, kPrefix.size()) == kPrefix) id.remove_prefix(kPrefix.size());
  return id.substr(0, id.rfind(':'));
}

}  // namespace

const NamedStyle& NamedStyleOf(ToolFormat format) {
  static const NamedStyle kMistral = {
      .call_begin = "[TOOL_CALLS]", .name_end = "[ARGS]", .id_begin = "[CALL_ID]"};
  static const NamedStyle kDeepSeek = {
      .call_begin = "<｜tool▁call▁begin｜>",
      .name_end = "<｜tool▁sep｜>",
      .call_end = "<｜tool▁call▁end｜>",
      .has_fences = true,
      .dropped = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"}};
  static const NamedStyle kKimi = {
      .call_begin = "<|tool_call_begin|>",
      .name_end = "<|tool_call_argument_begin|>",
      .call_end = "<|tool_call_end|>",
      .name_is_id = true,
      .dropped = {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"}};
  switch (format) {
    case ToolFormat::kDeepSeekR1:
    case ToolFormat::kDeepSeekV31:
      return kDeepSeek;
    case ToolFormat::kKimiK2:
      return kKimi;
    default:
      SHORTLIST_CHECK(format == ToolFormat::kMistral || format == ToolFormat::kMistralArgs);
      return kMistral;
  }
}

std::vector<std::string> NamedCallReader::marks() const {
  std::vector<std::string> marks = style_.dropped;
  for (const std::string& mark :
       {style_.call_begin, style_.id_begin, style_.name_end, style_.call_end}) {
    if (!mark.empty()) marks.push_back(mark);
  }
  return marks;
}

void NamedCallReader::OnBegin(std::string_view) {
  state_ = State::kName;
  finder_ = MarkFinder({style_.name_end, style_.id_begin});
  has_begun_ = false;
  name_ = second_name_ = id_ = {};
  arguments_ = {};
}

CallReader::Step NamedCallReader::Read(char c, PartWriter& writer) {
  if (!has_begun_) held_ += c;
  switch (state_) {
    case State::kName:
      return ReadName(c);
    case State::kId:
      return ReadId(c);
    case State::kSecondName:
      return ReadSecondName(c, writer);
    case State::kBeforeArguments:
      return ReadBeforeArguments(c, writer);
    case State::kArguments:
      return ReadArguments(c, writer);
    case State::kAfter:
      break;
  }
  return ReadAfter(c);
}

CallReader::Step NamedCallReader::ReadName(char c) {
  std::string plain;
  const int mark = finder_.Read(c, plain);
  if (!name_.Append(plain)) {
    std::string retry = plain + finder_.TakeHeld();
    held_.resize(held_.size() - retry.size());
    return Stop(std::move(retry));
  }
  if (mark == 1) {
    state_ = State::kId;
    finder_ = MarkFinder({style_.name_end});
  }
  return mark == 0 ? EndName() : Step::kMore;
}

CallReader::Step NamedCallReader::ReadId(char c) {
  std::string plain;
  const int mark = finder_.Read(c, plain);
  if (!id_.Append(plain)) {
    held_.pop_back();
    return Stop(c);
  }
  return mark == 0 ? EndName() : Step::kMore;
}

CallReader::Step NamedCallReader::EndName() {
  state_ = style_.has_fences ? State::kSecondName : State::kBeforeArguments;
  return Step::kMore;
}

CallReader::Step NamedCallReader::ReadSecondName(char c, PartWriter& writer) {
  const bool has_name = !second_name_.empty();
  if (c == '{' || c == '`' || (has_name && IsWhiteSpace(c))) {
    state_ = State::kBeforeArguments;
    return ReadBeforeArguments(c, writer);
  }
  if (second_name_.Append({&c, 1})) return Step::kMore;
  held_.pop_back();
  return Stop(c);
}

CallReader::Step NamedCallReader::ReadBeforeArguments(char c, PartWriter& writer) {
  if (c == '{') {
    if (name().empty() || (known_only_ && !tools_->Has(name()))) {
      held_.pop_back();
      return Stop(c);
    }
    BeginCall(writer);
    state_ = State::kArguments;
    return ReadArguments(c, writer);
  }
  if (IsWhiteSpace(c)) return Step::kMore;
  if (style_.has_fences && std::string_view("`json").find(c) != std::string_view::npos) {
    return Step::kMore;
  }
  held_.pop_back();
  return Stop(c);
}

CallReader::Step NamedCallReader::ReadArguments(char c, PartWriter& writer) {
  std::string json;
  const JsonStep step = arguments_.Read(c, json);
  writer.Arguments(json);
  if (step == JsonStep::kBad) return Stop(c);
  if (step == JsonStep::kMore) return Step::kMore;
  if (style_.call_end.empty()) return Step::kEnd;
  state_ = State::kAfter;
  finder_ = MarkFinder({style_.call_end});
  return Step::kMore;
}

CallReader::Step NamedCallReader::ReadAfter(char c) {
  std::string plain;
  if (finder_.Read(c, plain) == 0) return Step::kEnd;
  for (const char byte : plain) {
    if (IsWhiteSpace(byte) || (style_.has_fences && byte == '`')) continue;
    return Stop(plain + finder_.TakeHeld());
  }
  return Step::kMore;
}

void NamedCallReader::Finish(PartWriter& writer) {
  if (state_ != State::kBeforeArguments || name().empty()) return;
  if (!known_only_ || tools_->Has(name())) BeginCall(writer);
}

std::string_view NamedCallReader::name() const {
  if (style_.name_is_id) return NameOfId(name_.text());
  return second_name_.empty() ? name_.text() : second_name_.text();
}

void NamedCallReader::BeginCall(PartWriter& writer) {
  has_begun_ = true;
  held_.clear();
  writer.Call(std::string(name()), std::string((style_.name_is_id ? name_ : id_).text()));
}

MistralCallReader::MistralCallReader(const ToolTypes* tools)
    : named_(NamedStyleOf(ToolFormat::kMistralArgs), tools), json_({}, tools) {}

CallReader::Step MistralCallReader::Read(char c, PartWriter& writer) {
  if (chosen_ == nullptr) {
    if (IsWhiteSpace(c)) {
      held_ += c;
      return Step::kMore;
    }
    chosen_ = c == '[' || c == '{' ? static_cast<CallReader*>(&json_) : &named_;
    chosen_->Begin(held_, known_only_);
    held_.clear();
  }
  const Step step = chosen_->Read(c, writer);
  if (step == Step::kStop) {
    held_ = chosen_->TakeText();
    return Stop(chosen_->TakeRetry());
  }
  return step;
}

void MistralCallReader::Finish(PartWriter& writer) {
  if (chosen_ == nullptr) return;
  chosen_->Finish(writer);
  held_ = chosen_->TakeText();
}

}  // namespace shortlist
