#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/check.h"

namespace shortlist {
namespace {

constexpr int kMaxDecomposition = 32;  // code points; the longest (U+FDFA) has 18

bool IsAsciiPunctuation(char32_t c) {
  return c > 0x20 && c < 0x7F && !(c >= '0' && c <= '9') &&
         !((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

bool IsWhiteSpace(char32_t c, int category) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x85 || category == UTF8PROC_CATEGORY_ZS ||
         category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

uint8_t CategoryFlags(char32_t c, int category) {
  const auto between = [category](int low, int high) {
    return category >= low && category <= high;
  };
  uint8_t flags = 0;
  if (between(UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO)) flags |= kLetter;
  if (between(UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO)) flags |= kNumber;
  if (between(UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME)) flags |= kMark;
  if (category == UTF8PROC_CATEGORY_MN) flags |= kNonSpacing;
  if (IsWhiteSpace(c, category)) flags |= kWhiteSpace;
  if (between(UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO) || IsAsciiPunctuation(c)) {
    flags |= kPunctuation;
  }
  if (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
      category == UTF8PROC_CATEGORY_CO) {
    flags |= kOtherCategory;
  }
  return flags;
}

void AppendDecomposition(char32_t c, int options, std::vector<int32_t>& out) {
  int32_t buffer[kMaxDecomposition];
  int bound_class = 0;
  const auto count = utf8proc_decompose_char(static_cast<int32_t>(c), buffer, kMaxDecomposition,
                                             static_cast<utf8proc_option_t>(options), &bound_class);
  SHORTLIST_CHECK(count >= 0 && count <= kMaxDecomposition);
  out.insert(out.end(), buffer, buffer + count);
}

/// Sorts each run of non-starters by combining class (Unicode 15, section 3.11, D109). utf8proc's
/// own sort takes time quadratic in the length of the run.
void SortMarks(std::vector<int32_t>& chars) {
  const auto combining_class = [](int32_t c) { return utf8proc_get_property(c)->combining_class; };
  for (size_t begin = 0; begin < chars.size(); ++begin) {
    if (chars[begin] < 0x300 || combining_class(chars[begin]) == 0) continue;
    size_t end = begin + 1;
    while (end < chars.size() && combining_class(chars[end]) != 0) ++end;
    std::stable_sort(chars.begin() + begin, chars.begin() + end,
                     [&](int32_t a, int32_t b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

void Compose(std::vector<int32_t>& chars) {
  const auto count =
      utf8proc_normalize_utf32(chars.data(), static_cast<utf8proc_ssize_t>(chars.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  SHORTLIST_CHECK(count >= 0);
  chars.resize(static_cast<size_t>(count));
}

/// True if NFC keeps `c` on its own.
bool IsNfcStable(char32_t c) {
  std::vector<int32_t> chars;
  AppendDecomposition(c, UTF8PROC_DECOMPOSE, chars);
  Compose(chars);
  return chars.size() == 1 && chars[0] == static_cast<int32_t>(c);
}

bool IsAscii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
}

bool IsInert(std::string_view text) {
  const CharTable& table = CharTable::Get();
  for (size_t i = 0; i < text.size();) {
    if ((text[i] & 0x80) == 0) {
      ++i;
    } else if ((table.flags(NextChar(text, i)) & kNfcInert) == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

CharTable::CharTable() : flags_(kSize) {
  std::vector<char32_t> combine_backwards;
  for (char32_t c = 0; c < kSize; ++c) {
    const utf8proc_property_t& property = *utf8proc_get_property(static_cast<int32_t>(c));
    flags_[c] = CategoryFlags(c, property.category);
    const bool is_jamo = property.boundclass == UTF8PROC_BOUNDCLASS_V ||
                         property.boundclass == UTF8PROC_BOUNDCLASS_T;
    bool inert = property.combining_class == 0 && !is_jamo;
    if (property.decomp_type == 0 && property.decomp_seqindex != UINT16_MAX) {
      std::vector<int32_t> chars;
      AppendDecomposition(c, UTF8PROC_DECOMPOSE, chars);
      combine_backwards.insert(combine_backwards.end(), chars.begin() + 1, chars.end());
      inert = inert && IsNfcStable(c);
    }
    if (inert) flags_[c] |= kNfcInert;
  }
  for (const char32_t c : combine_backwards) flags_[c] &= static_cast<uint8_t>(~kNfcInert);
}

const CharTable& CharTable::Get() {
  static const CharTable table;
  return table;
}

PreviousChar CharBefore(std::string_view text, size_t offset) {
  size_t begin = offset - 1;
  while (begin > 0 && (text[begin] & 0xC0) == 0x80) --begin;
  size_t end = begin;
  return {NextChar(text, end), begin};
}

void AppendChar(char32_t c, std::string& text) {
  uint8_t bytes[4];
  const auto size = utf8proc_encode_char(static_cast<int32_t>(c), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

std::string Normalize(std::string_view text, NormalForm form) {
  return *NormalizeWithin(text, form, std::numeric_limits<size_t>::max());
}

std::optional<std::string> NormalizeWithin(std::string_view text, NormalForm form,
                                           size_t max_bytes) {
  const bool compose = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  if (IsAscii(text) || (form == NormalForm::kNfc && IsInert(text))) return std::string(text);
  int options = UTF8PROC_DECOMPOSE;
  if (form == NormalForm::kNfkc || form == NormalForm::kNfkd) options |= UTF8PROC_COMPAT;
  std::vector<int32_t> chars;
  chars.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    AppendDecomposition(NextChar(text, i), options, chars);
    if (chars.size() > max_bytes) return std::nullopt;
  }
  SortMarks(chars);
  if (compose) Compose(chars);
  std::string normalized;
  normalized.reserve(text.size());
  for (const int32_t c : chars) {
    AppendChar(static_cast<char32_t>(c), normalized);
    if (normalized.size() > max_bytes) return std::nullopt;
  }
  return normalized;
}

void AppendLowerCase(char32_t c, std::string& text) {
  // U+0130 is the only code point whose full lower case has several code points. utf8proc has
  // simple mappings only.
  if (c == 0x130) {
    text.append("i\xCC\x87");
    return;
  }
  AppendChar(static_cast<char32_t>(utf8proc_tolower(static_cast<int32_t>(c))), text);
}

std::vector<size_t> GraphemeEnds(std::string_view text) {
  std::vector<size_t> ends;
  int32_t state = 0;
  int32_t previous = -1;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const int32_t c = static_cast<int32_t>(NextChar(text, i));
    if (previous >= 0 && utf8proc_grapheme_break_stateful(previous, c, &state)) {
      ends.push_back(begin);
    }
    previous = c;
  }
  if (!text.empty()) ends.push_back(text.size());
  return ends;
}

const std::array<char32_t, 256>& ByteAlphabet() {
  static const std::array<char32_t, 256> alphabet = [] {
    std::array<char32_t, 256> chars{};
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      chars[byte] = printable ? byte : next++;
    }
    return chars;
  }();
  return alphabet;
}

std::string BytesOfAlphabet(std::string_view text) {
  static const std::unordered_map<char32_t, char> byte_of = [] {
    std::unordered_map<char32_t, char> map;
    for (int byte = 0; byte < 256; ++byte) map[ByteAlphabet()[byte]] = static_cast<char>(byte);
    return map;
  }();
  std::string bytes;
  for (size_t i = 0; i < text.size();) {
    const auto found = byte_of.find(NextChar(text, i));
    if (found == byte_of.end()) return std::string(text);
    bytes.push_back(found->second);
  }
  return bytes;
}

}  // namespace shortlist
