// The command line: parses flags, runs one subcommand, maps its outcome to an exit code.

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "cli/chat.h"
#include "cli/compare.h"
#include "cli/embed/embed.h"
#include "cli/embed/rerank.h"
#include "cli/embed/search.h"
#include "cli/flags/flags.h"
#include "cli/flags/suggest.h"
#include "cli/generate.h"
#include "cli/replay.h"
#include "cli/serve.h"
#include "cli/show.h"
#include "cli/tokenize.h"
#include "cli/version.h"
#include "cli/vocab/vocab.h"

namespace {

constexpr int kOk = 0;
constexpr int kFailed = 1;    // our own fault, the machine's, or outputs that differ
constexpr int kBadInput = 2;  // usage errors and bad input

int ExitCode(const absl::Status& status) {
  if (status.ok()) return kOk;
  std::cerr << "shortlist: " << status.message() << "\n";
  return absl::IsInternal(status) || absl::IsUnknown(status) ? kFailed : kBadInput;
}

/// A descriptor that is closed at the start would become that of a file or a client, and what is
/// written to stderr would go there. These fail instead, as they would have.
void HoldStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest that is free, which is this one. Without /dev/null it stays as it was.
    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int Run(int argc, char** argv) {
  CLI::App app("Speculative decoding with a vocabulary-pruned draft", "shortlist");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("shortlist ") + shortlist::kVersion);
  shortlist::RunFlags generate_flags;
  shortlist::CompareFlags compare_flags;
  CLI::App* generate = app.add_subcommand("generate", "Continue prompts");
  CLI::App* compare = app.add_subcommand(
      "compare",
      "Measure plain decoding against drafting with the full head, a list, and dynamic rows");
  shortlist::AddRunFlags(*generate, generate_flags);
  shortlist::AddCompareFlags(*compare, compare_flags);
  shortlist::ChatFlags chat_flags;
  CLI::App* chat = app.add_subcommand("chat", "Talk to a model, line by line");
  shortlist::AddChatFlags(*chat, chat_flags);
  shortlist::ReplayFlags replay_flags;
  CLI::App* replay =
      app.add_subcommand("replay", "Serve the requests of an arrival trace and report latencies");
  shortlist::AddReplayFlags(*replay, replay_flags);
  shortlist::ServeFlags serve_flags;
  CLI::App* serve = app.add_subcommand("serve", "Serve HTTP: OpenAI's and SGLang's APIs");
  shortlist::AddServeFlags(*serve, serve_flags);
  shortlist::ShowFlags show_flags;
  CLI::App* show = app.add_subcommand("show", "Describe a model directory and this machine");
  shortlist::AddShowFlags(*show, show_flags);
  shortlist::TokenizeFlags tokenize_flags, detokenize_flags;
  CLI::App* tokenize = app.add_subcommand("tokenize", "Turn rows of text into token ids");
  CLI::App* detokenize = app.add_subcommand("detokenize", "Turn rows of token ids into text");
  shortlist::AddTokenizeFlags(*tokenize, tokenize_flags);
  shortlist::AddDetokenizeFlags(*detokenize, detokenize_flags);
  shortlist::EmbedFlags embed_flags;
  CLI::App* embed = app.add_subcommand("embed", "Turn texts into vectors");
  shortlist::AddEmbedFlags(*embed, embed_flags);
  shortlist::RerankFlags rerank_flags;
  CLI::App* rerank = app.add_subcommand("rerank", "Rank texts by a query with a cross-encoder");
  shortlist::AddRerankFlags(*rerank, rerank_flags);
  shortlist::SearchFlags search_flags;
  CLI::App* search = app.add_subcommand("search", "Find the texts that are most like a query");
  shortlist::AddSearchFlags(*search, search_flags);
  CLI::App* vocab =
      app.add_subcommand("vocab", "Make, look at, measure and convert what chooses a draft's rows");
  const shortlist::VocabCommand vocab_command(*vocab);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    const std::string unexpected = shortlist::ExplainUnexpected(app);
    std::cerr << "shortlist: " << (unexpected.empty() ? error.what() : unexpected)
              << "\nRun with --help for the flags.\n";
    return kBadInput;
  }

  if (const absl::Status isa = shortlist::ChooseIsa(std::getenv("SHORTLIST_ISA")); !isa.ok()) {
    return ExitCode(isa);
  }
  int code = kOk;
  if (*show) {
    code = ExitCode(shortlist::Show(show_flags, std::cout));
  } else if (*replay) {
    code = ExitCode(shortlist::Replay(replay_flags, std::cout));
  } else if (*chat) {
    const bool is_interactive = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    code = ExitCode(shortlist::RunChat(chat_flags, is_interactive, std::cin, std::cout));
  } else if (*serve) {
    code = ExitCode(shortlist::Serve(serve_flags));
  } else if (*embed) {
    code = ExitCode(shortlist::Embed(embed_flags, std::cin, std::cout));
  } else if (*rerank) {
    code = ExitCode(shortlist::Rerank(rerank_flags, std::cin, std::cout));
  } else if (*search) {
    code = ExitCode(shortlist::Search(search_flags, std::cin, std::cout));
  } else if (*vocab) {
    code = ExitCode(vocab_command.Run(std::cin, std::cout));
  } else if (*tokenize) {
    code = ExitCode(shortlist::Tokenize(tokenize_flags, std::cin, std::cout));
  } else if (*detokenize) {
    code = ExitCode(shortlist::Detokenize(detokenize_flags, std::cin, std::cout));
  } else if (*generate) {
    code = ExitCode(shortlist::Generate(generate_flags, std::cout));
  } else {
    const absl::StatusOr<bool> identical = shortlist::Compare(compare_flags, std::cout);
    code = ExitCode(identical.status());
    if (identical.ok() && !*identical) {
      std::cerr << "shortlist: an output differs from plain decoding\n";
      code = kFailed;
    }
  }
  std::cout.flush();
  if (code == kOk && !std::cout) {
    std::cerr << "shortlist: cannot write to standard output\n";
    code = kFailed;
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  HoldStandardDescriptors();
  // A file that would exceed `ulimit -f` is then a failed write, which says so.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return Run(argc, argv);
  } catch (const std::system_error& error) {
    // Of std::thread, whoever makes one.
    const bool is_thread = error.code() == std::errc::resource_unavailable_try_again;
    std::cerr << "shortlist: "
              << (is_thread ? "the system starts no more threads (ulimit -u, or the container's "
                              "limit of processes): raise it, or give fewer --threads: "
                            : "")
              << error.what() << "\n";
    return is_thread ? kBadInput : kFailed;
  } catch (const std::exception& error) {
    std::cerr << "shortlist: " << error.what() << "\n";
    return kFailed;
  }
}
