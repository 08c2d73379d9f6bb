#include "text/jinja/arguments.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace shortlist::jinja {

absl::StatusOr<std::vector<const Value*>> Arguments::Bind(
    std::initializer_list<const char*> names) const {
  if (positional.size() > names.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(positional.size(), " arguments where at most ", names.size(), " are taken"));
  }
  std::vector<const Value*> bound(names.size(), nullptr);
  for (size_t i = 0; i < positional.size(); ++i) bound[i] = &positional[i];
  for (const auto& [name, value] : named) {
    const auto found = std::find(names.begin(), names.end(), std::string_view(name));
    if (found == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no argument is named '", name.substr(0, 40), "'"));
    }
    const Value*& slot = bound[static_cast<size_t>(found - names.begin())];
    if (slot != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("argument '", name, "' given twice"));
    }
    slot = &value;
  }
  return bound;
}

absl::StatusOr<int64_t> IntOr(const Value* argument, int64_t otherwise) {
  if (argument == nullptr || argument->Is(Kind::kNone)) return otherwise;
  if (const auto value = argument->AsInt()) return *value;
  return absl::InvalidArgumentError(
      absl::StrCat("an argument of type ", argument->TypeName(), " where an int is needed"));
}

absl::StatusOr<std::string> TextOr(const Value* argument, std::string otherwise) {
  if (argument == nullptr || argument->Is(Kind::kNone)) return otherwise;
  if (argument->Is(Kind::kText)) return argument->bytes();
  return absl::InvalidArgumentError(
      absl::StrCat("an argument of type ", argument->TypeName(), " where a str is needed"));
}

bool IsTrue(const Value* argument) { return argument != nullptr && argument->IsTrue(); }

}  // namespace shortlist::jinja
