#include "text/reply/mark_finder.h"

#include <string>
#include <string_view>

namespace shortlist {

int MarkFinder::Read(char c, std::string& plain) {
  held_ += c;
  while (!held_.empty()) {
    bool may_become_mark = false;
    for (size_t i = 0; i < marks_.size(); ++i) {
      const std::string& mark = marks_[i];
      if (mark.empty() || mark.compare(0, held_.size(), held_) != 0) continue;
      if (mark.size() == held_.size()) {
        held_.clear();
        return static_cast<int>(i);
      }
      may_become_mark = true;
    }
    if (may_become_mark) break;
    plain += held_.front();
    held_.erase(0, 1);
  }
  return kNone;
}

}  // namespace shortlist
