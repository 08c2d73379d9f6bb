#include "text/jinja/text.h"

#include <algorithm>
#include <clocale>
#include <cstring>
#include <cwctype>
#include <utility>

namespace shortlist::jinja {
namespace {

/// Returns tables for all of Unicode, independent of the process's locale.
locale_t UnicodeLocale() {
  static const locale_t locale =
      newlocale(LC_CTYPE_MASK, "C.UTF-8", static_cast<locale_t>(nullptr));
  return locale;
}

bool IsAscii(char32_t c) { return c < 0x80; }

}  // namespace

Text Text::FromTemplate(std::string bytes) {
  Text text;
  text.too_long_ = bytes.size() > kMaxTextBytes;
  if (!text.too_long_) text.bytes_ = std::move(bytes);
  return text;
}

Text Text::FromContent(std::string bytes) {
  Text text = FromTemplate(std::move(bytes));
  text.Mark(0, text.bytes_.size());
  return text;
}

bool Text::Reserve(size_t more) {
  if (more > kMaxTextBytes - bytes_.size()) too_long_ = true;
  return !too_long_;
}

void Text::Mark(size_t begin, size_t end) {
  if (begin == end) return;
  if (!content_.empty() && content_.back().end == begin) {
    content_.back().end = end;
  } else {
    content_.push_back({begin, end});
  }
}

void Text::Append(const Text& other) {
  too_long_ |= other.too_long_;
  if (!Reserve(other.bytes_.size())) return;
  const size_t offset = bytes_.size();
  bytes_ += other.bytes_;
  for (const ByteRange& range : other.content_) Mark(offset + range.begin, offset + range.end);
}

void Text::AppendMarked(std::string_view bytes, bool is_content) {
  if (!Reserve(bytes.size())) return;
  bytes_ += bytes;
  if (is_content) Mark(bytes_.size() - bytes.size(), bytes_.size());
}

void Text::AppendTemplate(std::string_view bytes) { AppendMarked(bytes, /*is_content=*/false); }

void Text::AppendRespelled(std::string_view bytes, const Text& source) {
  AppendMarked(bytes, !source.content_.empty());
}

Text Text::Slice(size_t begin, size_t end) const {
  Text part;
  part.is_safe_ = is_safe_;
  part.bytes_ = bytes_.substr(begin, end - begin);
  auto range = std::partition_point(content_.begin(), content_.end(),
                                    [&](const ByteRange& r) { return r.end <= begin; });
  for (; range != content_.end() && range->begin < end; ++range) {
    part.Mark(std::max(range->begin, begin) - begin, std::min(range->end, end) - begin);
  }
  return part;
}

size_t Find(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  // memchr stops at a match; sanitizers assume that memmem reads the whole text each time.
  if (part.size() == 1) return text.find(part.front(), from);
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

char32_t NextCodePoint(std::string_view utf8, size_t& position) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(utf8[position + i]); };
  const char32_t lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t c = length == 1 ? lead : lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) c = c << 6 | (byte(i) & 0x3Fu);
  position += length;
  return c;
}

size_t PreviousCodePoint(std::string_view utf8, size_t position) {
  do {
    --position;
  } while ((static_cast<unsigned char>(utf8[position]) & 0xC0) == 0x80);
  return position;
}

size_t CountCodePoints(std::string_view utf8) {
  size_t count = 0;
  for (const char c : utf8) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

void AppendCodePoint(char32_t c, std::string& utf8) {
  const auto put = [&](char32_t byte) { utf8.push_back(static_cast<char>(byte)); };
  const auto continuation = [&](int shift) { put(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    continuation(6);
  } else {
    put(0xF0 | c >> 18);
    continuation(12);
    continuation(6);
  }
  continuation(0);
}

bool IsSpace(char32_t c) {
  if (IsAscii(c)) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool IsLineEnd(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

char32_t ToUpper(char32_t c) {
  if (IsAscii(c)) return c >= 'a' && c <= 'z' ? c - 32 : c;
  return UnicodeLocale() ? towupper_l(static_cast<wint_t>(c), UnicodeLocale()) : c;
}

char32_t ToLower(char32_t c) {
  if (IsAscii(c)) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  return UnicodeLocale() ? towlower_l(static_cast<wint_t>(c), UnicodeLocale()) : c;
}

bool IsPrintable(char32_t c) {
  // Categories Cf and Co of Unicode 14: printable for the C library, but not for Python.
  static constexpr std::pair<char32_t, char32_t> kFormatAndPrivate[] = {
      {0xAD, 0xAD},       {0x600, 0x605},     {0x61C, 0x61C},     {0x6DD, 0x6DD},
      {0x70F, 0x70F},     {0x890, 0x891},     {0x8E2, 0x8E2},     {0x180E, 0x180E},
      {0x200B, 0x200F},   {0x202A, 0x202E},   {0x2060, 0x2064},   {0x2066, 0x206F},
      {0xE000, 0xF8FF},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},   {0x110BD, 0x110BD},
      {0x110CD, 0x110CD}, {0x13430, 0x13438}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
      {0xE0001, 0xE0001}, {0xE0020, 0xE007F}, {0xF0000, 0xFFFFD}, {0x100000, 0x10FFFD}};
  if (IsAscii(c)) return c >= 0x20 && c < 0x7F;
  if (IsSpace(c)) return false;
  for (const auto& [first, last] : kFormatAndPrivate) {
    if (c >= first && c <= last) return false;
  }
  return !UnicodeLocale() || iswprint_l(static_cast<wint_t>(c), UnicodeLocale());
}

}  // namespace shortlist::jinja
