#include "text/reply/xml_calls.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "text/reply/json_scanner.h"

namespace shortlist {
const XmlStyle& XmlStyleOf(ToolFormat format) {
  static const XmlStyle kQwen3Coder = {.section_begins = {"<tool_call>", "<seed:tool_call>"},
                                       .section_ends = {"</tool_call>", "</seed:tool_call>"},
                                       .call_begin = "<function=",
                                       .name_end = ">",
                                       .key_begin = "<parameter=",
                                       .key_end = ">",
                                       .value_end = "</parameter>",
                                       .call_end = "</function>",
                                       .has_line_breaks = true};
  static const XmlStyle kGlm = {.call_begin = "<tool_call>",
                                .key_begin = "<arg_key>",
                                .key_end = "</arg_key>",
                                .value_begin = "<arg_value>",
                                .value_end = "</arg_value>",
                                .call_end = "</tool_call>"};
  static const XmlStyle kMiniMax = {.section_begins = {"<minimax:tool_call>"},
                                    .section_ends = {"</minimax:tool_call>"},
                                    .call_begin = "<invoke name=\"",
                                    .name_end = "\">",
                                    .key_begin = "<parameter name=\"",
                                    .key_end = "\">",
                                    .value_end = "</parameter>",
                                    .call_end = "</invoke>"};
  static const XmlStyle kDeepSeek = {
      .section_begins = {"<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"},
      .section_ends = {"</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"},
      .call_begin = "<｜DSML｜invoke name=\"",
      .name_end = "\">",
      .key_begin = "<｜DSML｜parameter name=\"",
      .key_end = "\"",
      .value_begin = ">",
      .value_end = "</｜DSML｜parameter>",
      .call_end = "</｜DSML｜invoke>",
      .has_type = true};
  switch (format) {
    case ToolFormat::kGlm:
      return kGlm;
    case ToolFormat::kMiniMaxM2:
      return kMiniMax;
    case ToolFormat::kDeepSeekV32:
      return kDeepSeek;
    default:
      SHORTLIST_CHECK(format == ToolFormat::kQwen3Coder);
      return kQwen3Coder;
  }
}

CallReader::Beginnings XmlCallReader::beginnings() const {
  Beginnings beginnings{.marks = style_.section_begins};
  beginnings.marks.push_back(style_.call_begin);
  return beginnings;
}

std::vector<std::string> XmlCallReader::marks() const {
  std::vector<std::string> marks = style_.section_begins;
  marks.insert(marks.end(), style_.section_ends.begin(), style_.section_ends.end());
  for (const std::string& mark : {style_.call_begin, style_.key_begin, style_.key_end,
                                  style_.value_begin, style_.value_end, style_.call_end}) {
    if (!mark.empty() && mark.front() == '<') marks.push_back(mark);
  }
  if (style_.has_type) marks.push_back("｜DSML｜");
  return marks;
}

bool XmlCallReader::CanReadArgument(std::string_view name) const {
  return name.size() <= kMaxCallNameBytes && name.find('\n') == std::string_view::npos &&
         (std::string(name) + style_.key_end).find(style_.key_end) == name.size();
}

void XmlCallReader::Expect(State state, std::vector<std::string> marks) {
  state_ = state;
  finder_ = MarkFinder(std::move(marks));
}

void XmlCallReader::OnBegin(std::string_view mark) {
  has_begun_ = false;
  has_call_ = false;
  if (mark == style_.call_begin) {
    ExpectName();
  } else {
    ExpectCall();
  }
}

void XmlCallReader::ExpectCall() {
  std::vector<std::string> marks = {style_.call_begin};
  marks.insert(marks.end(), style_.section_ends.begin(), style_.section_ends.end());
  Expect(State::kBetween, std::move(marks));
}

void XmlCallReader::ExpectName() {
  name_ = {};
  Expect(State::kName, style_.name_end.empty()
                           ? std::vector<std::string>{style_.key_begin, style_.call_end}
                           : std::vector<std::string>{style_.name_end});
}

void XmlCallReader::ExpectParameters() {
  std::vector<std::string> marks = {style_.key_begin, style_.call_end};
  // Models forget the call's own end.
  marks.insert(marks.end(), style_.section_ends.begin(), style_.section_ends.end());
  Expect(State::kParameters, std::move(marks));
}

CallReader::Step XmlCallReader::Read(char c, PartWriter& writer) {
  if (!has_begun_) held_ += c;
  plain_.clear();
  const int mark = finder_.Read(c, plain_);
  switch (state_) {
    case State::kBetween:
      return ReadBetween(mark);
    case State::kName:
      return ReadName(mark, writer);
    case State::kParameters:
      return ReadParameters(mark, writer);
    case State::kKey:
      return ReadKey(mark, writer);
    case State::kType:
      return ReadType(mark, writer);
    case State::kValue:
      ReadValue(mark, writer);
  }
  return Step::kMore;
}

// Text where a mark should be: it is read anew, together with what may begin a mark.
CallReader::Step XmlCallReader::StopAtText() {
  std::string retry = plain_ + finder_.TakeHeld();
  held_.resize(held_.size() - std::min(held_.size(), retry.size()));
  return Stop(std::move(retry));
}

CallReader::Step XmlCallReader::ReadBetween(int mark) {
  if (plain_.find_first_not_of(kWhiteSpace) != std::string::npos) return StopAtText();
  if (mark == MarkFinder::kNone) return Step::kMore;
  if (mark > 0) {
    held_.clear();
    return Step::kEnd;
  }
  ExpectName();
  return Step::kMore;
}

CallReader::Step XmlCallReader::ReadName(int mark, PartWriter& writer) {
  const bool is_name = name_.Append(plain_);
  const std::string_view name = name_.text();
  const bool is_over = mark != MarkFinder::kNone;
  if (!is_name || (is_over && (name.empty() || (known_only_ && !tools_->Has(name))))) {
    return StopAtText();
  }
  if (!is_over) return Step::kMore;
  held_.clear();
  has_begun_ = true;
  has_parameters_ = false;
  writer.Call(std::string(name), /*id=*/"");
  ExpectParameters();
  // Where no mark of its own ends the name, that mark says what follows it.
  plain_.clear();
  return style_.name_end.empty() ? ReadParameters(mark, writer) : Step::kMore;
}

CallReader::Step XmlCallReader::ReadParameters(int mark, PartWriter& writer) {
  if (plain_.find_first_not_of(kWhiteSpace) != std::string::npos) {
    EndCall(writer);
    return StopAtText();
  }
  if (mark == MarkFinder::kNone) return Step::kMore;
  if (mark > 0) {
    EndCall(writer);
    if (mark > 1 || style_.section_ends.empty()) return Step::kEnd;
    ExpectCall();
    return Step::kMore;
  }
  key_.clear();
  Expect(State::kKey, {style_.key_end});
  return Step::kMore;
}

CallReader::Step XmlCallReader::ReadKey(int mark, PartWriter& writer) {
  key_ += plain_;
  if (key_.size() > kMaxCallNameBytes || key_.find('\n') != std::string::npos) {
    EndCall(writer);
    return Stop(style_.key_begin + key_ + finder_.TakeHeld());
  }
  if (mark == MarkFinder::kNone) return Step::kMore;
  if (style_.value_begin.empty()) {
    BeginValue();
  } else {
    type_.clear();
    Expect(State::kType, {style_.value_begin});
  }
  return Step::kMore;
}

CallReader::Step XmlCallReader::ReadType(int mark, PartWriter& writer) {
  type_ += plain_;
  if (type_.size() > kMaxCallNameBytes) {
    EndCall(writer);
    return Stop(type_ + finder_.TakeHeld());
  }
  if (mark != MarkFinder::kNone) BeginValue();
  return Step::kMore;
}

void XmlCallReader::BeginValue() {
  TypeBits types = tools_->TypesOf(name_.text(), key_);
  if (style_.has_type && type_.find("string=\"true\"") != std::string::npos) types = kStringType;
  if (style_.has_type && type_.find("string=\"false\"") != std::string::npos) types = kOtherTypes;
  value_.emplace(types);
  at_value_begin_ = style_.has_line_breaks;
  has_line_feed_ = false;
  Expect(State::kValue, {style_.value_end});
  json_ = std::exchange(has_parameters_, true) ? ", \"" : "{\"";
  AppendJsonEscaped(key_, json_);
  json_ += "\": ";
}

void XmlCallReader::ReadValue(int mark, PartWriter& writer) {
  for (const char c : plain_) {
    if (std::exchange(at_value_begin_, false) && c == '\n') continue;
    if (std::exchange(has_line_feed_, false)) value_->Write("\n", json_);
    if (style_.has_line_breaks && c == '\n') {
      has_line_feed_ = true;
    } else {
      value_->Write({&c, 1}, json_);
    }
  }
  if (mark != MarkFinder::kNone) {
    value_->End(json_);
    ExpectParameters();
  }
  writer.Arguments(std::exchange(json_, {}));
}

void XmlCallReader::EndCall(PartWriter& writer) {
  writer.Arguments(has_parameters_ ? "}" : "{}");
  has_begun_ = false;
  has_call_ = true;
}

void XmlCallReader::Finish(PartWriter&) {
  // After a call it is a part of the section's end.
  if (state_ == State::kBetween && has_call_) held_.clear();
}

}  // namespace shortlist
