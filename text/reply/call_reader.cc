#include "text/reply/call_reader.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "text/reply/mark_finder.h"

namespace shortlist {
namespace {

constexpr size_t kMaxNameBytes = 256;

}  // namespace

void CallReader::Begin(std::string_view mark, bool known_only) {
  held_ = mark;
  retry_.clear();
  known_only_ = known_only;
  OnBegin(mark);
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
        name.size() >= kMaxNameBytes || (!name.empty() && name.back() == ' ')) {
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
