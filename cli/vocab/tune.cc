#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/decode_all.h"
#include "cli/flags/flag_kinds.h"
#include "cli/flags/flags.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/vocab/curve_plot.h"
#include "cli/vocab/head_time.h"
#include "cli/vocab/process_memory.h"
#include "cli/vocab/sizes_flag.h"
#include "cli/vocab/used_files.h"
#include "cli/vocab/vocab.h"
#include "kernels/quant.h"
#include "nlohmann/json.hpp"
#include "runtime/decoding.h"
#include "runtime/engine.h"
#include "runtime/models.h"
#include "vocab/active_vocab.h"

namespace shortlist {
namespace {

constexpr int64_t kSmallestSize = 128;
constexpr int64_t kMaxRuns = 1000;
constexpr int64_t kHeadRounds = 101;  // calls of each head

struct TuneFlags {
  RunFlags run;
  std::vector<int64_t> sizes;  // empty: powers of two that the list contains
  int64_t num_repetitions = 3;
  std::string svg_path;
};

/// The list at one size, or the full head, and its measurements.
struct Candidate {
  int64_t num_ids = 0;   // 0: the full head
  int64_t num_rows = 0;  // scored by a draft step at most
  HeadCall head;
  double head_ms = 0.0;    // of one call of the head alone, for one token
  int64_t peak_bytes = 0;  // of the process, if this were the only one; 0: unknown
  std::unique_ptr<Engine> engine;
  std::vector<double> seconds;  // [prompts], of the fastest repetition
  SequenceStats stats;          // of one repetition
  EngineStats steps;            // of all

