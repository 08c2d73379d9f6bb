#include "cli/help/help_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace shortlist {
namespace {

constexpr int kLeastWidth = 40, kMostWidth = 120, kUsualWidth = 80;
constexpr size_t kNameIndent = 2;

/// Splits a word longer than `width` after '|' and ',' and before '['; shorter words stay whole.
std::vector<std::string> Pieces(const std::string& word, size_t width) {
  if (word.size() <= width) return {word};
  std::vector<std::string> pieces = {""};
  for (const char c : word) {
    if (c == '[' && !pieces.back().empty()) pieces.emplace_back();
    pieces.back() += c;
    if (c == '|' || c == ',') pieces.emplace_back();
  }
  return pieces;
}

/// Wraps `text` into lines of at most `width` bytes, except for pieces that are longer.
std::vector<std::string> Wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines = {""};
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    bool continues = false;  // a piece that continues the previous one
    for (const std::string& piece : Pieces(std::string(word), width)) {
      std::string& line = lines.back();
      const bool spaced = !line.empty() && !continues;
      if (!line.empty() && line.size() + piece.size() + (spaced ? 1 : 0) > width) {
        lines.push_back(piece);
      } else {
        absl::StrAppend(&line, spaced ? " " : "", piece);
      }
      continues = true;
    }
  }
  return lines;
}

/// Formats an entry of two columns. The second starts on the next line if the first is too wide.
std::string Entry(const std::string& name, const std::string& text, size_t name_width,
                  size_t width) {
  const std::string indent(name_width, ' ');
  std::string out;
  for (const std::string& line : Wrapped(name, width - kNameIndent)) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", std::string(kNameIndent, ' '), line);
  }
  const bool fits = out.size() + 2 <= name_width && out.find('\n') == std::string::npos;
  if (text.empty()) return out + "\n";
  out += fits ? std::string(name_width - out.size(), ' ') : "\n" + indent;
  return absl::StrCat(out, absl::StrJoin(Wrapped(text, width - name_width), "\n" + indent), "\n");
}

std::string Usage(const CommandSpec& command, size_t width) {
  std::string usage = command.path;
  for (const FlagSpec& flag : command.flags) {
    if (flag.positional.empty() && flag.is_required) {
      absl::StrAppend(&usage, " ", flag.names.front(), " ", flag.value);
    }
  }
  usage += " [FLAGS]";
  for (const FlagSpec& flag : command.flags) {
    if (flag.positional.empty()) continue;
    absl::StrAppend(&usage, flag.is_required ? " " : " [", flag.positional,
                    flag.is_required ? "" : "]");
  }
  if (!command.commands.empty()) usage += " COMMAND";
  const std::string label = "Usage: ";
  const std::string indent(label.size(), ' ');
  return absl::StrCat(label, absl::StrJoin(Wrapped(usage, width - label.size()), "\n" + indent),
                      "\n");
}

/// Same as CommandSpec::Topics, but for the subcommands.
std::vector<std::string> CommandTopics(const CommandSpec& command) {
  std::vector<std::string> topics;
  for (const CommandSpec& below : command.commands) {
    if (std::find(topics.begin(), topics.end(), below.topic) == topics.end()) {
      topics.push_back(below.topic);
    }
  }
  return topics;
}

}  // namespace

int HelpWidth() {
  int width = 0;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  const char* const columns = std::getenv("COLUMNS");
  if (width == 0 && (columns == nullptr || !absl::SimpleAtoi(columns, &width))) width = kUsualWidth;
  return std::clamp(width, kLeastWidth, kMostWidth);
}

std::string HelpText(const CommandSpec& command, int width) {
  const auto columns = static_cast<size_t>(width);
  const size_t name_width = std::min<size_t>(28, columns / 3);
  std::string text = absl::StrCat(absl::StrJoin(Wrapped(command.description, columns), "\n"),
                                  "\n\n", Usage(command, columns));
  for (const std::string& topic : CommandTopics(command)) {
    absl::StrAppend(&text, "\n", topic, ":\n");
    for (const CommandSpec& below : command.commands) {
      if (below.topic == topic) text += Entry(below.name, below.description, name_width, columns);
    }
  }
  for (const std::string& topic : command.Topics()) {
    absl::StrAppend(&text, "\n", topic, ":\n");
    for (const FlagSpec& flag : command.flags) {
      if (flag.topic == topic) {
        text += Entry(FullName(flag), FullDescription(flag), name_width, columns);
      }
    }
  }
  if (!command.commands.empty()) {
    const std::string footer = command.path + " COMMAND --help lists the flags of a command.";
    absl::StrAppend(&text, "\n", absl::StrJoin(Wrapped(footer, columns), "\n"), "\n");
  }
  return text;
}

}  // namespace shortlist
