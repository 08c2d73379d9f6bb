#ifndef SHORTLIST_CLI_FLAGS_FLAG_KINDS_H_
#define SHORTLIST_CLI_FLAGS_FLAG_KINDS_H_

#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/dtype.h"

namespace shortlist {

// Kinds of flags. Each function adds a flag to `command`; parsing fills `value`, which must outlive
// `command`. A value out of bounds (NaN included) is a CLI::ValidationError that names flag, value
// and bound.

inline constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();

/// While it lives, flags added to `command` are listed below the heading `topic` in its help.
class FlagTopic {
 public:
  FlagTopic(CLI::App& command, const std::string& topic)
      : defaults_(*command.option_defaults()), before_(defaults_.get_group()) {
    defaults_.group(topic);
  }
  FlagTopic(const FlagTopic&) = delete;
  FlagTopic& operator=(const FlagTopic&) = delete;
  ~FlagTopic() { defaults_.group(before_); }

 private:
  CLI::OptionDefaults& defaults_;
  const std::string before_;
};

[[noreturn]] inline void RefuseFlag(const std::string& flag, const std::string& value,
                                    const std::string& bound) {
  throw CLI::ValidationError(flag, absl::StrCat("'", value, "' not in ", bound));
}

/// Parses all of `text` as a number. Nullopt if anything precedes or follows the number.
template <typename Number>
std::optional<Number> ParseNumber(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

template <typename Integer>
CLI::Option* AddInteger(CLI::App& command, const std::string& flag, Integer& value, Integer low,
                        Integer high, const std::string& description) {
  auto parse = [name = flag.substr(0, flag.find(',')), &value, low, high](const std::string& text) {
    const std::optional<Integer> parsed = ParseNumber<Integer>(text);
    if (!parsed || *parsed < low || *parsed > high) {
      RefuseFlag(name, text, absl::StrCat("[", low, ", ", high, "]"));
    }
    value = *parsed;
  };
  return command.add_option_function<std::string>(flag, parse, description)
      ->type_name("N")
      ->default_str(std::to_string(value));
}

enum class Low { kIncluded, kExcluded };

inline CLI::Option* AddReal(CLI::App& command, const std::string& flag, double& value, double low,
                            double high, Low low_end, const std::string& description) {
  auto parse = [flag, &value, low, high, low_end](const std::string& text) {
    const std::optional<double> parsed = ParseNumber<double>(text);
    // Written so that NaN fails.
    const bool fits =
        parsed && *parsed <= high && (low_end == Low::kIncluded ? *parsed >= low : *parsed > low);
    if (!fits) {
      RefuseFlag(flag, text,
                 absl::StrCat(low_end == Low::kIncluded ? "[" : "(", low, ", ", high, "]"));
    }
    value = *parsed;
  };
  return command.add_option_function<std::string>(flag, parse, description)
      ->type_name("X")
      ->default_str(absl::StrCat(value));
}

/// A flag that accepts one of several names.
template <typename Value>
CLI::Option* AddChoice(CLI::App& command, const std::string& flag, Value& value,
                       const std::map<std::string, Value>& choices,
                       const std::string& description) {
  std::string names;
  for (const auto& [name, unused] : choices)
    absl::StrAppend(&names, names.empty() ? "" : "|", name);
  auto parse = [flag, &value, choices, names](const std::string& text) {
    const auto found = choices.find(text);
    if (found == choices.end()) RefuseFlag(flag, text, names);
    value = found->second;
  };
  return command.add_option_function<std::string>(flag, parse, description)->type_name(names);
}

/// Dtype names include those of other servers; "auto" is nullopt.
void AddDtypeFlag(CLI::App& command, std::optional<DType>& value, const std::string& description);
void AddQuantizeFlag(CLI::App& command, std::optional<DType>& value,
                     const std::string& description);
/// Sets `value` to the number of hardware threads, the default of the flag.
void AddThreadsFlag(CLI::App& command, int64_t& value);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_FLAGS_FLAG_KINDS_H_
