#ifndef SHORTLIST_TEXT_UNICODE_H_
#define SHORTLIST_TEXT_UNICODE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shortlist {

/// Properties of a code point. Categories are those of utf8proc (Unicode 15 in Debian 12).
enum CharFlag : uint8_t {
  kLetter = 1,          // L*
  kNumber = 2,          // N*
  kMark = 4,            // M*
  kNonSpacing = 8,      // Mn
  kWhiteSpace = 16,     // property White_Space
  kPunctuation = 32,    // P*, and any ASCII that is neither letter, digit, space nor control
  kOtherCategory = 64,  // Cc, Cf, Co
  kNfcInert = 128,      // NFC does not change a text of such code points alone
};

/// CharFlags of every code point, computed once from utf8proc.
class CharTable {
 public:
  static const CharTable& Get();
  uint8_t flags(char32_t c) const { return flags_[c]; }  // `c` at most U+10FFFF

 private:
  CharTable();
  static constexpr char32_t kSize = 0x110000;
  std::vector<uint8_t> flags_;  // [kSize]
};

/// Returns the code point at `offset` < text.size() of `text` (valid UTF-8) and moves `offset` past
/// it.
inline char32_t NextChar(std::string_view text, size_t& offset) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[offset + i]); };
  const uint8_t lead = byte(0);
  char32_t c = lead;
  size_t size = 1;
  if (lead >= 0xF0) {
    c = (lead & 7u) << 18 | (byte(1) & 63u) << 12 | (byte(2) & 63u) << 6 | (byte(3) & 63u);
    size = 4;
  } else if (lead >= 0xE0) {
    c = (lead & 15u) << 12 | (byte(1) & 63u) << 6 | (byte(2) & 63u);
    size = 3;
  } else if (lead >= 0x80) {
    c = (lead & 31u) << 6 | (byte(1) & 63u);
    size = 2;
  }
  offset += size;
  return c;
}

/// Returns the number of bytes of the UTF-8 sequence that `lead` begins.
inline size_t SequenceSize(char lead) {
  const uint8_t byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The code point that ends at `offset` > 0 of a text, and the offset where it begins.
struct PreviousChar {
  char32_t c;
  size_t begin;
};
PreviousChar CharBefore(std::string_view text, size_t offset);

void AppendChar(char32_t c, std::string& text);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

/// Returns `text` (valid UTF-8) in a normal form. Linear time, except for sorting runs of marks.
std::string Normalize(std::string_view text, NormalForm form);

/// Like Normalize(); nullopt if the result or an intermediate form exceeds `max_bytes` bytes or
/// code points.
std::optional<std::string> NormalizeWithin(std::string_view text, NormalForm form,
                                           size_t max_bytes);

/// Appends the full lower-case mapping of `c`, regardless of context.
void AppendLowerCase(char32_t c, std::string& text);

/// Returns the ends of the grapheme clusters of `text`, in order; the last is its size.
std::vector<size_t> GraphemeEnds(std::string_view text);

/// Returns the characters that GPT-2's byte-level alphabet (Radford et al. 2019) assigns to the 256
/// bytes: printable Latin-1 to itself, the others from U+0100 on in order.
const std::array<char32_t, 256>& ByteAlphabet();

/// Returns the bytes that `text` spells in ByteAlphabet(); `text` itself if it contains any other
/// character.
std::string BytesOfAlphabet(std::string_view text);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_UNICODE_H_
