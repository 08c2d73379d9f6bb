#include "cli/help/command_spec.h"

#include <algorithm>
#include <cctype>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace shortlist {
namespace {

constexpr char kArguments[] = "Arguments";
// CLI11's names for flags and commands without a group.
constexpr char kOtherFlags[] = "Options", kOtherCommands[] = "Subcommands";

/// "on|off" lists all values, "full|ratio:R|FILE" only their forms.
std::vector<std::string> ChoicesOf(const std::string& value) {
  const std::vector<std::string> parts = absl::StrSplit(value, '|');
  const auto is_word = [](const std::string& part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) {
      return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_' || c == '+' || c == '-';
    });
  };
  const bool are_words = parts.size() > 1 && std::all_of(parts.begin(), parts.end(), is_word);
  return are_words ? parts : std::vector<std::string>();
}

bool IsPath(const std::string& value) {
  for (const char* word : {"FILE", "DIR", "LIST", "MODEL"}) {
    if (value.find(word) != std::string::npos) return true;
  }
  return false;
}

FlagSpec DescribeFlag(const CLI::Option& option, const std::string& topic) {
  FlagSpec flag{.topic = topic};
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  if (option.get_positional()) {
    flag.positional = option.get_type_size() != 0 && flag.names.empty()
                          ? option.get_type_name()
                          : option.get_name(/*positional=*/true);
  }
  if (flag.names.empty()) flag.topic = kArguments;
  flag.is_required = option.get_required();
  if (option.get_type_size() != 0) {
    flag.value = option.get_type_name();
    flag.default_value = option.get_default_str();
    flag.choices = ChoicesOf(flag.value);
    flag.is_path = IsPath(flag.value);
    flag.repeats = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  }
  flag.description = option.get_description();
  for (const CLI::Option* other : option.get_needs()) flag.needs.push_back(other->get_name());
  for (const CLI::Option* other : option.get_excludes()) flag.excludes.push_back(other->get_name());
  std::sort(flag.needs.begin(), flag.needs.end());
  std::sort(flag.excludes.begin(), flag.excludes.end());
  return flag;
}

/// Collects flags of `app` and of its unnamed groups. Nonempty `topic` overrides their own topics.
void CollectFlags(const CLI::App& app, const std::string& topic, std::vector<FlagSpec>& flags) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;                     // hidden
    if (!topic.empty() && option == app.get_help_ptr()) continue;  // the command has its own
    flags.push_back(DescribeFlag(*option, topic.empty() ? option->get_group() : topic));
  }
  for (const CLI::App* group : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!group->get_name().empty()) continue;
    const char* const bound = group->get_require_option_max() != 1   ? ""
                              : group->get_require_option_min() == 1 ? " (exactly one)"
                                                                     : " (at most one)";
    CollectFlags(*group, group->get_group() + bound, flags);
  }
}

CommandSpec Describe(const CLI::App& app, const std::string& prefix) {
  CommandSpec command{.name = app.get_name(),
                      .path = prefix + app.get_name(),
                      .topic = app.get_group() == kOtherCommands ? "Commands" : app.get_group(),
                      .description = app.get_description()};
  CollectFlags(app, /*topic=*/"", command.flags);
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_name().empty() || below->get_group().empty()) continue;
    command.commands.push_back(Describe(*below, command.path + " "));
  }
  return command;
}

}  // namespace

std::vector<std::string> CommandSpec::Topics() const {
  std::vector<std::string> topics;
  for (const FlagSpec& flag : flags) {
    if (std::find(topics.begin(), topics.end(), flag.topic) == topics.end()) {
      topics.push_back(flag.topic);
    }
  }
  std::ranges::stable_sort(topics, {}, [](const std::string& topic) {
    return topic == kArguments ? 0 : topic == kOtherFlags ? 2 : 1;
  });
  return topics;
}

CommandSpec DescribeCommand(const CLI::App& app) {
  std::string prefix;
  for (const CLI::App* above = app.get_parent(); above != nullptr; above = above->get_parent()) {
    prefix = absl::StrCat(above->get_name(), " ", prefix);
  }
  return Describe(app, prefix);
}

std::string FullName(const FlagSpec& flag) {
  if (flag.names.empty()) return flag.positional;
  return absl::StrCat(absl::StrJoin(flag.names, ", "), flag.value.empty() ? "" : " ", flag.value,
                      flag.repeats && !flag.value.ends_with("...") ? "..." : "");
}

std::string FullDescription(const FlagSpec& flag) {
  std::vector<std::string> notes;
  if (flag.is_required) notes.push_back("required");
  if (!flag.default_value.empty()) notes.push_back("default: " + flag.default_value);
  if (!flag.needs.empty()) notes.push_back("needs " + absl::StrJoin(flag.needs, ", "));
  if (!flag.excludes.empty()) notes.push_back("not with " + absl::StrJoin(flag.excludes, ", "));
  if (notes.empty()) return flag.description;
  return absl::StrCat(flag.description, " (", absl::StrJoin(notes, "; "), ")");
}

}  // namespace shortlist
