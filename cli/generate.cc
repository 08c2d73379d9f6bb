#include "cli/generate.h"

#include <iostream>
#include <iterator>
#include <memory>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "cli/completion_writer.h"
#include "cli/decode_all.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

std::string SpeedNote(const SequenceStats& stats, int64_t num_prompts, double step_seconds) {
  std::string note = Counted(num_prompts, "prompt");
  if (stats.num_step_tokens == 0 || step_seconds <= 0) return note + ", no decode step";
  absl::StrAppendFormat(&note, ", %.1f tokens/s, accept length %.2f",
                        static_cast<double>(stats.num_step_tokens) / step_seconds,
                        stats.accept_length());
  if (stats.num_forced == 0) return note;
  return absl::StrFormat("%s, forced draft length %.2f", note, stats.forced_length());
}

}  // namespace

absl::Status Generate(const RunFlags& flags, std::ostream& out) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Open(flags));
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                             OpenEngine(*session, session->decoding()));

  const auto format =
      flags.json ? CompletionWriter::Format::kJson : CompletionWriter::Format::kText;
  CompletionWriter writer(session->models().tokenizer(), session->requests(), format, out);
  Progress progress("prompt", static_cast<int64_t>(session->requests().size()));
  DecodeObserver observer;
  observer.on_tokens = [&writer](size_t index, std::span<const TokenId> tokens) {
    writer.OnTokens(index, tokens);
  };
  observer.on_finish = [&writer, &progress](size_t index, const Completion& completion) {
    writer.OnFinish(index, completion);
    progress.Advance();
  };
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::vector<Completion> completions,
      DecodeAll(*engine, *session, session->requests(), session->flags().dynamic_rows, observer));

  SequenceStats stats;
  double step_seconds = 0;
  for (const Completion& completion : completions) {
    stats.Add(completion.stats);
    step_seconds += completion.step_seconds;
  }
  NoteDraftTrouble("generate", *engine, stats.num_mapping_faults);
  std::cerr << "generate: " << SpeedNote(stats, std::ssize(completions), step_seconds) << "\n";
  return absl::OkStatus();
}

}  // namespace shortlist
