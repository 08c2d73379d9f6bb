#ifndef SHORTLIST_TEXT_JINJA_LETTER_CASE_H_
#define SHORTLIST_TEXT_JINJA_LETTER_CASE_H_

#include <optional>
#include <string>
#include <string_view>

namespace shortlist::jinja {

// Upper and lower case as Python 3.11 has them, with Unicode's full mappings: "ß" in upper case is
// "SS". Texts are valid UTF-8; a result has at most three times their bytes. Linear time.

/// str.upper.
std::string UpperCase(std::string_view utf8);

/// str.lower: a sigma that ends a word is "ς".
std::string LowerCase(std::string_view utf8);

/// str.capitalize.
std::string Capitalized(std::string_view utf8);

/// str.title: a word begins after anything but a letter.
std::string TitleCase(std::string_view utf8);

/// Jinja's filter `title`: a word begins after white space, '-', '(', '{', '[' or '<' alone.
std::string TitleCaseOfWords(std::string_view utf8);

/// 0 to 9 for a decimal digit of any script, as Python's int() reads them; none for anything else.
std::optional<int> DecimalDigit(char32_t code_point);

/// str.isdigit of one: a decimal digit, or another such as "²".
bool IsDigit(char32_t code_point);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_LETTER_CASE_H_
