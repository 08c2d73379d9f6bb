#include "text/reply/part_writer.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/reply/mark_finder.h"

namespace shortlist {

void PartWriter::Open(std::vector<ReplyPart>& parts) {
  parts_ = &parts;
  num_old_ = parts.size();
}

void PartWriter::Put(ReplyPart::Kind kind, std::string_view text) {
  if (text.empty()) return;
  if (parts_->size() == num_old_ || parts_->back().kind != kind) {
    parts_->push_back({.kind = kind});
  }
  parts_->back().text += text;
}

void PartWriter::Write(ReplyPart::Kind kind, bool is_trimmed, std::string_view text, Text& state) {
  const size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) {
    state.space += text;
    return;
  }
  if (state.has_text || !is_trimmed) {
    Put(kind, state.space);
    Put(kind, text.substr(0, first));
  }
  const size_t end = text.find_last_not_of(kWhiteSpace) + 1;
  Put(kind, text.substr(first, end - first));
  state.space = text.substr(end);
  state.has_text = true;
}

void PartWriter::Content(std::string_view text) {
  Write(ReplyPart::Kind::kContent, /*is_trimmed=*/follows_mark_, text, content_);
  if (content_.space.size() < text.size()) follows_mark_ = false;
}

void PartWriter::Reasoning(std::string_view text) {
  Write(ReplyPart::Kind::kReasoning, /*is_trimmed=*/true, text, reasoning_);
}

void PartWriter::Call(std::string name, std::string id) {
  follows_mark_ = true;
  if (++num_begun_ > 1 && is_single_) return;
  parts_->push_back(
      {.kind = ReplyPart::Kind::kCall, .text = std::move(name), .call_id = std::move(id)});
}

void PartWriter::Arguments(std::string_view piece) {
  if (num_begun_ == 1 || !is_single_) Put(ReplyPart::Kind::kArguments, piece);
}

void PartWriter::Finish() {
  if (!follows_mark_) Put(ReplyPart::Kind::kContent, content_.space);
  content_.space.clear();
}

}  // namespace shortlist
