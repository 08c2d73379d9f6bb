#include "cli/help/man_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/exit_code.h"

namespace shortlist {
namespace {

/// Escapes text so that troff prints it literally, also at the beginning of a line. Only ASCII is
/// certain to show.
std::string Literal(const std::string& text) {
  const std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  const bool is_request = escaped.starts_with('.') || escaped.starts_with('\'');
  return is_request ? "\\&" + escaped : escaped;
}

std::string FlagEntry(const FlagSpec& flag) {
  // A long value may break after each of its forms.
  const std::string name =
      absl::StrReplaceAll(Literal(FullName(flag)), {{"|", "|\\:"}, {",", ",\\:"}});
  return absl::StrCat(".TP\n\\fB", name, "\\fR\n", Literal(FullDescription(flag)), "\n");
}

/// Appends a section for each command without subcommands.
void AppendCommands(const CommandSpec& command, std::string& page) {
  if (command.commands.empty()) {
    absl::StrAppend(&page, ".SS ", Literal(command.path), "\n", Literal(command.description),
                    ".\n");
    for (const std::string& topic : command.Topics()) {
      absl::StrAppend(&page, ".PP\n\\fI", Literal(topic), "\\fR\n");
      for (const FlagSpec& flag : command.flags) {
        if (flag.topic == topic) page += FlagEntry(flag);
      }
    }
    return;
  }
  for (const CommandSpec& below : command.commands) AppendCommands(below, page);
}

std::string ExitStatus() {
  return absl::StrCat(".SH EXIT STATUS\n.TP\n", kExitOk, "\nSuccess.\n.TP\n", kExitFailed, "\n",
                      Literal(kExitFailedMeaning), "\n.TP\n", kExitBadInput, "\n",
                      Literal(kExitBadInputMeaning), "\n");
}

constexpr char kEnd[] = R"(.SH ENVIRONMENT
.TP
SHORTLIST_API_KEY, SHORTLIST_ADMIN_KEY
The keys of \fBserve\fR where no flag gives them.
.TP
SHORTLIST_ISA
scalar, avx2, avx512, avx512_bf16 or amx: the instruction set to use.
.TP
COLUMNS
The width of \fB\-\-help\fR where standard output is no terminal.
)";

}  // namespace

std::string ManPage(const CommandSpec& program, const std::string& version) {
  std::string page = absl::StrCat(
      ".TH ", absl::AsciiStrToUpper(program.name), " 1 \"\" \"", program.name, " ", version,
      "\"\n.nh\n.ad l\n.SH NAME\n", program.name, " \\- ", Literal(program.description),
      "\n.SH SYNOPSIS\n.B ", program.name, "\n\\fICOMMAND\\fR [\\fIFLAGS\\fR]\n.br\n.B ",
      program.name, "\n\\fICOMMAND\\fR \\-\\-help\n.SH COMMANDS\n");
  AppendCommands(program, page);
  return page + ExitStatus() + kEnd;
}

}  // namespace shortlist
