#ifndef SHORTLIST_TEXT_JINJA_TEXT_SEARCH_H_
#define SHORTLIST_TEXT_JINJA_TEXT_SEARCH_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/arguments.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

// Methods of Python's str that look for a part of a text. Positions count code points.

/// startswith and endswith: one text or a tuple of them.
absl::StatusOr<Value> HasAffix(const Text& text, const Arguments& arguments, bool at_start);
/// removeprefix and removesuffix.
absl::StatusOr<Value> RemoveAffix(const Text& text, const Arguments& arguments, bool at_start);
/// `name`: find, rfind, index, rindex or count.
absl::StatusOr<Value> Search(const Text& text, const Arguments& arguments, std::string_view name);
/// partition and rpartition.
absl::StatusOr<Value> Partition(const Text& text, const Arguments& arguments, bool from_right);

/// A search from the right takes the product of both lengths at worst: InvalidArgument where `part`
/// is long.
absl::Status CheckSearchedFromRight(const std::string& part);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_TEXT_SEARCH_H_
