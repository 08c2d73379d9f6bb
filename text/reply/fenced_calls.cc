#include "text/reply/fenced_calls.h"

#include <string_view>

#include "text/reply/mark_finder.h"

namespace shortlist {
namespace {

constexpr std::string_view kFence = "```", kOpening = "```json";

}  // namespace

void FencedCallReader::OnBegin(std::string_view) {
  state_ = State::kOpening;
  is_array_ = false;
  num_closing_ = 0;
  parts_.clear();
  calls_.Open(parts_);
}

CallReader::Step FencedCallReader::Read(char c, PartWriter&) {
  if (!Accept(c)) return Stop(c);
  held_ += c;
  return Step::kMore;
}

// False: the answer is no such block.
bool FencedCallReader::Accept(char c) {
  switch (state_) {
    case State::kOpening:
      return AcceptOpening(c);
    case State::kBefore:
      return AcceptBefore(c);
    case State::kCall:
      return AcceptCall(c);
    case State::kAfter:
      return AcceptAfter(c);
    case State::kClosing:
      break;
  }
  return AcceptClosing(c);
}

bool FencedCallReader::AcceptOpening(char c) {
  if (held_.size() < kOpening.size() && c == kOpening[held_.size()]) return true;
  if (held_ != kFence && held_ != kOpening) return false;
  state_ = State::kBefore;
  return AcceptBefore(c);
}

bool FencedCallReader::AcceptBefore(char c) {
  if (IsWhiteSpace(c)) return true;
  if (c == '{') {
    call_ = JsonCall(tools_, /*known_only=*/true, /*is_exact=*/true);
    state_ = State::kCall;
    return true;
  }
  // One array, with at least one call.
  if (c != '[' || is_array_) return false;
  is_array_ = true;
  return true;
}

bool FencedCallReader::AcceptCall(char c) {
  const JsonStep step = call_.Read(c, calls_);
  if (step == JsonStep::kEnd) state_ = State::kAfter;
  return step != JsonStep::kBad;
}

bool FencedCallReader::AcceptAfter(char c) {
  if (IsWhiteSpace(c)) return true;
  if (is_array_ && c == ',') {
    state_ = State::kBefore;
    return true;
  }
  state_ = State::kClosing;
  return is_array_ ? c == ']' : AcceptClosing(c);
}

bool FencedCallReader::AcceptClosing(char c) {
  const bool may_be_space = num_closing_ == 0 || num_closing_ == kFence.size();
  if (IsWhiteSpace(c)) return may_be_space;
  return num_closing_ < kFence.size() && c == kFence[num_closing_++];
}

void FencedCallReader::Finish(PartWriter& writer) {
  if (num_closing_ < kFence.size()) return;
  held_.clear();
  for (const ReplyPart& part : parts_) {
    if (part.kind == ReplyPart::Kind::kCall) {
      writer.Call(part.text, part.call_id);
    } else {
      writer.Arguments(part.text);
    }
  }
}

}  // namespace shortlist
