#include "text/jinja/functions.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "text/jinja/print.h"

namespace shortlist::jinja {
namespace {

/// The bound of Jinja's sandbox.
constexpr int64_t kMaxRange = 100'000;

absl::StatusOr<Value> Range(const Arguments& arguments) {
  if (!arguments.named.empty()) {
    return absl::InvalidArgumentError("range: an argument by name, which it does not take");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"start", "stop", "step"}));
  if (bound[0] == nullptr) return absl::InvalidArgumentError("range: no argument");
  for (const Value* argument : bound) {
    if (argument != nullptr && argument->Is(Kind::kNone)) {
      return absl::InvalidArgumentError("range: an argument of type None where an int is needed");
    }
  }
  SHORTLIST_ASSIGN_OR_RETURN(int64_t start, IntOr(bound[0], 0));
  int64_t stop = start;
  if (bound[1] == nullptr) start = 0;
  SHORTLIST_ASSIGN_OR_RETURN(stop, IntOr(bound[1], stop));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t step, IntOr(bound[2], 1));
  if (step == 0) return absl::InvalidArgumentError("range: step 0");
  std::vector<Value> items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (static_cast<int64_t>(items.size()) == kMaxRange) {
      return absl::InvalidArgumentError(absl::StrCat("range: more than ", kMaxRange, " elements"));
    }
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Value::MakeRange(std::move(items), start, stop, step);
}

/// Returns the members of namespace(a=1) or dict(a=1), or of a dictionary argument: {"a": 1}.
absl::StatusOr<Dict> Members(const Arguments& arguments) {
  Dict members;
  if (arguments.positional.size() > 1) return absl::InvalidArgumentError("more than one argument");
  for (const Value& given : arguments.positional) {
    if (!given.Is(Kind::kDict)) {
      return absl::InvalidArgumentError(
          absl::StrCat("an argument of type ", given.TypeName(), " where a dict is needed"));
    }
    for (const auto& [key, value] : given.dict().entries) members.Set(key, value);
  }
  for (const auto& [name, value] : arguments.named) members.Set(name, value);
  return members;
}

absl::StatusOr<Value> MakeNamespace(const Arguments& arguments) {
  SHORTLIST_ASSIGN_OR_RETURN(const Dict members, Members(arguments));
  auto name_space = std::make_shared<Namespace>();
  for (const auto& [name, value] : members.entries) {
    if (name.Is(Kind::kText)) name_space->attributes[name.bytes()] = value;
  }
  return Value(std::move(name_space));
}

/// Supports the conversions that C and Python share, with glibc's "-" (no padding); no widths.
absl::StatusOr<Value> Strftime(const Arguments& arguments, const std::tm& now) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"format"}));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string format, TextOr(bound[0], ""));
  static constexpr std::string_view kConversions = "aAbBcdHIjmMpSUwWxXyY%";
  std::string printed;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      printed += format[i];
      continue;
    }
    const size_t letter = i + 1 < format.size() && format[i + 1] == '-' ? i + 2 : i + 1;
    if (letter >= format.size() || kConversions.find(format[letter]) == std::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("strftime_now: no conversion '", format.substr(i, 3), "'"));
    }
    char buffer[128];
    const std::string conversion = format.substr(i, letter - i + 1);
    printed.append(buffer, std::strftime(buffer, sizeof(buffer), conversion.c_str(), &now));
    i = letter;
  }
  if (FindInvalidUtf8(printed)) return absl::InvalidArgumentError("strftime_now: invalid UTF-8");
  return Value(Text::FromTemplate(std::move(printed)));
}

}  // namespace

bool HasFunction(std::string_view name) {
  return name == "range" || name == "namespace" || name == "dict" || name == "raise_exception" ||
         name == "strftime_now";
}

absl::StatusOr<Value> CallFunction(std::string_view name, const Arguments& arguments,
                                   const std::tm& now) {
  if (name == "range") return Range(arguments);
  if (name == "namespace") return MakeNamespace(arguments);
  if (name == "strftime_now") return Strftime(arguments, now);
  if (name == "dict") {
    SHORTLIST_ASSIGN_OR_RETURN(Dict members, Members(arguments));
    return Value::MakeDict(std::move(members));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const auto bound, arguments.Bind({"message"}));
  SHORTLIST_ASSIGN_OR_RETURN(const Text message, Str(bound[0] != nullptr ? *bound[0] : Value()));
  return absl::InvalidArgumentError(message.bytes().substr(0, 1000));
}

}  // namespace shortlist::jinja