  double tokens_per_s() const {
    double all = 0;
    for (const double of_prompt : seconds) all += of_prompt;
    return all > 0 ? static_cast<double>(stats.num_step_tokens) / all : 0.0;
  }
  double ms_per_draft_step() const {
    return steps.num_draft_passes > 0 ? steps.draft_ms / static_cast<double>(steps.num_draft_passes)
                                      : 0.0;
  }
};

/// A size that the list does not have, and the reason.
struct RefusedSize {
  int64_t num_ids = 0;
  std::string why;
};

absl::StatusOr<Candidate> OpenCandidate(Session& session, int64_t num_ids,
                                        std::shared_ptr<const VocabBase> base) {
  DecodingOptions decoding = session.decoding();
  decoding.ladder = nullptr;  // each size is a separate candidate
  decoding.min_sketch_rows = 0;
  decoding.base = std::move(base);
  Candidate candidate{.num_ids = num_ids};
  candidate.num_rows = decoding.base->is_full_head()
                           ? session.models().draft_head().vocab_size
                           : decoding.base->size() + decoding.base->max_successors() +
                                 session.flags().dynamic_rows +
                                 (decoding.sketch != nullptr ? decoding.num_sketch_rows : 0);
  candidate.head = {.base = decoding.base,
                    .num_own_rows = session.flags().dynamic_rows + decoding.base->max_successors(),
                    .sketch = decoding.base->is_full_head() ? nullptr : decoding.sketch,
                    .num_sketch_rows = decoding.num_sketch_rows};
  SHORTLIST_ASSIGN_OR_RETURN(candidate.engine, OpenEngine(session, decoding));
  return candidate;
}

/// Returns the sizes of the list that are powers of two, and its full size.
absl::StatusOr<std::vector<int64_t>> SizesOf(const Session& session) {
  VocabOptions options = session.flags().vocab;
  options.successors.reset();
  SHORTLIST_ASSIGN_OR_RETURN(const auto whole, session.models().SelectBase(options));
  std::vector<int64_t> sizes;
  for (int64_t size = kSmallestSize; size < whole->size(); size *= 2) {
    options.top_n = size;
    // A size that is too small for the pinned ids is left out.
    if (session.models().SelectBase(options).ok()) sizes.push_back(size);
  }
  sizes.push_back(whole->size());
  return sizes;
}

int64_t TailRows(const Session& session, const Candidate& candidate) {
  return candidate.num_ids == 0 ? 0 : session.flags().dynamic_rows;
}

/// Opens one more candidate and warms it up on one prompt. The memory that this adds is what the
/// candidate needs besides the models, which were loaded before the first.
absl::Status AddCandidate(Session& session, int64_t num_ids, std::shared_ptr<const VocabBase> base,
                          int64_t models_bytes, std::vector<Candidate>& candidates) {
  const bool is_reset = ProcessMemory::ResetPeak();
  const int64_t before = ProcessMemory::Read().resident_bytes;
  SHORTLIST_ASSIGN_OR_RETURN(candidates.emplace_back(),
                             OpenCandidate(session, num_ids, std::move(base)));
  Candidate& candidate = candidates.back();
  const auto one = std::span(session.requests()).first(1);
  SHORTLIST_RETURN_IF_ERROR(
      DecodeAll(*candidate.engine, session, one, TailRows(session, candidate), {}, "warm up")
          .status());
  if (is_reset) {
    candidate.peak_bytes = models_bytes + ProcessMemory::Read().peak_bytes - before;
  }
  return absl::OkStatus();
}

/// Opens the full head, then the list at each of `sizes`; sizes that it does not have go to
/// `refused`. InvalidArgument if it has none of them.
absl::StatusOr<std::vector<Candidate>> OpenCandidates(Session& session,
                                                      const std::vector<int64_t>& sizes,
                                                      std::vector<RefusedSize>& refused) {
  const int64_t models_bytes = ProcessMemory::Read().resident_bytes;
  std::vector<Candidate> candidates;
  VocabOptions options;  // the full head
  SHORTLIST_ASSIGN_OR_RETURN(auto full_head, session.models().SelectBase(options));
  SHORTLIST_RETURN_IF_ERROR(
      AddCandidate(session, /*num_ids=*/0, std::move(full_head), models_bytes, candidates));
  options = session.flags().vocab;
  for (const int64_t size : sizes) {
    options.top_n = size;
    auto base = session.models().SelectBase(options);
    if (!base.ok()) {
      refused.push_back({size, std::string(base.status().message())});
      continue;
    }
    SHORTLIST_RETURN_IF_ERROR(
        AddCandidate(session, size, *std::move(base), models_bytes, candidates));
  }
  if (candidates.size() == 1) return absl::InvalidArgumentError(refused.front().why);
  return candidates;
}

absl::Status TimeHeads(Session& session, std::vector<Candidate>& candidates) {
  std::vector<HeadCall> calls;
  for (const Candidate& candidate : candidates) calls.push_back(candidate.head);
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<double> ms,
                             HeadMs(session.models(), calls, kHeadRounds));
  for (size_t i = 0; i < candidates.size(); ++i) candidates[i].head_ms = ms[i];
  return absl::OkStatus();
}

/// Interleaved, so that a slowdown of the machine affects all candidates.
absl::Status RunCandidates(const Session& session, int64_t num_repetitions,
                           std::vector<Candidate>& candidates) {
  const std::span<const Session::Request> requests = session.requests();
  Progress progress("run", num_repetitions * std::ssize(requests) * std::ssize(candidates));
  for (int64_t repetition = 0; repetition < num_repetitions; ++repetition) {
    for (size_t i = 0; i < requests.size(); ++i) {
      for (Candidate& candidate : candidates) {
        SHORTLIST_ASSIGN_OR_RETURN(
            const std::vector<Completion> done,
            DecodeAll(*candidate.engine, session, requests.subspan(i, 1),
                      TailRows(session, candidate), {}, absl::StrCat("repetition ", repetition)));
        if (repetition == 0) {
          candidate.stats.Add(done[0].stats);
          candidate.seconds.push_back(done[0].step_seconds);
        }
        candidate.seconds[i] = std::min(candidate.seconds[i], done[0].step_seconds);
        candidate.steps.Add(done[0].engine);
        progress.Advance();
      }
    }
  }
  return absl::OkStatus();
}

/// Bytes that a draft step reads at most, including the sketch.
int64_t HeadBytes(const Candidate& candidate, int64_t row_bytes) {
  const int64_t of_sketch = candidate.head.sketch != nullptr ? candidate.head.sketch->bytes() : 0;
  return candidate.num_rows * row_bytes + of_sketch;
}

/// The measurements, ready to be written.
struct Tuning {
  std::vector<Candidate> candidates;
  std::vector<RefusedSize> refused;
  int64_t row_bytes = 0;  // of the draft's head

