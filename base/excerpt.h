#ifndef SHORTLIST_BASE_EXCERPT_H_
#define SHORTLIST_BASE_EXCERPT_H_

#include <string>
#include <string_view>

namespace shortlist {

/// What a message shows of a text that came from outside: the whole where it has at most 200 bytes,
/// otherwise its beginning, cut at a code point, and "...", 200 bytes together.
inline std::string Excerpt(std::string_view text) {
  constexpr size_t kMaxBytes = 200;
  constexpr std::string_view kCut = "...";
  if (text.size() <= kMaxBytes) return std::string(text);
  size_t end = kMaxBytes - kCut.size();
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)).append(kCut);
}

}  // namespace shortlist

#endif  // SHORTLIST_BASE_EXCERPT_H_
