#include "sketch/sketch.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "cli/decode_all.h"
#include "cli/flags/flag_kinds.h"
#include "cli/flags/flags.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/vocab/used_files.h"
#include "cli/vocab/vocab.h"
#include "draft/engine_options.h"
#include "kernels/quant.h"
#include "kernels/sketch.h"
#include "runtime/sketch_file.h"
#include "sketch/sketch_basis.h"

namespace shortlist {
namespace {

constexpr int64_t kFewStates = 2000;

struct SketchFlags {
  RunFlags run;
  std::string out;
  int64_t rank = 0;  // SketchBasis::DefaultRank
};

absl::Status MakeSketch(const SketchFlags& flags, std::ostream& out) {
  if (flags.run.models.draft.empty()) {
    return absl::InvalidArgumentError("vocab sketch needs --draft, whose head it is to sketch");
  }
  if (flags.out.empty()) return absl::InvalidArgumentError("--out an empty name of a file");
  SHORTLIST_RETURN_IF_ERROR(CheckOutputs({{"--out", flags.out}}, FilesOf(flags.run)));
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Open(flags.run));
  SHORTLIST_RETURN_IF_ERROR(session->models().CheckSketch());
  DecodingOptions decoding = session->decoding();
  decoding.ladder = nullptr;
  decoding.base = nullptr;  // the full head: a choice of rows must not affect the states
  decoding.sketch = nullptr;
  decoding.sketch_alone = false;
  decoding.learning = nullptr;
  // Drafts whether it pays or not: without a draft there are no states.
  if (!decoding.draft_p_min) decoding.draft_p_min = EngineOptions().draft_p_min;
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, OpenEngine(*session, decoding));
  StateMoments moments;
  engine->drafter()->CollectStates(&moments);
  Progress progress("prompt", std::ssize(session->requests()));
  DecodeObserver observer;
  observer.on_finish = [&progress](size_t, const Completion&) { progress.Advance(); };
  SHORTLIST_RETURN_IF_ERROR(
      DecodeAll(*engine, *session, session->requests(), /*max_tail_rows=*/0, observer).status());
  NoteDraftTrouble("vocab sketch", *engine, /*num_mapping_faults=*/0);

  if (moments.num_states() < kFewStates) {
    std::cerr << "vocab sketch: " << Counted(moments.num_states(), "hidden state") << "; "
              << kFewStates
              << " or more make a better sketch: give more prompts or more --max-new-tokens\n";
  }
  const HeadWeight head = session->models().draft_head();
  const int64_t num_rows = std::min(session->models().num_ids(), head.vocab_size);
  const int64_t rank = flags.rank > 0 ? flags.rank : SketchBasis::DefaultRank(head.hidden);
  SHORTLIST_ASSIGN_OR_RETURN(const SketchBasis basis,
                             SketchBasis::Fit(head, num_rows, rank, &moments, session->pool()));
  SHORTLIST_ASSIGN_OR_RETURN(const std::shared_ptr<const Sketch> sketch,
                             Sketch::Create(basis, head, num_rows, session->pool()));
  SHORTLIST_RETURN_IF_ERROR(WriteSketchFile(basis, flags.out));
  out << flags.out << ": rank " << basis.rank() << " of " << basis.hidden() << ", from "
      << Counted(moments.num_states(), "hidden state") << "; a draft step reads " << sketch->bytes()
      << " bytes of it, " << head.vocab_size * RowBytes(head.dtype, head.hidden)
      << " of the full head\n";
  return absl::OkStatus();
}

}  // namespace

VocabSubcommand AddVocabSketch(CLI::App& vocab) {
  CLI::App* const app = vocab.add_subcommand(
      "sketch", "Fit a sketch of the draft's head to the hidden states of a calibration run");
  const auto flags = std::make_shared<SketchFlags>();
  AddRunFlags(*app, flags->run);
  app->add_option("--out", flags->out, "Where the sketch goes")->type_name("FILE")->required();
  AddInteger<int64_t>(*app, "--rank", flags->rank, kSketchStep, kMaxSketchRank,
                      "Numbers that stand for a row, a multiple of 8")
      ->default_str("an eighth of a row, at least 64");
  return {app, [flags](std::istream&, std::ostream& out) { return MakeSketch(*flags, out); }};
}

}  // namespace shortlist