  const Candidate& best() const {
    return *std::ranges::max_element(candidates, {}, &Candidate::tokens_per_s);
  }
};

void WriteJson(const Tuning& tuning, std::ostream& out) {
  nlohmann::ordered_json object = {{"best_num_ids", tuning.best().num_ids},
                                   {"rows", nlohmann::ordered_json::array()}};
  for (const Candidate& candidate : tuning.candidates) {
    object["rows"].push_back({{"num_ids", candidate.num_ids},
                              {"num_rows", candidate.num_rows},
                              {"head_bytes", HeadBytes(candidate, tuning.row_bytes)},
                              {"head_ms", candidate.head_ms},
                              {"peak_bytes", candidate.peak_bytes},
                              {"ms_per_draft_step", candidate.ms_per_draft_step()},
                              {"accept_length", candidate.stats.accept_length()},
                              {"accept_rate", candidate.stats.acceptance_rate()},
                              {"coverage", candidate.stats.coverage()},
                              {"tokens_per_s", candidate.tokens_per_s()}});
  }
  for (const RefusedSize& size : tuning.refused) {
    object["rows"].push_back({{"num_ids", size.num_ids}, {"error", size.why}});
  }
  out << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

void WriteTable(const Tuning& tuning, std::ostream& out) {
  const std::vector<std::string> header = {
      "list",       "most rows", "head MB/step", "ms/head", "ms/draft step", "accept length",
      "acceptance", "coverage",  "tok/s",        "peak MB", "best"};
  std::vector<std::vector<std::string>> cells;
  const Candidate& best = tuning.best();
  for (const Candidate& candidate : tuning.candidates) {
    const auto head_bytes = static_cast<double>(HeadBytes(candidate, tuning.row_bytes));
    cells.push_back(
        {candidate.num_ids == 0 ? "full head" : absl::StrCat("top ", candidate.num_ids),
         absl::StrCat(candidate.num_rows), FormatFixed(head_bytes / 1e6, 2),
         FormatFixed(candidate.head_ms, 3), FormatFixed(candidate.ms_per_draft_step(), 3),
         FormatFixed(candidate.stats.accept_length(), 2),
         FormatFixed(100 * candidate.stats.acceptance_rate(), 1) + "%",
         FormatFixed(100 * candidate.stats.coverage(), 2) + "%",
         FormatFixed(candidate.tokens_per_s(), 1),
         candidate.peak_bytes > 0 ? FormatFixed(static_cast<double>(candidate.peak_bytes) / 1e6, 0)
                                  : "-",
         &candidate == &best ? "*" : ""});
  }
  for (const RefusedSize& size : tuning.refused) {
    std::vector<std::string>& row = cells.emplace_back(header.size(), "-");
    row.front() = absl::StrCat("top ", size.num_ids, ": ", size.why);
    row.back().clear();
  }
  out << FormatTable(header, cells);
  out << absl::StrFormat("\nbest: %s, %.1f tok/s\n",
                         best.num_ids == 0 ? "the full head" : absl::StrCat(":top=", best.num_ids),
                         best.tokens_per_s());
  out << "A size saves bytes read per draft step (head MB/step), not memory: the whole head stays "
         "in "
         "it, hence nearly the same peak MB.\n";
}

std::string Plot(const std::vector<Candidate>& candidates) {
  Curve speed{.name = "tok/s"};
  for (const Candidate& candidate : candidates) {
    speed.points.emplace_back(static_cast<double>(candidate.num_rows), candidate.tokens_per_s());
  }
  std::ranges::sort(speed.points);
  return CurvePlot({.plot = "Decoding speed by the size of the list",
                    .x = "rows of a draft step",
                    .y = "tokens per second"},
                   {speed});
}

absl::Status Tune(const TuneFlags& flags, std::ostream& out) {
  if (flags.run.models.draft.empty()) return absl::InvalidArgumentError("tune needs --draft");
  const VocabOptions& list = flags.run.vocab;
  if (list.custom_vocab_path.empty() || list.top_n || list.ratio || list.coverage ||
      list.auto_size) {
    return absl::InvalidArgumentError(
        "tune needs --vocab FILE[:successors=M], without :top, :ratio, :coverage, :auto");
  }
  SHORTLIST_RETURN_IF_ERROR(CheckOutputs({{"--svg", flags.svg_path}}, FilesOf(flags.run)));
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Open(flags.run));
  std::vector<int64_t> sizes = flags.sizes;
  if (sizes.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(sizes, SizesOf(*session));
  }
  if (session->requests().empty()) return absl::InvalidArgumentError("tune needs prompts");
  const HeadWeight head = session->models().draft_head();
  Tuning tuning{.row_bytes = static_cast<int64_t>(RowBytes(head.dtype, head.hidden))};
  std::vector<Candidate>& candidates = tuning.candidates;
  SHORTLIST_ASSIGN_OR_RETURN(candidates, OpenCandidates(*session, sizes, tuning.refused));
  SHORTLIST_RETURN_IF_ERROR(TimeHeads(*session, candidates));
  SHORTLIST_RETURN_IF_ERROR(RunCandidates(*session, flags.num_repetitions, candidates));
  for (const Candidate& candidate : candidates) {
    NoteDraftTrouble(absl::StrCat("top ", candidate.num_ids), *candidate.engine,
                     candidate.stats.num_mapping_faults);
  }
  if (!flags.svg_path.empty()) {
    SHORTLIST_RETURN_IF_ERROR(WriteFileAtomically(flags.svg_path, Plot(candidates)));
  }
  if (flags.run.json) {
    WriteJson(tuning, out);
  } else {
    WriteTable(tuning, out);
  }
  return absl::OkStatus();
}

}  // namespace

VocabSubcommand AddVocabTune(CLI::App& vocab) {
  CLI::App* const app = vocab.add_subcommand(
      "tune", "Find the size of a list that is fastest here, on given prompts");
  const auto flags = std::make_shared<TuneFlags>();
  AddRunFlags(*app, flags->run);
  AddSizesFlag(*app, flags->sizes);
  AddInteger<int64_t>(*app, "--repetitions", flags->num_repetitions, 1, kMaxRuns,
                      "Runs of every prompt with every size; the fastest counts");
  app->add_option("--svg", flags->svg_path, "Writes a plot of speed against rows")
      ->type_name("FILE");
  return {app, [flags](std::istream&, std::ostream& out) { return Tune(*flags, out); }};
}

}  // namespace shortlist
