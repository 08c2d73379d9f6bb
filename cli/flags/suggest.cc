#include "cli/flags/suggest.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/edit_distance.h"
#include "base/excerpt.h"

namespace shortlist {
namespace {

constexpr size_t kMaxNameBytes = 64;  // compared bytes of a name

/// True if every word of `name` ("max", "tokens") is one of `candidate`'s.
bool HasWordsOf(const std::string& name, const std::string& candidate) {
  const std::vector<std::string> words = absl::StrSplit(candidate, '-', absl::SkipEmpty());
  const std::vector<std::string> wanted = absl::StrSplit(name, '-', absl::SkipEmpty());
  return !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  });
}

/// Returns the candidate most similar to `name`; empty if none is similar.
std::string Closest(const std::string& name, const std::vector<std::string>& candidates) {
  std::string closest;
  size_t least = std::numeric_limits<size_t>::max();
  if (name.size() > kMaxNameBytes) return closest;
  for (const std::string& candidate : candidates) {
    const size_t distance = HasWordsOf(name, candidate) ? 1 : EditDistance(name, candidate);
    const size_t bound = std::max<size_t>(2, std::min(name.size(), candidate.size()) / 3);
    if (distance > bound || distance >= least) continue;
    least = distance;
    closest = candidate;
  }
  return closest;
}

std::vector<std::string> FlagsOf(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  // Groups of options.
  for (const CLI::App* group : command.get_subcommands([](const CLI::App*) { return true; })) {
    const std::vector<std::string> more = FlagsOf(*group);
    flags.insert(flags.end(), more.begin(), more.end());
  }
  return flags;
}

std::string OrNothing(const std::string& closest) {
  return closest.empty() ? "" : absl::StrCat("; did you mean ", closest, "?");
}

}  // namespace

std::string ExplainUnexpected(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  if (rest.empty()) return "";
  const std::string argument = rest.front().substr(0, rest.front().find('='));
  // The subcommand that did not expect the argument: the one without a chosen subcommand.
  const CLI::App* command = &app;
  std::string name;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands()[0];
    absl::StrAppend(&name, name.empty() ? "" : " ", command->get_name());
  }
  std::vector<std::string> names;
  for (const CLI::App* below : command->get_subcommands([](const CLI::App*) { return true; })) {
    if (!below->get_name().empty()) names.push_back(below->get_name());  // else an option group
  }
  const bool is_flag = argument.starts_with('-');
  if (!name.empty() && (names.empty() || is_flag)) {
    return absl::StrCat(name, is_flag ? " has no flag " : " takes no argument ", Excerpt(argument),
                        is_flag ? OrNothing(Closest(argument, FlagsOf(*command))) : "");
  }
  return absl::StrCat("no subcommand ", name.empty() ? "" : name + " ", Excerpt(argument),
                      OrNothing(Closest(argument, names)), "\nThere are ",
                      absl::StrJoin(names, ", "));
}

}  // namespace shortlist
