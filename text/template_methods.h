#ifndef SHORTLIST_TEXT_TEMPLATE_METHODS_H_
#define SHORTLIST_TEXT_TEMPLATE_METHODS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "text/template_value.h"

namespace shortlist::jinja {

/// Evaluated arguments of a call, a filter or a test.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  /// Arguments in the order of `names`, nullptr for one that is not given. They live as long as
  /// this does. InvalidArgument for one too many, an unknown name, or one given twice.
  absl::StatusOr<std::vector<const Value*>> Bind(std::initializer_list<const char*> names) const;
};

// The argument's value; `otherwise` where it is nullptr or None. InvalidArgument for another kind.
absl::StatusOr<int64_t> IntOr(const Value* argument, int64_t otherwise);
absl::StatusOr<std::string> TextOr(const Value* argument, std::string otherwise);

/// Methods of str, list, dict and `loop` that templates call, by their Python names and meanings.
/// None of them changes its receiver.
bool HasMethod(const Value& receiver, std::string_view name);
/// True for Python's methods that change a list or a dictionary in place.
bool ChangesReceiver(const Value& receiver, std::string_view name);
/// Needs HasMethod.
absl::StatusOr<Value> CallMethod(const Value& receiver, std::string_view name,
                                 const Arguments& arguments);

// Methods that are filters too.
enum class Side { kLeft, kRight, kBoth };
/// Without `characters` (nullptr or None): white space.
absl::StatusOr<Value> Strip(const Text& text, Side side, const Value* characters);
/// `count` below 0 replaces all.
absl::StatusOr<Value> Replace(const Text& text, const Text& from, const Text& to, int64_t count);
Value Upper(const Text& text);
Value Lower(const Text& text);
Value Capitalize(const Text& text);
Value Title(const Text& text);
absl::StatusOr<Value> Join(const Text& separator, const std::vector<Value>& items);
/// Python's splitlines().
std::vector<Text> SplitLines(const Text& text, bool keep_ends);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_TEMPLATE_METHODS_H_
