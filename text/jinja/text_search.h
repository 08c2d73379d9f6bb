#ifndef SHORTLIST_TEXT_JINJA_TEXT_SEARCH_H_
#define SHORTLIST_TEXT_JINJA_TEXT_SEARCH_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

// Methods of Python's str that search for a part of a text. Positions count code points.

/// startswith and endswith; the argument is one text or a tuple of texts.
absl::StatusOr<Value> HasAffix(const Text& text, const Arguments& arguments, bool at_start);
/// removeprefix and removesuffix.
absl::StatusOr<Value> RemoveAffix(const Text& text, const Arguments& arguments, bool at_start);
/// `name`: find, rfind, index, rindex or count.
absl::StatusOr<Value> Search(const Text& text, const Arguments& arguments, std::string_view name);
/// partition and rpartition.
absl::StatusOr<Value> Partition(const Text& text, const Arguments& arguments, bool from_right);

/// Returns InvalidArgument if `part` is long: a search from the right takes time proportional to
/// the product of both lengths in the worst case.
absl::Status CheckSearchedFromRight(const std::string& part);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_TEXT_SEARCH_H_
