#ifndef SHORTLIST_TEXT_JINJA_PRINT_H_
#define SHORTLIST_TEXT_JINJA_PRINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// Python's str(): texts as they are, lists and dictionaries as their repr(), nothing for
/// undefined. InvalidArgument for a namespace, a generator, and a function other than a macro,
/// whose print shows an address.
absl::StatusOr<Text> Str(const Value& value);
/// The same at the end of `out`. InvalidArgument when that gets too long.
absl::Status AppendStr(const Value& value, Text& out);

/// Python's repr() of a float: the shortest digits that read back as the same number.
std::string FloatRepr(double value);

/// json.dumps' arguments, with the defaults that transformers' tojson gives them.
struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool multi_line = false;
  Text indent;  // of one level, where multi_line
  Text item_separator;
  Text key_separator;
};

/// Python's json.dumps(). InvalidArgument for what JSON has no word for. Spellings of content are
/// content.
absl::StatusOr<Text> ToJson(const Value& value, const JsonStyle& style);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_PRINT_H_
