#ifndef SHORTLIST_TEXT_SCRIPT_H_
#define SHORTLIST_TEXT_SCRIPT_H_

#include <string_view>

namespace shortlist {

/// Returns the script of a letter or mark in English ("Latin", "Han"), as Unicode names it;
/// "Other" for a script that no language of today has as its usual one. A character that several
/// scripts share is in the script whose range it lies in (U+30FC in Katakana). Empty outside all
/// ranges, and for anything but letters and marks.
std::string_view ScriptOf(char32_t c);

/// Returns the major general category of a code point in words: "letters", "marks", "numbers",
/// "punctuation", "symbols", "spaces" (separators, tabs and line ends), or "control" for all else.
std::string_view CategoryOf(char32_t c);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SCRIPT_H_
