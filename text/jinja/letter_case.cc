#include "text/jinja/letter_case.h"

#include <algorithm>
#include <iterator>

#include "text/jinja/letter_case_tables.h"
#include "text/jinja/text.h"

namespace shortlist::jinja {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;
constexpr char32_t kCapitalIWithDot = 0x130, kDotAbove = 0x307;

template <size_t n>
bool IsIn(const LetterRange (&ranges)[n], char32_t c) {
  const auto* const range = std::partition_point(
      ranges, ranges + n, [c](const LetterRange& range) { return range.last < c; });
  return range != ranges + n && range->first <= c;
}

/// Appends the mapping of `c` in the table; returns false if there is none.
template <size_t n>
bool AppendMapped(const LetterMapping (&table)[n], char32_t c, std::string& out) {
  const auto* const entry = std::partition_point(
      table, table + n, [c](const LetterMapping& entry) { return entry.from < c; });
  if (entry == table + n || entry->from != c) return false;
  for (const char32_t to : entry->to) {
    if (to != 0) AppendCodePoint(to, out);
  }
  return true;
}

void AppendUpper(char32_t c, std::string& out) {
  if (c < 0x80 || !AppendMapped(kLongUppers, c, out)) AppendCodePoint(ToUpper(c), out);
}

void AppendTitle(char32_t c, std::string& out) {
  if (c < 0x80 || !AppendMapped(kTitles, c, out)) AppendUpper(c, out);
}

/// True if a sigma at [begin, end) of `utf8` ends a word: a letter precedes it and none follows it,
/// ignoring case-ignorable characters (Unicode 14, table 3-17, Final_Sigma).
bool EndsWord(std::string_view utf8, size_t begin, size_t end) {
  bool is_after_letter = false;
  while (begin > 0) {
    begin = PreviousCodePoint(utf8, begin);
    size_t i = begin;
    const char32_t c = NextCodePoint(utf8, i);
    if (IsIn(kCaseIgnorable, c)) continue;
    is_after_letter = IsIn(kCased, c);
    break;
  }
  if (!is_after_letter) return false;
  while (end < utf8.size()) {
    const char32_t c = NextCodePoint(utf8, end);
    if (!IsIn(kCaseIgnorable, c)) return !IsIn(kCased, c);
  }
  return true;
}

/// Appends the lower case of the code point at [begin, end) of `utf8`.
void AppendLower(std::string_view utf8, size_t begin, size_t end, std::string& out) {
  size_t i = begin;
  const char32_t c = NextCodePoint(utf8, i);
  if (c == kCapitalSigma) {
    AppendCodePoint(EndsWord(utf8, begin, end) ? kFinalSigma : kSigma, out);
  } else if (c == kCapitalIWithDot) {
    AppendCodePoint('i', out);
    AppendCodePoint(kDotAbove, out);
  } else {
    AppendCodePoint(ToLower(c), out);
  }
}

/// True for characters at which Jinja's `title` splits.
bool DividesWords(char32_t c) {
  return IsSpace(c) || std::u32string_view(U"-({[<").find(c) != std::u32string_view::npos;
}

}  // namespace

std::string UpperCase(std::string_view utf8) {
  std::string out;
  for (size_t i = 0; i < utf8.size();) AppendUpper(NextCodePoint(utf8, i), out);
  return out;
}

std::string LowerCase(std::string_view utf8) {
  std::string out;
  for (size_t begin = 0, end = 0; begin < utf8.size(); begin = end) {
    NextCodePoint(utf8, end);
    AppendLower(utf8, begin, end, out);
  }
  return out;
}

std::string Capitalized(std::string_view utf8) {
  std::string out;
  for (size_t begin = 0, end = 0; begin < utf8.size(); begin = end) {
    const char32_t c = NextCodePoint(utf8, end);
    if (begin == 0) {
      AppendTitle(c, out);
    } else {
      AppendLower(utf8, begin, end, out);
    }
  }
  return out;
}

std::string TitleCase(std::string_view utf8) {
  std::string out;
  bool is_after_letter = false;
  for (size_t begin = 0, end = 0; begin < utf8.size(); begin = end) {
    const char32_t c = NextCodePoint(utf8, end);
    if (is_after_letter) {
      AppendLower(utf8, begin, end, out);
    } else {
      AppendTitle(c, out);
    }
    is_after_letter = IsIn(kCased, c);
  }
  return out;
}

std::string TitleCaseOfWords(std::string_view utf8) {
  std::string out;
  for (size_t begin = 0; begin < utf8.size();) {
    size_t i = begin;
    const char32_t first = NextCodePoint(utf8, i);
    AppendUpper(first, out);
    if (!DividesWords(first)) {
      // Lower the rest of the word on its own, as Jinja does: its first letter is no context for a
      // sigma.
      const size_t rest = i;
      for (size_t next = i; i < utf8.size(); i = next) {
        if (DividesWords(NextCodePoint(utf8, next))) break;
      }
      out += LowerCase(utf8.substr(rest, i - rest));
    }
    begin = i;
  }
  return out;
}

std::optional<int> DecimalDigit(char32_t c) {
  const auto* const after = std::upper_bound(std::begin(kZeros), std::end(kZeros), c);
  if (after == std::begin(kZeros) || c - after[-1] > 9) return std::nullopt;
  return static_cast<int>(c - after[-1]);
}

bool IsDigit(char32_t c) { return DecimalDigit(c) || IsIn(kOtherDigits, c); }

}  // namespace shortlist::jinja
