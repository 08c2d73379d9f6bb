#include "cli/chat_reply.h"

#include <unistd.h>

#include <iostream>
#include <utility>

namespace shortlist {
namespace {

bool IsStderrTerminal() { return isatty(STDERR_FILENO) != 0; }

}  // namespace

ChatReply::ChatReply(const ReplyFormat& format, std::string_view prompt_end, std::ostream& out)
    : out_(out) {
  if (!format.has_reasoning()) return;
  ReplyParser::Options options;
  options.format = format;
  options.start = FindReplyStart(format, prompt_end);
  parser_.emplace(std::move(options));
}

bool ChatReply::Append(std::string_view text) {
  std::vector<ReplyPart> parts;
  if (parser_.has_value()) {
    parser_->Append(text, parts);
  } else {
    parts.push_back({.text = std::string(text)});
  }
  Write(parts);
  return static_cast<bool>(out_);
}

bool ChatReply::Finish() {
  std::vector<ReplyPart> parts;
  if (parser_.has_value()) parser_->Finish(parts);
  Write(parts);
  EndReasoning();
  out_ << "\n" << std::flush;
  return static_cast<bool>(out_);
}

void ChatReply::Write(const std::vector<ReplyPart>& parts) {
  for (const ReplyPart& part : parts) {
    if (part.kind == ReplyPart::Kind::kReasoning) {
      if (!writes_reasoning_ && IsStderrTerminal()) std::cerr << "\x1b[2m";
      writes_reasoning_ = true;
      reasoning_ += part.text;
      std::cerr << part.text << std::flush;
      continue;
    }
    EndReasoning();
    answer_ += part.text;
    out_ << part.text;
  }
  out_ << std::flush;
}

void ChatReply::EndReasoning() {
  if (!writes_reasoning_) return;
  std::cerr << (IsStderrTerminal() ? "\x1b[0m" : "") << "\n" << std::flush;
  writes_reasoning_ = false;
}

}  // namespace shortlist
