#include "text/reply/literal_calls.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "text/reply/mark_finder.h"

namespace shortlist {
namespace {

bool IsNameByte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         c == '.' || c == '-' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

bool PythonicCallReader::CanReadArgument(std::string_view name) const {
  return !name.empty() && name.size() <= kMaxCallNameBytes &&
         std::all_of(name.begin(), name.end(), IsNameByte);
}

void PythonicCallReader::OnBegin(std::string_view mark) {
  state_ = State::kBefore;
  mark_size_ = mark.size();
  in_list_ = has_begun_ = has_call_ = false;
}

CallReader::Step PythonicCallReader::Read(char c, PartWriter& writer) {
  if (state_ == State::kEnd) return ReadEnd(style_.end, c);
  if (state_ == State::kJson) return ReadJson(c, writer);
  if (!has_begun_) held_ += c;
  switch (state_) {
    case State::kBefore:
      return ReadBefore(c, writer);
    case State::kName:
      return ReadName(c);
    case State::kKey:
      return ReadKey(c, writer);
    case State::kValue:
      return ReadValue(c, writer);
    case State::kAfterValue:
      return ReadAfterValue(c, writer);
    default:
      return ReadAfterCall(c);
  }
}

// `c` is not a part of the calls.
CallReader::Step PythonicCallReader::StopBefore(char c) {
  if (!has_begun_) held_.pop_back();
  return Stop(c);
}

CallReader::Step PythonicCallReader::ReadBefore(char c, PartWriter& writer) {
  if (IsWhiteSpace(c)) return Step::kMore;
  if (c == '[' && !in_list_) {
    in_list_ = true;
  } else if (c == '{' && in_list_ && !has_call_) {
    return BeginJson(writer);
  } else if (IsNameByte(c)) {
    name_ = c;
    state_ = State::kName;
  } else if (has_call_) {
    return ReadAfterCall(c);
  } else {
    return StopBefore(c);
  }
  return Step::kMore;
}

CallReader::Step PythonicCallReader::ReadName(char c) {
  if (IsNameByte(c) && name_.size() < kMaxCallNameBytes) {
    name_ += c;
  } else if (c == '(' && (!known_only_ || tools_->Has(name_))) {
    state_ = State::kKey;
    key_ = {};
    has_arguments_ = false;
  } else {
    return StopBefore(c);
  }
  return Step::kMore;
}

CallReader::Step PythonicCallReader::ReadKey(char c, PartWriter& writer) {
  if (IsNameByte(c) || IsWhiteSpace(c)) {
    if (!key_.Append({&c, 1})) return StopBefore(c);
  } else if (c == ')' && key_.empty()) {
    if (!has_begun_) BeginCall(writer);
    return EndCall(writer);
  } else if (c == '=' && !key_.empty()) {
    if (!has_begun_) BeginCall(writer);
    std::string json = std::exchange(has_arguments_, true) ? ", \"" : "{\"";
    AppendJsonEscaped(key_.text(), json);
    writer.Arguments(json + "\": ");
    value_.emplace(LiteralDialect::kPython);
    state_ = State::kValue;
  } else {
    return StopBefore(c);
  }
  return Step::kMore;
}

CallReader::Step PythonicCallReader::ReadValue(char c, PartWriter& writer) {
  std::string json;
  const JsonStep step = value_->Read(c, json);
  writer.Arguments(json);
  if (step == JsonStep::kMore) return Step::kMore;
  if (step == JsonStep::kBad) return StopBefore(c);
  state_ = State::kAfterValue;
  return step == JsonStep::kEndBefore ? ReadAfterValue(c, writer) : Step::kMore;
}

CallReader::Step PythonicCallReader::ReadAfterValue(char c, PartWriter& writer) {
  if (IsWhiteSpace(c)) return Step::kMore;
  if (c == ')') return EndCall(writer);
  if (c != ',') return StopBefore(c);
  key_ = {};
  state_ = State::kKey;
  return Step::kMore;
}

CallReader::Step PythonicCallReader::ReadAfterCall(char c) {
  if (IsWhiteSpace(c)) return Step::kMore;
  if (c == ',' || c == ';') {
    state_ = State::kBefore;
    return Step::kMore;
  }
  if (IsNameByte(c) && !in_list_) {  // a call on the next line
    name_ = c;
    state_ = State::kName;
    return Step::kMore;
  }
  state_ = State::kEnd;
  if (c != ']' || !in_list_) {
    held_.pop_back();
    return ReadEnd(style_.end, c);
  }
  held_.clear();
  return Step::kMore;
}

CallReader::Step PythonicCallReader::BeginJson(PartWriter& writer) {
  const std::string text = std::exchange(held_, {});
  json_.Begin(text.substr(0, mark_size_), known_only_);
  state_ = State::kJson;
  for (size_t i = mark_size_; i + 1 < text.size(); ++i) json_.Read(text[i], writer);
  return ReadJson(text.back(), writer);
}

CallReader::Step PythonicCallReader::ReadJson(char c, PartWriter& writer) {
  const Step step = json_.Read(c, writer);
  if (step != Step::kStop) return step;
  held_ = json_.TakeText();
  return Stop(json_.TakeRetry());
}

void PythonicCallReader::Finish(PartWriter& writer) {
  if (state_ == State::kJson) {
    json_.Finish(writer);
    held_ = json_.TakeText();
  }
}

void PythonicCallReader::BeginCall(PartWriter& writer) {
  has_begun_ = true;
  has_call_ = true;
  held_.clear();
  writer.Call(name_, /*id=*/"");
}

CallReader::Step PythonicCallReader::EndCall(PartWriter& writer) {
  writer.Arguments(has_arguments_ ? "}" : "{}");
  has_begun_ = false;
  state_ = State::kAfterCall;
  return Step::kMore;
}

std::string GemmaCallReader::begin_mark() const {
  return dialect_ == LiteralDialect::kGemma4 ? "<|tool_call>" : "<start_function_call>";
}

std::string GemmaCallReader::end_mark() const {
  return dialect_ == LiteralDialect::kGemma4 ? "<tool_call|>" : "<end_function_call>";
}

bool GemmaCallReader::CanReadArgument(std::string_view name) const {
  return !name.empty() && name.find_first_of("<,:{}[]") == std::string_view::npos &&
         !IsWhiteSpace(name.front()) && !IsWhiteSpace(name.back());
}

void GemmaCallReader::OnBegin(std::string_view) {
  state_ = State::kPrefix;
  num_prefix_ = 0;
  name_ = {};
  arguments_.emplace(dialect_);
}

CallReader::Step GemmaCallReader::Read(char c, PartWriter& writer) {
  constexpr std::string_view kPrefix = "call:";
  if (state_ == State::kEnd) return ReadEnd(end_mark(), c);
  if (state_ == State::kName) return ReadName(c, writer);
  if (state_ == State::kPrefix) {
    if (c != kPrefix[num_prefix_] && (num_prefix_ > 0 || !IsWhiteSpace(c))) return Stop(c);
    held_ += c;
    if (!IsWhiteSpace(c) && ++num_prefix_ == kPrefix.size()) state_ = State::kName;
    return Step::kMore;
  }
  std::string json;
  const JsonStep step = arguments_->Read(c, json);
  writer.Arguments(json);
  if (step == JsonStep::kBad) return Stop(c);
  if (step == JsonStep::kEnd) state_ = State::kEnd;
  return Step::kMore;
}

CallReader::Step GemmaCallReader::ReadName(char c, PartWriter& writer) {
  if (c != '{') {
    if (!name_.Append({&c, 1})) return Stop(c);
    held_ += c;
    return Step::kMore;
  }
  if (name_.empty() || (known_only_ && !tools_->Has(name_.text()))) return Stop(c);
  held_.clear();
  writer.Call(std::string(name_.text()), /*id=*/"");
  state_ = State::kArguments;
  return Read(c, writer);
}

}  // namespace shortlist
