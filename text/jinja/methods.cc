#include "text/jinja/methods.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "text/jinja/print.h"
#include "text/jinja/text_methods.h"

namespace shortlist::jinja {
namespace {

absl::StatusOr<Value> CallDictMethod(const Value& receiver, std::string_view name,
                                     const Arguments& arguments) {
  const Dict& dict = receiver.dict();
  if (name == "get") {
    SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"key", "default"}));
    if (bound[0] == nullptr) return absl::InvalidArgumentError("get: no key");
    const Value* found = dict.FindKey(*bound[0]);
    if (found != nullptr) return *found;
    return bound[1] != nullptr ? *bound[1] : Value(None{});
  }
  SHORTLIST_RETURN_IF_ERROR(arguments.Bind({}).status());
  if (name == "copy") return receiver;
  return Value::MakeView(receiver, name == "items"  ? ListKind::kItems
                                   : name == "keys" ? ListKind::kKeys
                                                    : ListKind::kValues);
}

absl::StatusOr<Value> CallListMethod(const List& list, std::string_view name,
                                     const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"value"}));
  if (bound[0] == nullptr) return absl::InvalidArgumentError("index, count: no argument");
  int64_t count = 0;
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (!Equal(list.items[i], *bound[0])) continue;
    if (name == "index") return Value(static_cast<int64_t>(i));
    ++count;
  }
  if (name == "index") return absl::InvalidArgumentError("index: no such element in the list");
  return Value(count);
}

/// loop.changed: true if the arguments differ from those of the previous call.
absl::StatusOr<Value> Changed(LoopItems& items, const Arguments& arguments) {
  if (!arguments.named.empty()) {
    return absl::InvalidArgumentError("changed: an argument by name, which it does not take");
  }
  const auto& values = arguments.positional;
  const bool same =
      items.last_changed && std::equal(values.begin(), values.end(), items.last_changed->begin(),
                                       items.last_changed->end(), Equal);
  if (!same) items.last_changed = values;
  return Value(!same);
}

constexpr std::string_view kDictMethods[] = {"get", "items", "keys", "values", "copy"};
constexpr std::string_view kListMethods[] = {"index", "count"};
constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kListChanges[] = {"append", "clear", "pop",    "reverse",
                                             "insert", "sort",  "extend", "remove"};

template <size_t n>
bool IsOneOf(std::string_view name, const std::string_view (&names)[n]) {
  return std::find(names, names + n, name) != names + n;
}

}  // namespace

bool HasMethod(const Value& receiver, std::string_view name) {
  switch (receiver.kind()) {
    case Kind::kText:
      return HasTextMethod(name);
    case Kind::kDict:
      return IsOneOf(name, kDictMethods);
    case Kind::kList:
      return receiver.IsSequence() && IsOneOf(name, kListMethods);
    case Kind::kLoop:
      return name == "cycle" || name == "changed";
    default:
      return false;
  }
}

bool ChangesReceiver(const Value& receiver, std::string_view name) {
  if (receiver.Is(Kind::kDict)) return IsOneOf(name, kDictChanges);
  return receiver.Is(Kind::kList) && receiver.list().kind == ListKind::kList &&
         IsOneOf(name, kListChanges);
}

absl::StatusOr<Value> CallMethod(const Value& receiver, std::string_view name,
                                 const Arguments& arguments) {
  if (receiver.Is(Kind::kText)) return CallTextMethod(receiver.text(), name, arguments);
  if (receiver.Is(Kind::kDict)) return CallDictMethod(receiver, name, arguments);
  if (receiver.Is(Kind::kList)) return CallListMethod(receiver.list(), name, arguments);
  if (name == "changed") return Changed(*receiver.loop().items, arguments);
  if (arguments.positional.empty()) return absl::InvalidArgumentError("cycle: no argument");
  return arguments.positional[receiver.loop().index0 % arguments.positional.size()];
}

}  // namespace shortlist::jinja
