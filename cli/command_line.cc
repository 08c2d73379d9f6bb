#include "cli/command_line.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/chat.h"
#include "cli/compare.h"
#include "cli/embed/embed.h"
#include "cli/embed/rerank.h"
#include "cli/embed/search.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/flags/suggest.h"
#include "cli/generate.h"
#include "cli/help/command_spec.h"
#include "cli/help/completion.h"
#include "cli/help/help_text.h"
#include "cli/help/man_page.h"
#include "cli/replay.h"
#include "cli/serve.h"
#include "cli/show.h"
#include "cli/tokenize.h"
#include "cli/version.h"
#include "cli/vocab/vocab.h"

namespace shortlist {
namespace {

constexpr char kGenerating[] = "Generate text";
constexpr char kEncoding[] = "Embed and rank texts";
constexpr char kLists[] = "Models and vocabulary lists";
constexpr char kShell[] = "The shell";

/// Returns the exit code; an error goes to stderr.
int ExitCode(const absl::Status& status) {
  if (!status.ok()) std::cerr << "shortlist: " << status.message() << "\n";
  return ExitCodeOf(status);
}

/// Flushes standard output. Returns `code`, or kExitFailed if it was kExitOk and output was lost.
int FlushOutput(int code) {
  std::cout.flush();
  if (code != kExitOk || std::cout) return code;
  std::cerr << "shortlist: cannot write to standard output\n";
  return kExitFailed;
}

int RunCompare(const CompareFlags& flags) {
  const absl::StatusOr<bool> identical = Compare(flags, std::cout);
  if (!identical.ok() || *identical) return ExitCode(identical.status());
  std::cerr << "shortlist: an output differs from plain decoding\n";
  return kExitFailed;
}

int RunChatCommand(const ChatFlags& flags) {
  const bool is_interactive = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  return ExitCode(RunChat(flags, is_interactive, std::cin, std::cout));
}

}  // namespace

template <typename Flags>
void CommandLine::Add(const std::string& topic, const std::string& name,
                      const std::string& description, void (*add_flags)(CLI::App&, Flags&),
                      std::function<int(const Flags&)> run) {
  CLI::App* const command = app_.add_subcommand(name, description)->group(topic);
  const auto flags = std::make_shared<Flags>();
  add_flags(*command, *flags);
  commands_.push_back({command, [flags, run = std::move(run)] { return run(*flags); }});
}

CommandLine::CommandLine()
    : app_("Speculative decoding with a vocabulary-pruned draft", "shortlist") {
  app_.require_subcommand(1);
  app_.set_version_flag("--version", std::string("shortlist ") + kVersion);
  app_.formatter_fn([](const CLI::App* app, const std::string&, CLI::AppFormatMode) {
    return HelpText(DescribeCommand(*app), HelpWidth());
  });
  AddGenerating();
  AddEncoding();
  AddVocabulary();
  AddShell();
}

void CommandLine::AddGenerating() {
  Add<RunFlags>(kGenerating, "generate", "Continue prompts", AddRunFlags,
                [](const RunFlags& flags) { return ExitCode(Generate(flags, std::cout)); });
  Add<ChatFlags>(kGenerating, "chat", "Talk to a model, line by line", AddChatFlags,
                 RunChatCommand);
  Add<ServeFlags>(kGenerating, "serve", "Serve HTTP: OpenAI's and SGLang's APIs", AddServeFlags,
                  [](const ServeFlags& flags) { return ExitCode(Serve(flags)); });
  Add<CompareFlags>(
      kGenerating, "compare",
      "Measure plain decoding against drafting with the full head, a list, and dynamic rows",
      AddCompareFlags, RunCompare);
  Add<ReplayFlags>(kGenerating, "replay",
                   "Serve the requests of an arrival trace and report latencies", AddReplayFlags,
                   [](const ReplayFlags& flags) { return ExitCode(Replay(flags, std::cout)); });
}

void CommandLine::AddEncoding() {
  Add<EmbedFlags>(
      kEncoding, "embed", "Turn texts into vectors", AddEmbedFlags,
      [](const EmbedFlags& flags) { return ExitCode(Embed(flags, std::cin, std::cout)); });
  Add<RerankFlags>(
      kEncoding, "rerank", "Rank texts by a query with a cross-encoder", AddRerankFlags,
      [](const RerankFlags& flags) { return ExitCode(Rerank(flags, std::cin, std::cout)); });
  Add<SearchFlags>(
      kEncoding, "search", "Find the texts that are most like a query", AddSearchFlags,
      [](const SearchFlags& flags) { return ExitCode(Search(flags, std::cin, std::cout)); });
}

void CommandLine::AddVocabulary() {
  CLI::App* const vocab = app_.add_subcommand(
      "vocab", "Make, look at, measure and convert what chooses a draft's rows");
  const auto vocab_command = std::make_shared<VocabCommand>(*vocab);
  vocab->group(kLists);  // set last: its subcommands would inherit it
  commands_.push_back(
      {vocab, [vocab_command] { return ExitCode(vocab_command->Run(std::cin, std::cout)); }});
  Add<ShowFlags>(kLists, "show", "Describe a model directory and this machine", AddShowFlags,
                 [](const ShowFlags& flags) { return ExitCode(Show(flags, std::cout)); });
  Add<TokenizeFlags>(
      kLists, "tokenize", "Turn rows of text into token ids", AddTokenizeFlags,
      [](const TokenizeFlags& flags) { return ExitCode(Tokenize(flags, std::cin, std::cout)); });
  Add<TokenizeFlags>(
      kLists, "detokenize", "Turn rows of token ids into text", AddDetokenizeFlags,
      [](const TokenizeFlags& flags) { return ExitCode(Detokenize(flags, std::cin, std::cout)); });
}

void CommandLine::AddShell() {
  CLI::App* const completion =
      app_.add_subcommand("completion", "Write a script that completes commands and flags");
  completion->require_subcommand(1);
  const auto add = [this](CLI::App& parent, const char* name, const char* description,
                          std::string (*write)(const CommandSpec&)) {
    commands_.push_back({parent.add_subcommand(name, description), [this, write] {
                           std::cout << write(DescribeCommand(app_));
                           return kExitOk;
                         }});
  };
  add(*completion, "bash", "For bash: source <(shortlist completion bash)", BashCompletion);
  add(*completion, "zsh", "For zsh: shortlist completion zsh > DIR_OF_FPATH/_shortlist",
      ZshCompletion);
  completion->group(kShell);
  add(app_, "man-page", "Write the manual page, in troff",
      [](const CommandSpec& program) { return ManPage(program, kVersion); });
  app_.get_subcommand("man-page")->group(kShell);
}

int CommandLine::Run(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return FlushOutput(app_.exit(help));
  } catch (const CLI::ParseError& error) {
    const std::string unexpected = ExplainUnexpected(app_);
    std::cerr << "shortlist: " << (unexpected.empty() ? error.what() : unexpected)
              << "\nRun with --help for the flags.\n";
    return kExitBadInput;
  }
  if (const absl::Status isa = ChooseIsa(std::getenv("SHORTLIST_ISA")); !isa.ok()) {
    return ExitCode(isa);
  }
  int code = kExitOk;
  for (const Command& command : commands_) {
    if (*command.app) code = command.run();
  }
  return FlushOutput(code);
}

}  // namespace shortlist
