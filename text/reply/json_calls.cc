#include "text/reply/json_calls.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/reply/mark_finder.h"

namespace shortlist {

JsonStep JsonArguments::Read(char c, std::string& out) {
  switch (form_) {
    case Form::kUnknown:
      return ReadFirst(c, out);
    case Form::kObject:
      return scanner_.Read(c, out);
    case Form::kQuoted:
      return ReadQuoted(c, out);
    case Form::kNull:
      break;
  }
  if (c != std::string_view("null")[num_null_]) return JsonStep::kBad;
  if (++num_null_ < 4) return JsonStep::kMore;
  out += "{}";
  return JsonStep::kEnd;
}

JsonStep JsonArguments::ReadFirst(char c, std::string& out) {
  if (IsWhiteSpace(c)) return JsonStep::kMore;
  if (c == '"') {
    form_ = Form::kQuoted;
  } else if (c == 'n') {
    form_ = Form::kNull;
    num_null_ = 1;
  } else if (c == '{') {
    form_ = Form::kObject;
    is_certain_ = true;
    return scanner_.Read(c, out);
  } else {
    return JsonStep::kBad;
  }
  return JsonStep::kMore;
}

JsonStep JsonArguments::ReadQuoted(char c, std::string& out) {
  std::string text;
  const JsonStep step = string_.Read(c, text);
  if (step == JsonStep::kBad) return step;
  for (const char byte : text) {
    if (ReadText(byte, out) == JsonStep::kBad) return JsonStep::kBad;
  }
  if (step == JsonStep::kMore) return step;
  if (!is_certain_) out += "{}";
  return is_certain_ && !is_whole_ ? JsonStep::kBad : JsonStep::kEnd;
}

// A byte of the text that the string means.
JsonStep JsonArguments::ReadText(char c, std::string& out) {
  if ((is_whole_ || !is_certain_) && IsWhiteSpace(c)) return JsonStep::kMore;
  if (is_whole_ || (!is_certain_ && c != '{')) return JsonStep::kBad;
  is_certain_ = true;
  const JsonStep step = scanner_.Read(c, out);
  is_whole_ = step == JsonStep::kEnd;
  return step;
}

JsonStep JsonCall::Read(char c, PartWriter& writer) {
  switch (state_) {
    case State::kFirstKey:
    case State::kKey:
    case State::kInKey:
    case State::kColon:
      if (state_ == State::kFirstKey && c == '}') return JsonStep::kBad;
      return ReadKey(c);
    case State::kAfterValue:
      return ReadAfterValue(c, writer);
    default:
      return ReadValue(c, writer);
  }
}

JsonStep JsonCall::ReadKey(char c) {
  if (state_ == State::kInKey) {
    const JsonStep step = string_.Read(c, key_);
    if (is_exact_ && !std::string_view("name").starts_with(key_) &&
        !std::string_view("arguments").starts_with(key_)) {
      return JsonStep::kBad;
    }
    if (step == JsonStep::kEnd) state_ = State::kColon;
    return step == JsonStep::kBad ? step : JsonStep::kMore;
  }
  if (IsWhiteSpace(c)) return JsonStep::kMore;
  if (c != (state_ == State::kColon ? ':' : '"')) return JsonStep::kBad;
  if (state_ == State::kColon) {
    state_ = State::kValue;
  } else {
    state_ = State::kInKey;
    key_.clear();
    string_ = {};
  }
  return JsonStep::kMore;
}

JsonStep JsonCall::ReadValue(char c, PartWriter& writer) {
  JsonStep step = JsonStep::kMore;
  if (state_ == State::kValue) {
    if (IsWhiteSpace(c)) return step;
    step = BeginValue(c, writer);
  } else if (state_ == State::kInName || state_ == State::kInId) {
    std::string& text = state_ == State::kInName ? name_ : id_;
    step = string_.Read(c, text);
    if (text.size() > kMaxCallNameBytes) return JsonStep::kBad;
    if (state_ == State::kInName) {
      if (known_only_ && !tools_->HasPrefix(name_)) return JsonStep::kBad;
      has_name_ = step == JsonStep::kEnd;
    }
  } else if (state_ == State::kArguments) {
    step = ReadArguments(c, writer);
  } else {
    scratch_.clear();
    step = skipped_.Read(c, scratch_);
  }
  if (step == JsonStep::kEnd || step == JsonStep::kEndBefore) {
    state_ = State::kAfterValue;
    if (step == JsonStep::kEndBefore) return ReadAfterValue(c, writer);
    return JsonStep::kMore;
  }
  return step;
}

JsonStep JsonCall::BeginValue(char c, PartWriter& writer) {
  if (is_exact_ && key_ != "name" && (key_ != "arguments" || c != '{')) return JsonStep::kBad;
  const bool is_name = key_ == "name" || key_ == "tool_name";
  if (is_name || (key_ == "id" && c == '"')) {
    // A second name makes the call invalid. The last id before the arguments counts.
    if (c != '"' || (is_name && has_name_)) return JsonStep::kBad;
    if (!is_name) id_.clear();
    state_ = is_name ? State::kInName : State::kInId;
    string_ = {};
    return JsonStep::kMore;
  }
  if (key_ == "arguments" || key_ == "parameters") {
    if (std::exchange(has_arguments_, true)) return JsonStep::kBad;
    state_ = State::kArguments;
    return ReadArguments(c, writer);
  }
  // Without a mark, an object that begins otherwise than a call is an answer.
  if (known_only_ && !has_name_ && !has_arguments_ && key_ != "type" && key_ != "id") {
    return JsonStep::kBad;
  }
  state_ = State::kSkip;
  skipped_ = {};
  scratch_.clear();
  return skipped_.Read(c, scratch_);
}

JsonStep JsonCall::ReadArguments(char c, PartWriter& writer) {
  if (!has_name_) return reader_.Read(c, arguments_);
  scratch_.clear();
  const JsonStep step = reader_.Read(c, scratch_);
  if (!has_begun_ && (reader_.is_certain() || step == JsonStep::kEnd)) {
    if (!IsCallable()) return JsonStep::kBad;
    BeginCall(writer);
  }
  if (has_begun_) writer.Arguments(scratch_);
  return step;
}

JsonStep JsonCall::ReadAfterValue(char c, PartWriter& writer) {
  if (!has_begun_ && has_name_ && has_arguments_) {
    if (!IsCallable()) return JsonStep::kBad;
    BeginCall(writer);
    writer.Arguments(arguments_);
  }
  if (IsWhiteSpace(c)) return JsonStep::kMore;
  if (c == ',') {
    state_ = State::kKey;
    return JsonStep::kMore;
  }
  if (c != '}' || !has_name_ || !IsCallable()) return JsonStep::kBad;
  if (is_exact_ && !has_arguments_) return JsonStep::kBad;
  if (!has_begun_) {
    BeginCall(writer);
    writer.Arguments("{}");
  }
  return JsonStep::kEnd;
}

void JsonCall::Finish(PartWriter& writer) {
  if (!has_begun_ && has_name_ && IsCallable()) BeginCall(writer);
}

bool JsonCall::IsCallable() const { return !name_.empty() && (!known_only_ || tools_->Has(name_)); }

void JsonCall::BeginCall(PartWriter& writer) {
  has_begun_ = true;
  writer.Call(name_, id_);
}

std::vector<std::string> JsonCallReader::marks() const {
  std::vector<std::string> marks = style_.begins;
  if (!style_.end.empty()) marks.push_back(style_.end);
  return marks;
}

void JsonCallReader::OnBegin(std::string_view) {
  state_ = State::kBefore;
  in_array_ = false;
}

CallReader::Step JsonCallReader::Read(char c, PartWriter& writer) {
  switch (state_) {
    case State::kBefore:
      return ReadBefore(c);
    case State::kCall:
      return ReadCall(c, writer);
    case State::kAfter:
      return ReadAfter(c);
    case State::kEnd:
      break;
  }
  return ReadEnd(style_.end, c);
}

CallReader::Step JsonCallReader::ReadBefore(char c) {
  if (c == '[' && !in_array_) {
    in_array_ = true;
  } else if (c == '{') {
    call_ = JsonCall(tools_, known_only_);
    state_ = State::kCall;
  } else if (!IsWhiteSpace(c)) {
    return Stop(c);
  }
  held_ += c;
  return Step::kMore;
}

CallReader::Step JsonCallReader::ReadCall(char c, PartWriter& writer) {
  const JsonStep step = call_.Read(c, writer);
  if (call_.has_begun()) {
    held_.clear();
  } else if (step != JsonStep::kBad) {
    held_ += c;
  }
  if (step == JsonStep::kBad) return Stop(c);
  if (step == JsonStep::kEnd) state_ = State::kAfter;
  return Step::kMore;
}

CallReader::Step JsonCallReader::ReadAfter(char c) {
  if (c == ',' || c == ';') {
    state_ = State::kBefore;
  } else if (c == '{') {
    state_ = State::kBefore;
    return ReadBefore(c);
  } else if (c == ']' && in_array_) {
    in_array_ = false;
    held_.clear();
    if (style_.end.empty()) return Step::kEnd;
    state_ = State::kEnd;
    return Step::kMore;
  } else if (!IsWhiteSpace(c)) {
    state_ = State::kEnd;
    return ReadEnd(style_.end, c);
  }
  held_ += c;
  return Step::kMore;
}

void JsonCallReader::Finish(PartWriter& writer) {
  if (state_ == State::kCall) {
    call_.Finish(writer);
    if (call_.has_begun()) held_.clear();
  }
}

}  // namespace shortlist
