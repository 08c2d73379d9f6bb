#include "serve/stop_matcher.h"

#include <algorithm>

namespace shortlist {

std::string StopMatcher::Append(std::string_view text) {
  if (matched()) return {};
  held_ += text;
  size_t first_end = held_.npos;
  for (const std::string& stop : stops_) {
    const size_t begin = held_.find(stop, num_passed_ - std::min(num_passed_, stop.size() - 1));
    if (begin == held_.npos) continue;
    const size_t end = begin + stop.size();
    if (end > first_end || (end == first_end && stop.size() < match_.size())) continue;
    first_end = end;
    match_ = stop;
  }
  if (matched()) {
    std::string before = held_.substr(0, first_end - match_.size());
    held_.clear();
    return before;
  }
  return TellUnheld();
}

std::string StopMatcher::Pass(std::string_view text) {
  if (matched()) return {};
  held_ += text;
  num_passed_ = held_.size();
  return TellUnheld();
}

std::string StopMatcher::TellUnheld() {
  size_t num_held = 0;
  for (const std::string& stop : stops_) {
    size_t len = std::min(stop.size() - 1, held_.size());
    while (len > num_held && !held_.ends_with(std::string_view(stop).substr(0, len))) --len;
    num_held = std::max(num_held, len);
  }
  std::string known = held_.substr(0, held_.size() - num_held);
  held_.erase(0, known.size());
  num_passed_ -= std::min(num_passed_, known.size());
  return known;
}

}  // namespace shortlist
