#include "text/space_cleaner.h"

#include <algorithm>
#include <utility>

namespace shortlist {
namespace {

/// Returns how many bytes at the end of `text` may begin `word` without completing it.
size_t NumBegun(std::string_view text, std::string_view word) {
  for (size_t count = std::min(text.size(), word.size() - 1); count > 0; --count) {
    if (text.ends_with(word.substr(0, count))) return count;
  }
  return 0;
}

}  // namespace

std::string SpaceCleaner::Append(std::string piece) { return Run(0, std::move(piece)); }

std::string SpaceCleaner::Finish() {
  std::string text;
  for (size_t i = 0; i < kRules.size(); ++i) {
    text += Run(i + 1, std::exchange(held_[i], {}));
  }
  return text;
}

std::string SpaceCleaner::Run(size_t first_rule, std::string piece) {
  for (size_t i = first_rule; i < kRules.size() && !piece.empty(); ++i) {
    const Rule& rule = kRules[i];
    const std::string text = std::exchange(held_[i], {}) + piece;
    piece.clear();
    size_t done = 0;
    for (size_t at = text.find(rule.from); at != std::string::npos;
         at = text.find(rule.from, done)) {
      piece.append(text, done, at - done).append(rule.to);
      done = at + rule.from.size();
    }
    const std::string_view rest = std::string_view(text).substr(done);
    const size_t num_held = NumBegun(rest, rule.from);
    held_[i] = rest.substr(rest.size() - num_held);
    piece.append(rest.substr(0, rest.size() - num_held));
  }
  return piece;
}

}  // namespace shortlist
