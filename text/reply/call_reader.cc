#include "text/reply/call_reader.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "text/reply/mark_finder.h"

namespace shortlist {

void CallReader::Begin(std::string_view mark, bool known_only) {
  held_ = mark;
  retry_.clear();
  num_end_ = 0;
  known_only_ = known_only;
  OnBegin(mark);
}

CallReader::Step CallReader::ReadEnd(std::string_view end, char c) {
  if (num_end_ == 0 && IsWhiteSpace(c)) {
    held_ += c;
    return Step::kMore;
  }
  if (num_end_ == end.size() || c != end[num_end_]) {
    return Stop(std::string(end.substr(0, num_end_)) + c);
  }
  if (++num_end_ < end.size()) return Step::kMore;
  held_.clear();
  return Step::kEnd;
}

bool CallName::Append(std::string_view piece) {
  static constexpr std::string_view kForbidden = "<>{}[]()\"',;=";
  for (const char c : piece) {
    if (IsWhiteSpace(c)) {
      is_over_ = !text_.empty();
      continue;
    }
    if (kForbidden.find(c) != std::string_view::npos || static_cast<unsigned char>(c) < 0x20 ||
        text_.size() >= kMaxCallNameBytes || is_over_) {
      return false;
    }
    text_ += c;
  }
  return true;
}

}  // namespace shortlist
