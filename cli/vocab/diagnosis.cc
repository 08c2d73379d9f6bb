#include "cli/vocab/diagnosis.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/excerpt.h"
#include "cli/table.h"
#include "cli/vocab/token_text.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

constexpr size_t kNumLostTokens = 12;
constexpr double kGood = 0.95;          // of a script or text: no loss worth a word
constexpr double kWorthMention = 0.01;  // share of all tokens
constexpr double kKept = 0.995;         // of the covered tokens, by a smaller head

std::string Percent(double share) { return absl::StrFormat("%.2f%%", 100.0 * share); }

/// The part with most lost tokens of those that lose much; null if there is none.
template <typename Counts>
const typename Counts::value_type* WorstOf(const Counts& counts, int64_t num_tokens) {
  const typename Counts::value_type* worst = nullptr;
  for (const auto& part : counts) {
    const LossCount& loss = part.second;
    if (loss.coverage() >= kGood ||
        static_cast<double>(loss.num_tokens) < kWorthMention * static_cast<double>(num_tokens)) {
      continue;
    }
    if (worst == nullptr || loss.num_lost > worst->second.num_lost) worst = &part;
  }
  return worst;
}

template <typename Counts>
void AddRows(const char* kind, const Counts& counts, std::vector<std::vector<std::string>>& rows) {
  for (const auto& [name, loss] : counts) {
    rows.push_back({absl::StrCat(kind, Excerpt(name)), absl::StrCat(loss.num_tokens),
                    absl::StrCat(loss.num_lost), Percent(loss.coverage())});
  }
}

template <typename Counts>
ordered_json Json(const Counts& counts) {
  ordered_json rows = ordered_json::array();
  for (const auto& [name, loss] : counts) {
    rows.push_back({{"name", name},
                    {"num_tokens", loss.num_tokens},
                    {"num_lost", loss.num_lost},
                    {"coverage", loss.coverage()}});
  }
  return rows;
}

ordered_json Json(const std::vector<MapFault>& faults) {
  ordered_json rows = ordered_json::array();
  for (const MapFault& fault : faults) {
    rows.push_back({{"code", fault.code}, {"message", fault.message}});
  }
  return rows;
}

}  // namespace

int64_t Diagnosis::NumRowsFor(double share) const {
  std::vector<int64_t> counts;
  int64_t num_covered = loss.total().num_tokens - loss.total().num_lost;
  for (size_t id = 0; id < loss.counts().size(); ++id) {
    if (loss.counts()[id] > 0 && loss.HasRow(id)) counts.push_back(loss.counts()[id]);
  }
  std::ranges::sort(counts, std::greater<>());
  double wanted = share * static_cast<double>(num_covered);
  int64_t num_needed = 0;
  for (; num_needed < std::ssize(counts) && wanted > 0.0; ++num_needed) {
    wanted -= static_cast<double>(counts[num_needed]);
  }
  return num_needed;
}

std::string Diagnosis::Verdict() const {
  const double coverage = loss.total().coverage();
  if (!findings.faults.empty()) {
    return absl::StrFormat(
        "FAULTY: %s. Do not serve this file before %s mended; its acceptance would be low, and "
        "no error would show it.",
        Counted(std::ssize(findings.faults), "fault"),
        findings.faults.size() == 1 ? "that is" : "these are");
  }
  std::string verdict =
      absl::StrFormat("SOUND: the head has rows for %s of the tokens, which bounds its acceptance.",
                      Percent(coverage));
  const auto* const script = WorstOf(loss.of_scripts(), loss.total().num_tokens);
  const auto* const text = WorstOf(loss.of_texts(), loss.total().num_tokens);
  if (script != nullptr || text != nullptr) {
    const auto& [name, part] =
        script != nullptr ? std::pair<std::string, LossCount>(script->first, script->second)
                          : std::pair<std::string, LossCount>(text->first, text->second);
    absl::StrAppend(&verdict, " It loses most in ", Excerpt(name), ", of which ",
                    Percent(part.coverage()),
                    " have a row: rows that were never trained cannot be added, so train with a "
                    "map of such texts (`vocab build --text ... --out map.safetensors`), or draft "
                    "with a head of the whole vocabulary.");
  }
  const int64_t num_needed = NumRowsFor(kKept);
  if (2 * num_needed < num_rows && num_needed > 0) {
    absl::StrAppend(&verdict, " ", num_needed, " of its ", num_rows, " rows hold ",
                    Percent(kKept * coverage), " of these texts: `vocab reslice --rows ",
                    num_needed, "` and more for the pinned tokens makes drafting cheaper.");
  }
  return verdict;
}

void WriteDiagnosis(const Diagnosis& diagnosis, std::ostream& out) {
  out << absl::StrFormat("%s: %s for a vocabulary of %d\n", diagnosis.path,
                         Counted(diagnosis.num_rows, "row"), diagnosis.vocab_size);
  for (const MapFault& fault : diagnosis.findings.faults) {
    out << "fault " << fault.code << ": " << fault.message << "\n";
  }
  for (const MapFault& warning : diagnosis.findings.warnings) {
    out << "warning " << warning.code << ": " << warning.message << "\n";
  }
  std::vector<std::vector<std::string>> rows;
  AddRows("text: ", diagnosis.loss.of_texts(), rows);
  AddRows("script: ", diagnosis.loss.of_scripts(), rows);
  AddRows("category: ", diagnosis.loss.of_categories(), rows);
  out << "\n" << FormatTable({"part of the texts", "tokens", "lost", "with a row"}, rows);
  const std::vector<TextLoss::LostToken> lost = diagnosis.loss.MostLost(kNumLostTokens);
  if (!lost.empty()) out << "\nlost most often:";
  for (const auto& [id, count] : lost) {
    out << absl::StrFormat(" %d %s x%d", Raw(id), TokenText(id, &diagnosis.tokenizer), count);
  }
  out << (lost.empty() ? "\n" : "\n\n") << diagnosis.Verdict() << "\n";
}

void WriteDiagnosisJson(const Diagnosis& diagnosis, std::ostream& out) {
  ordered_json lost = ordered_json::array();
  for (const auto& [id, count] : diagnosis.loss.MostLost(kNumLostTokens)) {
    lost.push_back({{"id", Raw(id)},
                    {"token", std::string(diagnosis.tokenizer.Spelling(id))},
                    {"count", count}});
  }
  const LossCount& total = diagnosis.loss.total();
  const ordered_json object = {{"checkpoint", diagnosis.path},
                               {"num_rows", diagnosis.num_rows},
                               {"vocab_size", diagnosis.vocab_size},
                               {"faults", Json(diagnosis.findings.faults)},
                               {"warnings", Json(diagnosis.findings.warnings)},
                               {"num_tokens", total.num_tokens},
                               {"num_lost", total.num_lost},
                               {"coverage", total.coverage()},
                               {"texts", Json(diagnosis.loss.of_texts())},
                               {"scripts", Json(diagnosis.loss.of_scripts())},
                               {"categories", Json(diagnosis.loss.of_categories())},
                               {"lost", lost},
                               {"num_rows_needed", diagnosis.NumRowsFor(kKept)},
                               {"verdict", diagnosis.Verdict()}};
  out << object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << "\n";
}

}  // namespace shortlist
