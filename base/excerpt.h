#ifndef SHORTLIST_BASE_EXCERPT_H_
#define SHORTLIST_BASE_EXCERPT_H_

#include <string>
#include <string_view>

namespace shortlist {

/// Returns an untrusted text as a message shows it. A text of at most 200 bytes is kept whole; a
/// longer one is cut at a code point and ends in "...", at most 200 bytes in all. Control
/// characters, NUL included, become "?".
inline std::string Excerpt(std::string_view text) {
  constexpr size_t kMaxBytes = 200;
  constexpr std::string_view kCut = "...";
  size_t end = text.size();
  if (end > kMaxBytes) {
    end = kMaxBytes - kCut.size();
    while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  }
  std::string shown(text.substr(0, end));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return end < text.size() ? shown.append(kCut) : shown;
}

}  // namespace shortlist

#endif  // SHORTLIST_BASE_EXCERPT_H_
