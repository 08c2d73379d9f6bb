#include "cli/vocab/coverage_report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/table.h"
#include "cli/vocab/curve_plot.h"
#include "nlohmann/json.hpp"

namespace shortlist {

void WriteCoverageTable(const MeasuredLists& measured, int64_t vocab_size, std::ostream& out) {
  std::vector<std::vector<std::string>> cells;
  for (const Measured& list : measured.lists) {
    for (const auto& [texts, coverage] : list.of_texts) {
      const auto share = [&coverage = coverage](int64_t part) {
        const auto all = static_cast<double>(std::max<int64_t>(coverage.num_tokens, 1));
        return FormatFixed(100.0 * static_cast<double>(part) / all, 2) + "%";
      };
      cells.push_back({absl::StrCat(list.list, " | ", texts), absl::StrCat(coverage.num_tokens),
                       share(coverage.in_base), share(coverage.in_dynamic),
                       share(coverage.in_successors), share(coverage.in_tail),
                       share(coverage.num_covered()), FormatFixed(coverage.rows_per_token(), 0),
                       absl::StrCat(coverage.max_rows),
                       FormatFixed(100.0 * static_cast<double>(coverage.max_rows) /
                                       static_cast<double>(vocab_size),
                                   2) +
                           "%"});
    }
  }
  const std::vector<std::string> header = {"list | texts", "tokens", "base",    "dynamic",
                                           "successors",   "tail",   "covered", "rows/token",
                                           "most rows",    "of all"};
  for (const RefusedList& size : measured.refused) {
    cells.emplace_back(header.size(), "-").front() = absl::StrCat(size.list, " | ", size.why);
  }
  out << FormatTable(header, cells);
}

void WriteCoverageJson(const MeasuredLists& measured, int64_t vocab_size, std::ostream& out) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Measured& list : measured.lists) {
    for (const auto& [texts, coverage] : list.of_texts) {
      rows.push_back({{"list", list.list},
                      {"texts", texts},
                      {"num_tokens", coverage.num_tokens},
                      {"in_base", coverage.in_base},
                      {"in_dynamic", coverage.in_dynamic},
                      {"in_tail", coverage.in_tail},
                      {"in_successors", coverage.in_successors},
                      {"coverage", coverage.covered_share()},
                      {"rows_per_token", coverage.rows_per_token()},
                      {"max_rows", coverage.max_rows}});
    }
  }
  for (const RefusedList& size : measured.refused) {
    rows.push_back({{"list", size.list}, {"error", size.why}});
  }
  const nlohmann::ordered_json object = {{"vocab_size", vocab_size}, {"rows", rows}};
  out << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

std::string CoveragePlot(const MeasuredLists& measured) {
  std::map<std::string, Curve> curves;
  for (const Measured& list : measured.lists) {
    for (const auto& [texts, coverage] : list.of_texts) {
      Curve& curve = curves[texts];
      curve.name = texts.substr(texts.rfind('/') + 1);
      curve.points.emplace_back(coverage.rows_per_token(), 100.0 * coverage.covered_share());
    }
  }
  std::vector<Curve> sorted;
  for (auto& [texts, curve] : curves) {
    std::ranges::sort(curve.points);
    sorted.push_back(std::move(curve));
  }
  return CurvePlot({.plot = "Coverage by the rows of a draft step",
                    .x = "rows of the head that a token's draft step scores",
                    .y = "tokens covered, %"},
                   sorted);
}

}  // namespace shortlist
