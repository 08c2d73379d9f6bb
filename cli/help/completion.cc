#include "cli/help/completion.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace shortlist {
namespace {

/// `command` without the program's name: "vocab build"; empty: the program itself.
std::string Below(const CommandSpec& command) {
  const size_t end = command.path.find(' ');
  return end == std::string::npos ? "" : command.path.substr(end + 1);
}

std::vector<std::string> NamesOf(const std::vector<CommandSpec>& commands) {
  std::vector<std::string> names;
  for (const CommandSpec& command : commands) names.push_back(command.name);
  return names;
}

std::vector<std::string> FlagsOf(const CommandSpec& command) {
  std::vector<std::string> names;
  for (const FlagSpec& flag : command.flags) {
    names.insert(names.end(), flag.names.begin(), flag.names.end());
  }
  return names;
}

/// Appends `command`, then all its subcommands.
void Flatten(const CommandSpec& command, std::vector<const CommandSpec*>& all) {
  all.push_back(&command);
  for (const CommandSpec& below : command.commands) Flatten(below, all);
}

/// Pattern of the last typed words: "generate --dtype"|"generate -d".
std::string BashPattern(const CommandSpec& command, const FlagSpec& flag) {
  std::vector<std::string> patterns;
  for (const std::string& name : flag.names) {
    patterns.push_back(absl::StrCat("\"", Below(command), " ", name, "\""));
  }
  return absl::StrJoin(patterns, "|");
}

/// Branches for the values of flags: names to choose from, files, or nothing.
std::string BashValues(const std::vector<const CommandSpec*>& all) {
  std::string branches;
  std::vector<std::string> paths, others;
  for (const CommandSpec* command : all) {
    for (const FlagSpec& flag : command->flags) {
      if (flag.value.empty() || flag.names.empty()) continue;
      const std::string pattern = BashPattern(*command, flag);
      if (!flag.choices.empty()) {
        absl::StrAppend(&branches, "    ", pattern, ")\n      files=\"\" words=\"",
                        absl::StrJoin(flag.choices, " "), "\" ;;\n");
      } else {
        (flag.is_path ? paths : others).push_back(pattern);
      }
    }
  }
  return absl::StrCat(branches, "    ", absl::StrJoin(paths, "|\\\n    "), ")\n      files=1 ;;\n",
                      "    ", absl::StrJoin(others, "|\\\n    "), ")\n      return ;;\n");
}

std::string QuotedForZsh(const std::string& text) {
  return absl::StrReplaceAll(text, {{"'", "'\\''"}});
}

/// Escapes text for a specification of _arguments.
std::string EscapedForZsh(const std::string& text) {
  return QuotedForZsh(
      absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}}));
}

std::string ZshFunction(const CommandSpec& command) {
  return "_" + absl::StrReplaceAll(command.path, {{" ", "_"}, {"-", "_"}});
}

/// Completion of the value of `flag`: ":N:", ":FILE:_files", ":on|off:(on off)".
std::string ZshValue(const FlagSpec& flag) {
  if (flag.value.empty()) return "";
  const std::string action = !flag.choices.empty()
                                 ? absl::StrCat("(", absl::StrJoin(flag.choices, " "), ")")
                             : flag.is_path ? "_files"
                                            : "";
  return absl::StrCat(":", EscapedForZsh(flag.value), ":", action);
}

std::string ZshSpecs(const CommandSpec& command) {
  std::string specs;
  for (const FlagSpec& flag : command.flags) {
    for (const std::string& name : flag.names) {
      absl::StrAppend(&specs, " \\\n    '", flag.repeats ? "*" : "", name, "[",
                      EscapedForZsh(flag.description), "]", ZshValue(flag), "'");
    }
    if (flag.positional.empty()) continue;
    const bool is_optional = !flag.is_required || !flag.names.empty();
    absl::StrAppend(&specs, " \\\n    '", flag.repeats ? "*" : "", is_optional ? "::" : ":",
                    EscapedForZsh(flag.positional), ":", flag.is_path ? "_files" : "", "'");
  }
  return specs;
}

void AppendZshFunctions(const CommandSpec& command, std::string& script) {
  for (const CommandSpec& below : command.commands) AppendZshFunctions(below, script);
  absl::StrAppend(&script, "\n", ZshFunction(command), "() {\n");
  if (command.commands.empty()) {
    absl::StrAppend(&script, "  _arguments", ZshSpecs(command), "\n}\n");
    return;
  }
  absl::StrAppend(&script,
                  "  local context state state_descr line\n  typeset -A opt_args\n"
                  "  local -a commands=(\n");
  for (const CommandSpec& below : command.commands) {
    absl::StrAppend(&script, "    '", below.name, ":", QuotedForZsh(below.description), "'\n");
  }
  absl::StrAppend(&script, "  )\n  _arguments -C", ZshSpecs(command),
                  " \\\n    '1: :->command' '*:: :->rest'\n  case $state in\n"
                  "    command) _describe command commands ;;\n"
                  "    rest)\n      case $line[1] in\n");
  for (const CommandSpec& below : command.commands) {
    absl::StrAppend(&script, "        ", below.name, ") ", ZshFunction(below), " ;;\n");
  }
  script += "      esac ;;\n  esac\n}\n";
}

}  // namespace

std::string BashCompletion(const CommandSpec& program) {
  std::vector<const CommandSpec*> all;
  Flatten(program, all);
  const std::string& name = program.name;
  std::string path, words;  // branches: the command after a word, and its completions
  for (const CommandSpec* command : all) {
    if (command != &program) {
      const std::string below = Below(*command);
      const size_t last = below.rfind(' ');
      const std::string above = last == std::string::npos ? "" : below.substr(0, last);
      absl::StrAppend(&path, "      \"", above, "/", command->name, "\") command=\"", below,
                      "\" ;;\n");
    }
    absl::StrAppend(&words, "    \"", Below(*command), "\")\n      flags=\"",
                    absl::StrJoin(FlagsOf(*command), " "), "\"\n      words=\"",
                    absl::StrJoin(NamesOf(command->commands), " "), "\" ;;\n");
  }
  return absl::StrCat("# Completion for bash, written by: ", name, " completion bash\n_", name,
                      "() {\n"
                      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                      "  local command=\"\" flags=\"\" words=\"\" files=\"\" i\n"
                      "  COMPREPLY=()\n"
                      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
                      "    case \"$command/${COMP_WORDS[i]}\" in\n",
                      path, "    esac\n  done\n  case \"$command\" in\n", words,
                      "  esac\n  [[ -n $words || $cur == -* ]] || files=1\n"
                      "  case \"$command $prev\" in\n",
                      BashValues(all),
                      "    *)\n      [[ $cur == -* ]] && words=$flags ;;\n  esac\n"
                      "  if [[ -n $files ]]; then\n"
                      "    compopt -o filenames 2>/dev/null\n"
                      "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                      "  else\n"
                      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                      "  fi\n}\ncomplete -F _",
                      name, " ", name, "\n");
}

std::string ZshCompletion(const CommandSpec& program) {
  const std::string& name = program.name;
  std::string script = absl::StrCat("#compdef ", name, "\n# Completion for zsh, written by: ", name,
                                    " completion zsh\n");
  AppendZshFunctions(program, script);
  // Loaded by compinit, or sourced.
  return absl::StrCat(script, "\nif [[ ${funcstack[1]} == _", name, " ]]; then\n  _", name,
                      " \"$@\"\nelse\n  compdef _", name, " ", name, "\nfi\n");
}

}  // namespace shortlist
