#ifndef SHORTLIST_TEXT_JINJA_LETTER_CASE_H_
#define SHORTLIST_TEXT_JINJA_LETTER_CASE_H_

#include <optional>
#include <string>
#include <string_view>

namespace shortlist::jinja {

// Upper and lower case as in Python 3.11, with Unicode's full mappings: "ß" in upper case is "SS".
// Texts are valid UTF-8; a result has at most three times their bytes. Linear time.

/// str.upper.
std::string UpperCase(std::string_view utf8);

/// str.lower: a sigma at the end of a word becomes "ς".
std::string LowerCase(std::string_view utf8);

/// str.capitalize.
std::string Capitalized(std::string_view utf8);

/// str.title: a word begins after any character but a letter.
std::string TitleCase(std::string_view utf8);

/// Jinja's filter `title`: a word begins only after white space, '-', '(', '{', '[' or '<'.
std::string TitleCaseOfWords(std::string_view utf8);

/// Returns 0 to 9 for a decimal digit of any script, as Python's int() reads them; otherwise
/// nullopt.
std::optional<int> DecimalDigit(char32_t code_point);

/// str.isdigit of one character: a decimal digit, or another digit such as "²".
bool IsDigit(char32_t code_point);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_LETTER_CASE_H_
