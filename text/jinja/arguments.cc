#include "text/jinja/arguments.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist::jinja {
namespace {

absl::Status GivenTwice(const Text& name) {
  return absl::InvalidArgumentError(
      absl::StrCat("argument '", name.bytes().substr(0, 40), "' given twice"));
}

}  // namespace

absl::Status Arguments::AppendUnpacked(const Value& value) {
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<Value> items, Items(value));
  positional.insert(positional.end(), std::make_move_iterator(items.begin()),
                    std::make_move_iterator(items.end()));
  return absl::OkStatus();
}

absl::Status Arguments::AppendUnpackedNamed(const Value& value) {
  if (!value.Is(Kind::kDict)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", value.TypeName(), " after ** where a dict is needed"));
  }
  std::set<std::string_view> taken;
  for (const auto& [name, unused] : named) taken.insert(name.bytes());
  std::vector<std::pair<Text, Value>> more;
  for (const auto& [key, entry] : value.dict().entries) {
    if (!key.Is(Kind::kText)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a key of type ", key.TypeName(), " after ** where a str is needed"));
    }
    if (taken.contains(key.bytes())) return GivenTwice(key.text());
    more.emplace_back(key.text(), entry);
  }
  named.insert(named.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<const Value*>> Arguments::Bind(
    std::initializer_list<const char*> names) const {
  if (positional.size() > names.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(positional.size(), " arguments where at most ", names.size(), " are taken"));
  }
  std::vector<const Value*> bound(names.size(), nullptr);
  for (size_t i = 0; i < positional.size(); ++i) bound[i] = &positional[i];
  for (const auto& [name, value] : named) {
    const auto found = std::find(names.begin(), names.end(), std::string_view(name.bytes()));
    if (found == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no argument is named '", name.bytes().substr(0, 40), "'"));
    }
    const Value*& slot = bound[static_cast<size_t>(found - names.begin())];
    if (slot != nullptr) {
      return GivenTwice(name);
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
