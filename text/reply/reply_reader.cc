#include "text/reply/reply_reader.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shortlist {

std::vector<std::string> AnswerMarks(ToolFormat format) {
  if (format != ToolFormat::kCohere) return {};
  return {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"};
}

MarkedReplyReader::MarkedReplyReader(const ReplyParser::Options& options,
                                     std::unique_ptr<CallReader> calls,
                                     std::unique_ptr<CallReader> fenced_calls)
    : calls_(std::move(calls)),
      fenced_calls_(std::move(fenced_calls)),
      may_reason_(options.start == ReplyStart::kMayReason),
      in_reasoning_(options.start == ReplyStart::kReasoning && options.format.has_reasoning() &&
                    !options.reasoning_is_content) {
  if (calls_ != nullptr) beginnings_ = calls_->beginnings();
  marks_ = {options.format.reasoning_begin, options.format.reasoning_end};
  if (options.reasoning_is_content) marks_ = {"", ""};
  marks_.insert(marks_.end(), beginnings_.marks.begin(), beginnings_.marks.end());
  marks_.insert(marks_.end(), beginnings_.dropped.begin(), beginnings_.dropped.end());
  for (std::string& mark : AnswerMarks(options.format.tools)) marks_.push_back(std::move(mark));
  finder_ = MarkFinder(marks_);
}

void MarkedReplyReader::Text(std::string_view text, PartWriter& writer) {
  if (in_reasoning_) {
    writer.Reasoning(text);
  } else {
    writer.Content(text);
  }
}

// Returns the reader of calls that begin with `c` and without a mark; null: there are none.
CallReader* MarkedReplyReader::BareReader(char c, const PartWriter& writer) const {
  if (in_reasoning_ || writer.has_content() || !finder_.held().empty()) return nullptr;
  if (c == beginnings_.bare && c != 0) return calls_.get();
  const bool is_fence = fenced_calls_ != nullptr && c == fenced_calls_->beginnings().bare;
  return is_fence && writer.num_begun() == 0 ? fenced_calls_.get() : nullptr;
}

void MarkedReplyReader::BeginCall(CallReader* reader, std::string_view mark, bool known_only) {
  call_ = reader;
  call_->Begin(mark, known_only);
}

void MarkedReplyReader::Read(char c, PartWriter& writer) {
  if (call_ == nullptr) {
    if (CallReader* const reader = BareReader(c, writer)) {
      BeginCall(reader, /*mark=*/"", /*known_only=*/true);
    }
  }
  if (call_ != nullptr) {
    ReadCall(c, writer);
    return;
  }
  std::string plain;
  const int mark = finder_.Read(c, plain);
  Text(plain, writer);
  if (mark != MarkFinder::kNone) OnMark(marks_[mark], mark, writer);
}

void MarkedReplyReader::OnMark(const std::string& mark, int index, PartWriter& writer) {
  const bool begins =
      index == kReasoningBegin && may_reason_ && !in_reasoning_ && !writer.has_content();
  const bool ends = index == kReasoningEnd && (in_reasoning_ || ended_by_call_);
  const bool is_call =
      index >= kFirstOther && index - kFirstOther < static_cast<int>(beginnings_.marks.size());
  if (begins || ends) {
    in_reasoning_ = begins;
    ended_by_call_ = false;
    writer.Mark();
  } else if (is_call) {
    BeginCall(calls_.get(), mark, /*known_only=*/in_reasoning_);
  } else if (index >= kFirstOther && !in_reasoning_) {
    writer.Mark();
  } else {
    Text(mark, writer);
  }
}

void MarkedReplyReader::ReadCall(char c, PartWriter& writer) {
  const int num_begun = writer.num_begun();
  CallReader* const reader = call_;
  const CallReader::Step step = reader->Read(c, writer);
  if (in_reasoning_ && writer.num_begun() != num_begun) {
    in_reasoning_ = false;
    ended_by_call_ = true;
  }
  if (step == CallReader::Step::kMore) return;
  call_ = nullptr;
  Text(reader->TakeText(), writer);
  for (const char again : reader->TakeRetry()) Read(again, writer);
}

void MarkedReplyReader::Finish(PartWriter& writer) {
  if (call_ != nullptr) {
    call_->Finish(writer);
    Text(call_->TakeText(), writer);
  }
  Text(finder_.TakeHeld(), writer);
}

}  // namespace shortlist
