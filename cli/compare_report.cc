#include "cli/compare_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/counted.h"
#include "cli/table.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

// A greedy output that repeats a smaller share of its 6-grams does not loop.
constexpr double kFewRepeats = 0.3;

double Ratio(double a, double b) { return b > 0.0 ? a / b : 0.0; }

using Prompts = std::vector<size_t>;  // indices of some prompts

Prompts AllPrompts(const Comparison& comparison) {
  Prompts prompts(comparison.sources.size());
  for (size_t i = 0; i < prompts.size(); ++i) prompts[i] = i;
  return prompts;
}

Prompts FewRepeats(const Comparison& comparison) {
  Prompts prompts = AllPrompts(comparison);
  std::erase_if(prompts, [&](size_t i) {
    return comparison.contenders.front().prompts[i].repetition.share() >= kFewRepeats;
  });
  return prompts;
}

/// Sums over some prompts for one way to decode.
struct Sums {
  double step_seconds = 0.0;
  SequenceStats stats;
  EngineStats engine;
  Repetition repetition;
  bool identical = true;

  double tokens_per_s() const {
    return Ratio(static_cast<double>(stats.num_step_tokens), step_seconds);
  }
  double ms_per_draft_step() const {
    return Ratio(engine.draft_ms, static_cast<double>(engine.num_draft_passes));
  }
  double ms_per_verify() const {
    return Ratio(engine.verify_ms, static_cast<double>(engine.num_steps));
  }
};

Sums Add(const Contender& contender, const Prompts& prompts) {
  Sums sums;
  for (size_t i : prompts) {
    const PromptResult& result = contender.prompts[i];
    sums.step_seconds += result.step_seconds;
    sums.stats.Add(result.stats);
    sums.engine.Add(result.engine);
    sums.repetition.num_ngrams += result.repetition.num_ngrams;
    sums.repetition.num_repeated += result.repetition.num_repeated;
    sums.identical &= result.identical;
  }
  return sums;
}

/// Bytes that a draft step reads of its head at most, including the sketch, relative to the full
/// head.
double HeadShare(const Comparison& comparison, const Contender& contender, const Sums& sums) {
  const bool is_full_head = sums.stats.active_rows >= comparison.contenders[1].base_rows;
  const double sketch_bytes = contender.sketch_rows > 0 && !is_full_head
                                  ? static_cast<double>(comparison.sketch_bytes)
                                  : 0.0;
  const double row_bytes = static_cast<double>(comparison.head_row_bytes);
  return Ratio(static_cast<double>(sums.stats.active_rows) * row_bytes + sketch_bytes,
               static_cast<double>(comparison.head_rows) * row_bytes);
}

void WriteTable(const Comparison& comparison, const Prompts& prompts,
                const std::vector<RefusedContender>& refused, std::ostream& out) {
  const auto percent = [](double share) { return FormatFixed(100.0 * share, 1) + "%"; };
  const double plain_speed = Add(comparison.contenders.front(), prompts).tokens_per_s();
  std::vector<std::vector<std::string>> cells;
  for (const Contender& contender : comparison.contenders) {
    const Sums sums = Add(contender, prompts);
    const auto of_drafts = [&sums](std::string cell) {
      return sums.stats.num_drafted > 0 ? cell : "-";
    };
    const auto of_model = [&sums](std::string cell) {
      return sums.engine.num_draft_passes > 0 ? cell : "-";
    };
    const char* identical = !comparison.comparable ? "n/a" : sums.identical ? "yes" : "NO";
    cells.push_back(
        {contender.name, FormatFixed(sums.tokens_per_s(), 1),
         FormatFixed(Ratio(sums.tokens_per_s(), plain_speed), 2) + "x",
         of_drafts(FormatFixed(sums.stats.draft_length(), 2)),
         of_drafts(FormatFixed(sums.stats.copied_length(), 2)),
         FormatFixed(sums.stats.accept_length(), 2),
         of_drafts(percent(sums.stats.acceptance_rate())), of_model(percent(sums.stats.coverage())),
         of_model(std::to_string(sums.stats.active_rows)),
         of_model(percent(HeadShare(comparison, contender, sums))),
         of_model(FormatFixed(sums.ms_per_draft_step(), 3)), FormatFixed(sums.ms_per_verify(), 3),
         percent(sums.repetition.share()), identical});
  }
  const std::vector<std::string> header = {
      "decoding",      "tok/s",      "speed-up", "draft length", "copied",
      "accept length", "acceptance", "coverage", "active rows",  "head bytes",
      "ms/draft step", "ms/verify",  "repeated", "identical"};
  for (const RefusedContender& contender : refused) {
    cells.emplace_back(header.size(), "-").front() = contender.name + ": " + contender.why;
  }
  out << FormatTable(header, cells);
}

