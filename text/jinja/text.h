#ifndef SHORTLIST_TEXT_JINJA_TEXT_H_
#define SHORTLIST_TEXT_JINJA_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_range.h"

namespace shortlist {

namespace jinja {

/// Length that no text of a template may pass, the rendered one included.
inline constexpr size_t kMaxTextBytes = size_t{32} << 20;

/// UTF-8 that knows which of its bytes came from the conversation and which from the template.
/// Cutting and joining keep that knowledge byte by byte.
class Text {
 public:
  Text() = default;
  static Text FromTemplate(std::string bytes);
  static Text FromContent(std::string bytes);

  const std::string& bytes() const { return bytes_; }
  /// Bytes that came from the conversation: sorted, neither overlapping nor touching.
  const std::vector<ByteRange>& content() const { return content_; }

  /// Appends; a text that would pass kMaxTextBytes stays as it is and is too_long() from then on.
  void Append(const Text& other);
  void AppendTemplate(std::string_view bytes);
  /// Appends `bytes`, another spelling of `source` (escaped, in upper case): content as a whole
  /// where `source` holds any.
  void AppendRespelled(std::string_view bytes, const Text& source);

  bool too_long() const { return too_long_; }

  /// Marked by the filter `safe`: joined by +, the other side is escaped for HTML, as Jinja does
  /// even where it escapes nothing else. Slices keep the mark.
  bool is_safe() const { return is_safe_; }
  void MarkSafe() { is_safe_ = true; }

  /// Bytes [begin, end), which must lie on code points; begin <= end <= bytes().size().
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

/// Offset of `part` in `text` from `from` on, or npos; in linear time, whatever the two hold.
size_t Find(std::string_view text, std::string_view part, size_t from = 0);

/// The code point that begins at `position` of well-formed UTF-8; moves `position` behind it.
char32_t NextCodePoint(std::string_view utf8, size_t& position);

/// The start of the code point before `position`, which is above 0.
size_t PreviousCodePoint(std::string_view utf8, size_t position);

size_t CountCodePoints(std::string_view utf8);

void AppendCodePoint(char32_t code_point, std::string& utf8);

/// What Python's str.isspace, strip and split take for white space: Unicode's White_Space and
/// U+001C to U+001F.
bool IsSpace(char32_t code_point);

/// What Python's str.splitlines takes for the end of a line; "\r\n" is one.
bool IsLineEnd(char32_t code_point);

/// One code point for one (the system library's tables); letter_case.h has the others.
char32_t ToUpper(char32_t code_point);
char32_t ToLower(char32_t code_point);

/// As Python's str.isprintable.
bool IsPrintable(char32_t code_point);

}  // namespace jinja
}  // namespace shortlist

#endif  // SHORTLIST_TEXT_JINJA_TEXT_H_
