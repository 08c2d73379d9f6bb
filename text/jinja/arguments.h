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

/// Evaluated arguments of a call, filter or test.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<Text, Value>> named;

  /// Appends the elements of `value`, like f(*value). InvalidArgument if it is not iterable.
  absl::Status AppendUnpacked(const Value& value);
  /// Appends the entries of the dictionary `value`, like f(**value). InvalidArgument for another
  /// kind, a key that is not a text, or a name that is already given.
  absl::Status AppendUnpackedNamed(const Value& value);

  /// Returns the arguments in the order of `names`; nullptr if one is not given. The pointers live
  /// as long as this object. InvalidArgument for too many arguments, an unknown name, or an
  /// argument given twice.
  absl::StatusOr<std::vector<const Value*>> Bind(std::initializer_list<const char*> names) const;
};

// Return the argument's value; `otherwise` if it is nullptr or None. InvalidArgument for another
// kind.
absl::StatusOr<int64_t> IntOr(const Value* argument, int64_t otherwise);
absl::StatusOr<std::string> TextOr(const Value* argument, std::string otherwise);
/// True if the argument is given and true.
bool IsTrue(const Value* argument);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_ARGUMENTS_H_
