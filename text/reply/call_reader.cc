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

bool AppendToName(std::string_view piece, std::string& name) {
  static constexpr std::string_view kForbidden = "<>{}[]()\"',;=";
  for (const char c : piece) {
    if (IsWhiteSpace(c)) {
      // One stands for all that follow the name.
      if (!name.empty() && name.back() != ' ') name += ' ';
      continue;
    }
    if (kForbidden.find(c) != std::string_view::npos || static_cast<unsigned char>(c) < 0x20 ||
        name.size() >= kMaxCallNameBytes || (!name.empty() && name.back() == ' ')) {
      return false;
    }
    name += c;
  }
  return true;
}

std::string_view WholeName(std::string_view name) {
  if (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return name;
}

}  // namespace shortlist
