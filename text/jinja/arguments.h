#ifndef SHORTLIST_TEXT_JINJA_ARGUMENTS_H_
#define SHORTLIST_TEXT_JINJA_ARGUMENTS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "text/jinja/value.h"

namespace shortlist::jinja {

/// Evaluated arguments of a call, a filter or a test.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<Text, Value>> named;

  /// Appends the elements of `value`, as f(*value) does. InvalidArgument where it has none to give.
  absl::Status AppendUnpacked(const Value& value);
  /// Appends the entries of the dictionary `value`, as f(**value) does. InvalidArgument for another
  /// kind, a key that is not a text, and a name that is there already.
  absl::Status AppendUnpackedNamed(const Value& value);

  /// Arguments in the order of `names`, nullptr for one that is not given. They live as long as
  /// this does. InvalidArgument for one too many, an unknown name, or one given twice.
  absl::StatusOr<std::vector<const Value*>> Bind(std::initializer_list<const char*> names) const;
};

// The argument's value; `otherwise` where it is nullptr or None. InvalidArgument for another kind.
absl::StatusOr<int64_t> IntOr(const Value* argument, int64_t otherwise);
absl::StatusOr<std::string> TextOr(const Value* argument, std::string otherwise);
/// Whether an argument is given and true.
bool IsTrue(const Value* argument);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_ARGUMENTS_H_
