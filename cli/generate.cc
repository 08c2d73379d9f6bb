#include "cli/generate.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status_macros.h"
#include "cli/completion_writer.h"
#include "cli/decode_all.h"
#include "cli/progress.h"
#include "cli/session.h"

namespace shortlist {

absl::Status Generate(const RunFlags& flags, std::ostream& out) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Open(flags));
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                             OpenEngine(*session, session->decoding()));

  const auto format =
      flags.json ? CompletionWriter::Format::kJson : CompletionWriter::Format::kText;
  CompletionWriter writer(session->models().tokenizer(), session->requests(), format, out);
  Progress progress("prompts", static_cast<int64_t>(session->requests().size()));
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
      DecodeAll(*engine, *session, session->requests(), flags.dynamic_rows, observer));

  int64_t num_mapping_faults = 0;
  for (const Completion& completion : completions) {
    num_mapping_faults += completion.stats.num_mapping_faults;
  }
  NoteDraftTrouble("generate", engine->speculative(), num_mapping_faults);
  return absl::OkStatus();
}

}  // namespace shortlist
