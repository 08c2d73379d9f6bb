#ifndef SHORTLIST_TEXT_JINJA_TEXT_METHODS_H_
#define SHORTLIST_TEXT_JINJA_TEXT_METHODS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// True for the supported methods of Python's str.
bool HasTextMethod(std::string_view name);

/// True for a method of Python's str that CallTextMethod() does not have.
bool IsOtherTextMethod(std::string_view name);
/// Calls the method `name`. Requires HasTextMethod(name).
absl::StatusOr<Value> CallTextMethod(const Text& text, std::string_view name,
                                     const Arguments& arguments);

// Methods that are filters too.
enum class Side { kLeft, kRight, kBoth };
/// Strips `characters`; white space if it is nullptr or None.
absl::StatusOr<Value> Strip(const Text& text, Side side, const Value* characters);
/// Replaces the first `count` occurrences, or all if `count` is negative. InvalidArgument for an
/// empty `from`.
absl::StatusOr<Value> Replace(const Text& text, const Text& from, const Text& to, int64_t count);
// See text/jinja/letter_case.h.
Value Upper(const Text& text);
Value Lower(const Text& text);
Value Capitalize(const Text& text);
Value Title(const Text& text);
Value TitleOfWords(const Text& text);
/// str.isupper or str.islower: there are letters with a case, and all have this one.
bool HasOneCase(const Text& text, bool upper);
absl::StatusOr<Value> Join(const Text& separator, const std::vector<Value>& items);
/// Escapes & < > ' and " for HTML: "<" becomes "&lt;".
Text EscapedForHtml(const Text& text);
/// Python's splitlines().
std::vector<Text> SplitLines(const Text& text, bool keep_ends);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_TEXT_METHODS_H_
