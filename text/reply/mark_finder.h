#ifndef SHORTLIST_TEXT_REPLY_MARK_FINDER_H_
#define SHORTLIST_TEXT_REPLY_MARK_FINDER_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shortlist {

/// Finds the first of several marks in a text that arrives byte by byte. Holds back what may become
/// a mark: fewer bytes than the longest mark has.
class MarkFinder {
 public:
  /// Returned by Read(): no mark ends with this byte.
  static constexpr int kNone = -1;

  MarkFinder() = default;
  /// Empty marks are never found.
  explicit MarkFinder(std::vector<std::string> marks) : marks_(std::move(marks)) {}

  /// Returns the index of the mark that `c` completes, or kNone. Appends to `plain` the bytes that
  /// belong to no mark.
  int Read(char c, std::string& plain);
  /// The bytes held back. TakeHeld() also forgets them.
  std::string_view held() const { return held_; }
  std::string TakeHeld() { return std::exchange(held_, {}); }

 private:
  std::vector<std::string> marks_;
  std::string held_;
};

/// The white space of JSON: space, tab, line feed, carriage return.
inline bool IsWhiteSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
inline constexpr std::string_view kWhiteSpace = " \t\n\r";

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_MARK_FINDER_H_