/// Explains coverage: for each source, the share of tokens that no earlier source contained, and
/// the average number of rows that it took of a request's tail.
void WriteSources(const Comparison& comparison, const Prompts& prompts, std::ostream& out) {
  std::vector<std::string> header = {"held by"};
  std::vector<std::vector<std::string>> cells;
  std::vector<bool> is_shown(kNumRowSources);
  for (const Contender& contender : comparison.contenders) {
    const SequenceStats stats = Add(contender, prompts).stats;
    for (size_t source = 0; source < kNumRowSources; ++source) {
      is_shown[source] =
          is_shown[source] || stats.num_held[source] > 0 || stats.num_rows_added[source] > 0;
    }
  }
  for (size_t source = 0; source < kNumRowSources; ++source) {
    if (is_shown[source]) header.emplace_back(RowSourceName(static_cast<RowSource>(source)));
  }
  const bool has_more_than_a_base = std::any_of(is_shown.begin() + Index(RowSource::kShared),
                                                is_shown.end(), [](bool shown) { return shown; });
  if (!has_more_than_a_base) return;
  header.emplace_back("acceptance inside");
  for (const Contender& contender : comparison.contenders) {
    const Sums sums = Add(contender, prompts);
    if (sums.engine.num_draft_passes == 0) continue;
    const SequenceStats& stats = sums.stats;
    std::vector<std::string>& row = cells.emplace_back(std::vector{contender.name});
    for (size_t source = 0; source < kNumRowSources; ++source) {
      if (!is_shown[source]) continue;
      const auto rows = static_cast<double>(stats.num_rows_added[source]);
      row.push_back(FormatFixed(100.0 * Ratio(static_cast<double>(stats.num_held[source]),
                                              static_cast<double>(stats.num_step_tokens)),
                                2) +
                    "%");
      if (rows > 0.0) {
        const double mean = rows / static_cast<double>(prompts.size());
        row.back() += " (" + Counted(std::llround(mean), "row") + ")";
      }
    }
    row.push_back(FormatFixed(100.0 * stats.covered_acceptance_rate(), 1) + "%");
  }
  out << "\n" << FormatTable(header, cells);
}

nlohmann::ordered_json RowJson(const Comparison& comparison, const Contender& contender,
                               const Prompts& prompts) {
  const Sums sums = Add(contender, prompts);
  const double speed = sums.tokens_per_s();
  const auto over = [&](size_t other) {
    return Ratio(speed, Add(comparison.contenders[other], prompts).tokens_per_s());
  };
  nlohmann::ordered_json row = {{"decoding", contender.name},
                                {"base_rows", contender.base_rows},
                                {"dynamic_rows", contender.dynamic_rows},
                                {"successor_rows", contender.successor_rows},
                                {"sketch_rows", contender.sketch_rows},
                                {"num_prompts", prompts.size()},
                                {"num_tokens", sums.stats.num_step_tokens},
                                {"tokens_per_s", speed},
                                {"speed_up", over(0)},
                                {"speed_up_over_full_head", over(1)},
                                {"draft_length", sums.stats.draft_length()},
                                {"copied_length", sums.stats.copied_length()},
                                {"accept_length", sums.stats.accept_length()},
                                {"accept_rate", sums.stats.acceptance_rate()},
                                {"coverage", sums.stats.coverage()},
                                {"covered_accept_rate", sums.stats.covered_acceptance_rate()},
                                {"fallback_steps", sums.stats.num_fallback_steps},
                                {"active_rows", sums.stats.active_rows},
                                {"head_bytes_share", HeadShare(comparison, contender, sums)},
                                {"ms_per_draft_step", sums.ms_per_draft_step()},
                                {"ms_per_verify", sums.ms_per_verify()},
                                {"repeated_6gram_share", sums.repetition.share()},
                                {"identical", nullptr}};
  if (comparison.comparable) row["identical"] = sums.identical;
  nlohmann::ordered_json sources;
  for (size_t source = 0; source < kNumRowSources; ++source) {
    sources[RowSourceName(static_cast<RowSource>(source))] = {
        {"tokens", sums.stats.num_held[source]}, {"rows", sums.stats.num_rows_added[source]}};
  }
  row["sources"] = std::move(sources);
  return row;
}

