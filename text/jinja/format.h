#ifndef SHORTLIST_TEXT_JINJA_FORMAT_H_
#define SHORTLIST_TEXT_JINJA_FORMAT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

// Python's ways to write values into a text. InvalidArgument for what Python refuses, and for what
// is not supported: it is named.

/// str.format: the fields {}, {0} and {name}, each also with a format specification ({:>8.2f}).
absl::StatusOr<Value> FormatFields(const Text& text, const Arguments& arguments);

/// text % values: a tuple of them, a dictionary for %(name)s, or one value. Conversions are those
/// of Python but for %r, %a and %c.
absl::StatusOr<Value> FormatPercent(const Text& text, const Value& values);

/// Where a text goes within a width: str.ljust, str.rjust and str.center, and "^" and "=" of a
/// format specification. kInner: what is padded with goes behind a sign.
enum class Align { kLeft, kRight, kCenter, kCaret, kInner };

/// `text` with `fill`, one character, up to `width` characters; `sign_bytes` of it are its sign.
/// InvalidArgument for a width above 100,000.
absl::StatusOr<Text> Pad(const Text& text, int64_t width, const Text& fill, Align align,
                         size_t sign_bytes = 0);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_FORMAT_H_
