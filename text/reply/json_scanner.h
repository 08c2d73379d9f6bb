#ifndef SHORTLIST_TEXT_REPLY_JSON_SCANNER_H_
#define SHORTLIST_TEXT_REPLY_JSON_SCANNER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shortlist {

/// What a byte means for a value that is read byte by byte.
enum class JsonStep {
  kMore,
  kEnd,        // the value ends with this byte
  kEndBefore,  // a number or word has ended; this byte is no part of it
  kBad         // no JSON
};

/// Finds the end of a JSON value and checks it, byte by byte, to any depth.
class JsonScanner {
 public:
  /// Appends the value's bytes to `out` as they are, with one exception: control characters within
  /// strings, which models write and JSON forbids, become escapes. After any other result than
  /// kMore the scanner is used up.
  JsonStep Read(char c, std::string& out);

 private:
  enum class State : uint8_t {
    kValue,
    kFirstElement,
    kFirstKey,
    kKey,
    kColon,
    kAfterValue,
    kString,
    kEscape,
    kHex,
    kScalar
  };

  JsonStep ReadStructure(char c);
  JsonStep ReadString(char c);
  JsonStep ReadAfterValue(char c);
  JsonStep Begin(char c);
  JsonStep EndValue();

  State state_ = State::kValue;
  bool is_key_ = false;  // in a string
  int num_hex_ = 0;      // digits to come of an escape
  std::string scalar_;   // a number or word so far; ends when no longer a prefix of one
  std::vector<bool> in_object_;
};

/// Appends the code points of escapes in UTF-8. Joins two surrogates that follow each other.
class SurrogateJoiner {
 public:
  /// Appends `code` to `text`. A high surrogate waits for the next call.
  void Append(uint32_t code, std::string& text);
  /// Other text follows, or the end: appends U+FFFD for a surrogate that waits.
  void End(std::string& text);

 private:
  uint32_t high_ = 0;  // the surrogate that waits; 0: none
};

/// Reads a JSON string after its opening quote, byte by byte.
class JsonStringReader {
 public:
  /// Appends to `text` what the string means, in UTF-8; a lone surrogate becomes U+FFFD. kEnd: `c`
  /// is the closing quote. Control characters are taken as they are.
  JsonStep Read(char c, std::string& text);

 private:
  JsonStep ReadEscape(char c, std::string& text);
  bool in_escape_ = false;
  int num_hex_ = 0;
  uint32_t unit_ = 0;
  SurrogateJoiner surrogates_;
};

/// Appends `code_point` in UTF-8; U+FFFD for what is no Unicode scalar value.
void AppendAsUtf8(uint32_t code_point, std::string& text);

/// Appends `text` as the inside of a JSON string.
void AppendJsonEscaped(std::string_view text, std::string& json);

/// True if `text` is a prefix of a JSON number, true, false or null.
bool IsScalarPrefix(std::string_view text);
/// True if `text` is a JSON number, true, false or null.
bool IsJsonScalar(std::string_view text);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_JSON_SCANNER_H_