/// Returns the distinct sources in order of first occurrence.
std::vector<std::string> Sources(const Comparison& comparison) {
  std::vector<std::string> sources;
  for (const std::string& source : comparison.sources) {
    if (source.empty()) continue;
    if (std::find(sources.begin(), sources.end(), source) == sources.end()) {
      sources.push_back(source);
    }
  }
  return sources;
}

}  // namespace

bool AllIdentical(const Comparison& comparison) {
  for (const Contender& contender : comparison.contenders) {
    for (const PromptResult& result : contender.prompts) {
      if (!result.identical) return false;
    }
  }
  return true;
}

void WriteTables(const Comparison& comparison, std::ostream& out) {
  const size_t num_prompts = comparison.sources.size();
  out << Counted(static_cast<int64_t>(num_prompts), "prompt") << ", "
      << Counted(comparison.num_repetitions, "repetition") << ", batch " << comparison.batch << ", "
      << Counted(comparison.num_threads, "thread") << "\n";
  WriteTable(comparison, AllPrompts(comparison), comparison.refused, out);
  WriteSources(comparison, AllPrompts(comparison), out);
  if (!comparison.greedy) return;
  const Prompts few = FewRepeats(comparison);
  if (few.empty() || few.size() == num_prompts) return;
  out << "\n"
      << few.size() << " of them, whose plain output repeats less than "
      << FormatFixed(100.0 * kFewRepeats, 0) << "% of its 6-grams\n";
  WriteTable(comparison, few, /*refused=*/{}, out);
}

void WriteJson(const Comparison& comparison, std::ostream& out) {
  std::vector<std::pair<std::string, Prompts>> groups = {{"all", AllPrompts(comparison)}};
  if (comparison.greedy) groups.emplace_back("few_repeats", FewRepeats(comparison));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto append = [&](const std::string& group, const nlohmann::ordered_json& source,
                          const Prompts& prompts) {
    if (prompts.empty()) return;
    for (const Contender& contender : comparison.contenders) {
      nlohmann::ordered_json row = {{"group", group}, {"source", source}};
      row.update(RowJson(comparison, contender, prompts));
      rows.push_back(std::move(row));
    }
  };
  for (const auto& [group, prompts] : groups) {
    append(group, nullptr, prompts);
    for (const std::string& source : Sources(comparison)) {
      Prompts some = prompts;
      std::erase_if(some, [&](size_t i) { return comparison.sources[i] != source; });
      append(group, source, some);
    }
  }
  for (const RefusedContender& refused : comparison.refused) {
    rows.push_back({{"group", "all"},
                    {"source", nullptr},
                    {"decoding", refused.name},
                    {"error", refused.why}});
  }
  const nlohmann::ordered_json report = {
      {"num_prompts", comparison.sources.size()},
      {"repetitions", comparison.num_repetitions},
      {"batch", comparison.batch},
      {"threads", comparison.num_threads},
      {"temperature", comparison.temperature},
      {"num_draft_tokens", comparison.num_draft_tokens},
      {"draft_p_min",
       comparison.draft_p_min ? nlohmann::ordered_json(*comparison.draft_p_min) : nullptr},
      {"suffix_drafts", comparison.suffix_drafts},
      {"max_new_tokens", comparison.max_new_tokens},
      {"rows", std::move(rows)}};
  out << report.dump() << "\n";
}

}  // namespace shortlist
