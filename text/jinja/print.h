#ifndef SHORTLIST_TEXT_JINJA_PRINT_H_
#define SHORTLIST_TEXT_JINJA_PRINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// Python's str(): texts as they are, lists and dictionaries as their repr(), an empty text for
/// undefined. InvalidArgument for values whose print shows an address: a namespace, a generator,
/// and a function other than a macro.
absl::StatusOr<Text> Str(const Value& value);
/// Appends Str(value) to `out`. InvalidArgument if `out` becomes too long.
absl::Status AppendStr(const Value& value, Text& out);

/// Python's repr() of a float: the shortest digits that read back as the same number.
std::string FloatRepr(double value);

/// Arguments of json.dumps, with the defaults of transformers' tojson.
struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool multi_line = false;
  Text indent;  // of one level, if multi_line
  Text item_separator;
  Text key_separator;
};

/// Python's json.dumps(). InvalidArgument for values that JSON cannot express. The spelling of
/// content is content.
absl::StatusOr<Text> ToJson(const Value& value, const JsonStyle& style);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_PRINT_H_
