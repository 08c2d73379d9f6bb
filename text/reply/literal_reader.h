#ifndef SHORTLIST_TEXT_REPLY_LITERAL_READER_H_
#define SHORTLIST_TEXT_REPLY_LITERAL_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "text/reply/json_scanner.h"
#include "text/reply/mark_finder.h"

namespace shortlist {

/// Notations of values other than JSON.
enum class LiteralDialect {
  kPython,        // 'a', "b", True, None, (1, 2), {'k': 0}
  kGemma4,        // {k:<|"|>a<|"|>,n:[1]}: bare keys, strings between marks, no escapes
  kFunctionGemma  // the same with <escape> for <|"|>
};

/// The mark around strings of Gemma's dialects.
std::string StringMark(LiteralDialect dialect);

/// Reads one value byte by byte, to any depth, and writes it as JSON. Strings are written piece by
/// piece; numbers and words when they end.
class LiteralReader {
 public:
  explicit LiteralReader(LiteralDialect dialect) : dialect_(dialect) {}

  /// Appends JSON to `out`. As JsonScanner::Read().
  JsonStep Read(char c, std::string& out);

 private:
  enum class State : uint8_t { kValue, kColon, kAfterValue, kString, kEscape, kCode, kToken };

  bool is_python() const { return dialect_ == LiteralDialect::kPython; }
  JsonStep ReadValue(char c, std::string& out);
  JsonStep ReadAfterValue(char c, std::string& out);
  JsonStep ReadString(char c, std::string& out);
  JsonStep ReadEscape(char c, std::string& out);
  JsonStep ReadCode(char c, std::string& out);
  JsonStep ReadToken(char c, std::string& out);
  bool EndToken(std::string& out);
  void BeginItem(std::string& out);
  JsonStep EndItem();
  JsonStep Close(char c, std::string& out);
  bool expects_key() const { return !brackets_.empty() && brackets_.back() == '{' && !has_key_; }

  const LiteralDialect dialect_;
  State state_ = State::kValue;
  std::vector<char> brackets_;  // open ones
  bool has_key_ = false;        // of the value that is read
  bool can_close_ = false;      // a bracket was just opened, or a comma may be the last
  bool has_comma_ = false;      // to be written before the next item
  std::string token_;
  char quote_ = 0;  // Python
  MarkFinder string_end_;
  int num_digits_ = 0;  // to come of an escape
  int base_ = 16;
  uint32_t code_ = 0;
  SurrogateJoiner surrogates_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_LITERAL_READER_H_
