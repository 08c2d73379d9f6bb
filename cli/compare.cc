#include "cli/compare.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/lane.h"
#include "cli/progress.h"
#include "cli/repetition.h"
#include "cli/session.h"
#include "cli/table.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

// Each way to decode runs over all prompts this often; speeds are medians over the repetitions.
constexpr int kNumRepetitions = 3;

/// One way to decode, and what its runs came to.
struct Contender {
  std::string name;
  std::unique_ptr<Lane> lane;

  std::vector<double> step_seconds;           // [kNumRepetitions]
  std::vector<int64_t> num_step_tokens;       // [kNumRepetitions]
  SequenceStats total;                        // sums over all runs; active_rows of the longest
  EngineStats engine;                         // sums over all runs
  std::vector<std::vector<TokenId>> outputs;  // [num requests] of the first repetition
  bool identical = true;                      // every output so far had the ids of plain decoding

  double TokensPerSecond(int repetition) const {
    const double seconds = step_seconds[repetition];
    return seconds > 0.0 ? static_cast<double>(num_step_tokens[repetition]) / seconds : 0.0;
  }
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

double Ratio(double a, double b) { return b > 0.0 ? a / b : 0.0; }

absl::StatusOr<std::vector<Contender>> MakeContenders(Session& session) {
  std::vector<Contender> contenders;
  const auto add = [&](std::string name, Lane::Options options) -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Lane> lane, Lane::Create(session, options));
    contenders.push_back({.name = std::move(name), .lane = std::move(lane)});
    return absl::OkStatus();
  };
  SHORTLIST_RETURN_IF_ERROR(add("plain", {}));
  SHORTLIST_RETURN_IF_ERROR(add("draft, full head", {.use_draft = true}));
  if (session.base()) {
    const std::string pruned = absl::StrCat("draft, top ", session.base()->size());
    SHORTLIST_RETURN_IF_ERROR(add(pruned, {.use_draft = true, .base = session.base()}));
    const int64_t dynamic_rows = session.flags().dynamic_rows;
    if (dynamic_rows > 0) {
      SHORTLIST_RETURN_IF_ERROR(
          add(absl::StrCat(pruned, " + ", dynamic_rows, " dynamic"),
              {.use_draft = true, .base = session.base(), .max_tail_rows = dynamic_rows}));
    }
  }
  return contenders;
}

/// Decodes `requests`, whose first is number `first` of all, and adds the results to the repetition
/// under way.
absl::Status RunGroup(Contender& contender, std::span<const Session::Request> requests,
                      size_t first, int repetition) {
  contender.lane->ResetStats();
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<Completion> completions,
                             contender.lane->Run(requests, {}));
  const Lane::Stats stats = contender.lane->stats();
  contender.step_seconds[repetition] += stats.step_seconds;
  contender.engine.num_steps += stats.engine.num_steps;
  contender.engine.num_draft_passes += stats.engine.num_draft_passes;
  contender.engine.num_draft_failures += stats.engine.num_draft_failures;
  contender.engine.draft_ms += stats.engine.draft_ms;
  contender.engine.verify_ms += stats.engine.verify_ms;
  for (size_t i = 0; i < completions.size(); ++i) {
    Completion& completion = completions[i];
    contender.num_step_tokens[repetition] += completion.stats.num_step_tokens;
    contender.total.Add(completion.stats);
    if (repetition == 0) {
      contender.outputs.push_back(std::move(completion.output_ids));
    } else if (completion.output_ids != contender.outputs[first + i]) {
      contender.identical = false;
    }
  }
  return absl::OkStatus();
}

/// Interleaved: each group of --batch prompts runs in every way before the next group starts, so
/// that a machine that slows down slows all of them.
absl::Status RunAll(const Session& session, std::vector<Contender>& contenders) {
  const std::span<const Session::Request> requests = session.requests();
  const auto group_size = static_cast<size_t>(session.flags().batch);
  // Warm up: first touch of the caches, the packed rows, the threads.
  for (Contender& contender : contenders) {
    SHORTLIST_RETURN_IF_ERROR(contender.lane->Run(requests.first(1), {}).status());
  }
  const size_t num_groups = (requests.size() + group_size - 1) / group_size;
  Progress progress("runs", static_cast<int64_t>(kNumRepetitions * num_groups * contenders.size()));
  for (int repetition = 0; repetition < kNumRepetitions; ++repetition) {
    for (Contender& contender : contenders) {
      contender.step_seconds.push_back(0.0);
      contender.num_step_tokens.push_back(0);
    }
    for (size_t first = 0; first < requests.size(); first += group_size) {
      const auto group = requests.subspan(first, std::min(group_size, requests.size() - first));
      for (Contender& contender : contenders) {
        SHORTLIST_RETURN_IF_ERROR(RunGroup(contender, group, first, repetition));
        progress.Advance();
      }
    }
  }
  return absl::OkStatus();
}

