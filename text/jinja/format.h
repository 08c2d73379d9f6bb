#ifndef SHORTLIST_TEXT_JINJA_FORMAT_H_
#define SHORTLIST_TEXT_JINJA_FORMAT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

// Python's ways to format values into a text. InvalidArgument for formats that Python rejects, and
// for those not supported, which it names.

/// str.format: the fields {}, {0} and {name}, each optionally with a format specification
/// ({:>8.2f}).
absl::StatusOr<Value> FormatFields(const Text& text, const Arguments& arguments);

/// text % values: a tuple of values, a dictionary for %(name)s, or one value. Conversions are those
/// of Python except %r, %a and %c.
absl::StatusOr<Value> FormatPercent(const Text& text, const Value& values);

/// Alignment of a text within a width: str.ljust, str.rjust and str.center, and "^" and "=" of a
/// format specification. kInner: the padding follows the sign.
enum class Align { kLeft, kRight, kCenter, kCaret, kInner };

/// Returns `text` padded to `width` characters with `fill` (one character). The first `sign_bytes`
/// bytes of `text` are its sign. InvalidArgument for a width above 100,000.
absl::StatusOr<Text> Pad(const Text& text, int64_t width, const Text& fill, Align align,
                         size_t sign_bytes = 0);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_FORMAT_H_
