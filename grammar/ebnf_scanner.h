#ifndef SHORTLIST_GRAMMAR_EBNF_SCANNER_H_
#define SHORTLIST_GRAMMAR_EBNF_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// Reads the signs of an EBNF grammar (`grammar/ebnf.h`) from left to right. The text is UTF-8 and
/// outlives the scanner.
class EbnfScanner {
 public:
  explicit EbnfScanner(std::string_view text) : text_(text) {}

  /// Offset of the next byte, for ErrorAt().
  size_t place() const { return place_; }
  bool IsAtEnd() const { return place_ == text_.size(); }
  /// The next byte and the one after it; 0 at the end.
  char Peek() const { return ByteAt(place_); }
  char PeekAfter() const { return ByteAt(place_ + 1); }
  /// True if a name and `::=` come next.
  bool IsAtRule() const;

  /// Skips white space and comments.
  void SkipSpace();
  /// Reads `expected` if it comes next.
  bool Accept(std::string_view expected);
  /// Empty: no name comes next.
  std::string_view ReadName();
  /// nullopt: no digit comes next. Large numbers become some number above 10^15.
  std::optional<int64_t> ReadNumber();
  /// Reads a character or an escape of one. `where` is for the message if the text or the line
  /// ends.
  absl::StatusOr<uint32_t> ReadCharacter(std::string_view where);

  /// InvalidArgument with line and column of the next byte, or of `place`.
  absl::Status Error(std::string_view message) const { return ErrorAt(place_, message); }
  absl::Status ErrorAt(size_t place, std::string_view message) const;

 private:
  char ByteAt(size_t place) const { return place < text_.size() ? text_[place] : '\0'; }
  /// After `\`.
  absl::StatusOr<uint32_t> ReadEscape();
  absl::StatusOr<uint32_t> ReadHex(int num_digits);
  absl::StatusOr<uint32_t> ReadBracedHex();
  uint32_t ReadCodePoint();

  std::string_view text_;
  size_t place_ = 0;
};

/// Appends the UTF-8 bytes of `code_point`, which is no surrogate and at most U+10FFFF.
void AppendCodePoint(uint32_t code_point, std::string& bytes);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_EBNF_SCANNER_H_