/// One line of the result. Values that a way to decode does not have are absent.
struct Row {
  std::string name;
  double tokens_per_s, speed_up, accept_length, acceptance, coverage;
  int64_t active_rows;
  double ms_per_draft_step, ms_per_verify, repeated_share;
  bool drafts, identical;
};

Row Summarise(const Contender& contender, const Contender& plain) {
  std::vector<double> speeds, speed_ups;
  for (int r = 0; r < kNumRepetitions; ++r) {
    speeds.push_back(contender.TokensPerSecond(r));
    // Of the same repetition, so that a slow phase of the machine cancels out.
    speed_ups.push_back(Ratio(speeds.back(), plain.TokensPerSecond(r)));
  }
  Repetition repetition;
  for (const std::vector<TokenId>& output : contender.outputs) {
    const Repetition one = CountRepeatedSixgrams(output);
    repetition.num_ngrams += one.num_ngrams;
    repetition.num_repeated += one.num_repeated;
  }
  const EngineStats& engine = contender.engine;
  return {.name = contender.name,
          .tokens_per_s = Median(speeds),
          .speed_up = Median(speed_ups),
          .accept_length = contender.total.accept_length(),
          .acceptance = contender.total.acceptance_rate(),
          .coverage = contender.total.coverage(),
          .active_rows = contender.total.active_rows,
          .ms_per_draft_step = Ratio(engine.draft_ms, static_cast<double>(engine.num_draft_passes)),
          .ms_per_verify = Ratio(engine.verify_ms, static_cast<double>(engine.num_steps)),
          .repeated_share = Ratio(static_cast<double>(repetition.num_repeated),
                                  static_cast<double>(repetition.num_ngrams)),
          .drafts = engine.num_draft_passes > 0,
          .identical = contender.identical && contender.outputs == plain.outputs};
}

void WriteTable(const std::vector<Row>& rows, bool comparable, std::ostream& out) {
  const auto percent = [](double share) { return FormatFixed(100.0 * share, 1) + "%"; };
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    const auto of_draft = [&row](std::string cell) { return row.drafts ? cell : "-"; };
    cells.push_back({row.name, FormatFixed(row.tokens_per_s, 1), FormatFixed(row.speed_up, 2) + "x",
                     FormatFixed(row.accept_length, 2), of_draft(percent(row.acceptance)),
                     of_draft(percent(row.coverage)), of_draft(std::to_string(row.active_rows)),
                     of_draft(FormatFixed(row.ms_per_draft_step, 3)),
                     FormatFixed(row.ms_per_verify, 3), percent(row.repeated_share),
                     !comparable     ? "n/a"
                     : row.identical ? "yes"
                                     : "NO"});
  }
  out << FormatTable({"decoding", "tok/s", "speed-up", "accept length", "acceptance", "coverage",
                      "active rows", "ms/draft step", "ms/verify", "repeated", "identical"},
                     cells);
}

void WriteJson(const std::vector<Row>& rows, bool comparable, std::ostream& out) {
  for (const Row& row : rows) {
    nlohmann::ordered_json line = {{"decoding", row.name},
                                   {"tokens_per_s", row.tokens_per_s},
                                   {"speed_up", row.speed_up},
                                   {"accept_length", row.accept_length},
                                   {"accept_rate", row.acceptance},
                                   {"coverage", row.coverage},
                                   {"active_rows", row.active_rows},
                                   {"ms_per_draft_step", row.ms_per_draft_step},
                                   {"ms_per_verify", row.ms_per_verify},
                                   {"repeated_6gram_share", row.repeated_share},
                                   {"identical", nullptr}};
    if (comparable) line["identical"] = row.identical;
    out << line.dump() << "\n";
  }
}

}  // namespace

absl::StatusOr<bool> Compare(const RunFlags& flags, std::ostream& out) {
  if (flags.draft_dir.empty()) return absl::InvalidArgumentError("compare needs --draft");
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Open(flags));
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<Contender> contenders, MakeContenders(*session));
  SHORTLIST_RETURN_IF_ERROR(RunAll(*session, contenders));

  const bool comparable = flags.verify == VerifyMode::kCoupled || flags.sampling.greedy();
  std::vector<Row> rows;
  for (const Contender& contender : contenders) {
    rows.push_back(Summarise(contender, contenders.front()));
    NoteDraftTrouble(contender.name, contender.engine.num_draft_failures,
                     contender.total.num_mapping_faults);
  }
  if (flags.json) {
    WriteJson(rows, comparable, out);
  } else {
    out << session->requests().size() << " prompts, " << kNumRepetitions << " repetitions, batch "
        << flags.batch << ", " << flags.num_threads << " threads\n";
    WriteTable(rows, comparable, out);
  }
  return !comparable ||
         std::all_of(rows.begin(), rows.end(), [](const Row& r) { return r.identical; });
}

}  // namespace shortlist
