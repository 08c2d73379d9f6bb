#ifndef SHORTLIST_TEXT_JINJA_TEXT_H_
#define SHORTLIST_TEXT_JINJA_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_range.h"

namespace shortlist {

namespace jinja {

/// Maximum size of any text of a template, including the rendered one.
inline constexpr size_t kMaxTextBytes = size_t{32} << 20;

/// UTF-8 that records which of its bytes came from the conversation and which from the template.
/// Joining and slicing keep that record byte by byte.
class Text {
 public:
  Text() = default;
  static Text FromTemplate(std::string bytes);
  static Text FromContent(std::string bytes);

  const std::string& bytes() const { return bytes_; }
  /// Returns the bytes that came from the conversation: sorted, neither overlapping nor touching.
  const std::vector<ByteRange>& content() const { return content_; }

  /// Appends `other`. A text that would exceed kMaxTextBytes stays as it is, and is too_long() from
  /// then on.
  void Append(const Text& other);
  void AppendTemplate(std::string_view bytes);
  /// Appends `bytes`, another spelling of `source` (escaped, in upper case). If `source` has any
  /// content, all of `bytes` is content.
  void AppendRespelled(std::string_view bytes, const Text& source);

  bool too_long() const { return too_long_; }

  /// True if marked by the filter `safe`. If joined by +, the other side is escaped for HTML, as in
  /// Jinja even with autoescape off. Slices keep the mark.
  bool is_safe() const { return is_safe_; }
  void MarkSafe() { is_safe_ = true; }

  /// Returns the bytes [begin, end). Both bounds must be on code points, and begin <= end <=
  /// bytes().size().
  Text Slice(size_t begin, size_t end) const;

 private:
  void AppendMarked(std::string_view bytes, bool is_content);
  bool Reserve(size_t more);
  void Mark(size_t begin, size_t end);

  std::string bytes_;
  std::vector<ByteRange> content_;
  bool too_long_ = false;
  bool is_safe_ = false;
};

/// Returns the offset of `part` in `text` from `from` on, or npos, in linear time for any input.
size_t Find(std::string_view text, std::string_view part, size_t from = 0);

/// Returns the code point that begins at `position` of well-formed UTF-8, and moves `position` past
/// it.
char32_t NextCodePoint(std::string_view utf8, size_t& position);

/// Returns the start of the code point before `position`, which must be above 0.
size_t PreviousCodePoint(std::string_view utf8, size_t position);

size_t CountCodePoints(std::string_view utf8);

void AppendCodePoint(char32_t code_point, std::string& utf8);

/// True for white space of Python's str.isspace, strip and split: Unicode's White_Space and U+001C
/// to U+001F.
bool IsSpace(char32_t code_point);

/// True for the line ends of Python's str.splitlines; "\r\n" is one line end.
bool IsLineEnd(char32_t code_point);

/// Map one code point to one (the system library's tables); letter_case.h has the full mappings.
char32_t ToUpper(char32_t code_point);
char32_t ToLower(char32_t code_point);

/// Python's str.isprintable.
bool IsPrintable(char32_t code_point);

}  // namespace jinja
}  // namespace shortlist

#endif  // SHORTLIST_TEXT_JINJA_TEXT_H_
