#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "cli/table.h"
#include "cli/vocab/list_tokenizer.h"
#include "cli/vocab/token_text.h"
#include "cli/vocab/vocab.h"
#include "nlohmann/json.hpp"
#include "vocab/formats/list_file.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

struct ShowListFlags {
  std::string path;
  TokenizerSource tokenizer;
  bool json = false;
};

constexpr int kNumExamples = 12;

/// The content of a list in numbers and words.
struct ListSummary {
  int64_t num_sources_of_successors = 0;  // tokens that have successors
  int64_t most_successors = 0;
  // Share of the counts covered by the ids of `:top=n`, pinned ones first, for n = 256, 512, ...
  // and all ids. Starts at the number of pinned ids.
  std::vector<std::pair<int64_t, double>> curve;
};

ListSummary Summarize(const VocabList& list) {
  ListSummary summary;
  for (const std::vector<TokenId>& of_token : list.successors) {
    summary.num_sources_of_successors += of_token.empty() ? 0 : 1;
    summary.most_successors = std::max(summary.most_successors, std::ssize(of_token));
  }
  const double all = std::accumulate(list.counts.begin(), list.counts.end(), 0.0);
  if (all == 0) return summary;
  std::vector<double> count_of(list.vocab_size);
  for (size_t i = 0; i < list.counts.size(); ++i) {
    count_of[Raw(list.ids[i])] = static_cast<double>(list.counts[i]);
  }
  const std::vector<TokenId> order = list.PinnedFirst();
  double covered = 0;
  int64_t next = 256;
  for (int64_t i = 0; i < std::ssize(order); ++i) {
    covered += count_of[Raw(order[i])];
    const int64_t size = i + 1;
    if (size != next && size != std::ssize(order)) continue;
    if (size >= std::ssize(list.pinned)) summary.curve.emplace_back(size, covered / all);
    next *= 2;
  }
  return summary;
}

std::string Examples(const std::vector<TokenId>& ids, const Tokenizer* tokenizer) {
  std::string text;
  for (int64_t i = 0; i < std::min<int64_t>(std::ssize(ids), kNumExamples); ++i) {
    absl::StrAppend(&text, i > 0 ? " " : "", TokenText(ids[i], tokenizer));
  }
  return text;
}

/// Counts pinned ids by their kind.
std::string PinnedClasses(const VocabList& list, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return absl::StrCat(list.pinned.size());
  int64_t num_control = 0, num_bytes = 0;
  for (const TokenId id : list.pinned) {
    if (tokenizer->IsSpecial(id)) {
      ++num_control;
    } else if (tokenizer->TokenBytes(id).size() == 1) {
      ++num_bytes;
    }
  }
  return absl::StrFormat("%d: %s, %s, %s", list.pinned.size(),
                         Counted(num_control, "control token"), Counted(num_bytes, "single byte"),
                         Counted(std::ssize(list.pinned) - num_control - num_bytes, "other"));
}

void WriteText(const VocabList& list, const ListSummary& summary, const Tokenizer* tokenizer,
               std::ostream& out) {
  const auto line = [&out](const char* name, const std::string& value) {
    out << absl::StrFormat("%-12s  %s\n", name, VisibleText(value));
  };
  line("ids", absl::StrFormat(
                  "%d of %d (%.2f%%), %s", list.NumIds(), list.vocab_size,
                  100.0 * static_cast<double>(list.NumIds()) / static_cast<double>(list.vocab_size),
                  list.ranked ? "ranked" : "without ranks"));
  line("pinned", PinnedClasses(list, tokenizer));
  line("successors", absl::StrFormat("%d, after %s, at most %d of one", list.NumSuccessors(),
                                     Counted(summary.num_sources_of_successors, "token"),
                                     summary.most_successors));
  line("fingerprint", list.fingerprint.empty() ? "none" : list.fingerprint);
  line("of its ids", list.ids_fingerprint.empty() ? "none" : list.ids_fingerprint);
  line("source", list.source.empty() ? "not stated" : list.source);
  line("first", Examples(list.ids, tokenizer));
  std::vector<TokenId> last(list.ids.end() - std::min<int64_t>(std::ssize(list.ids), kNumExamples),
                            list.ids.end());
  line("last", Examples(last, tokenizer));
  if (summary.curve.empty()) return;
  std::vector<std::vector<std::string>> rows;
  for (const auto& [size, share] : summary.curve) {
    rows.push_back({absl::StrCat(":top=", size), FormatFixed(100 * share, 2) + "%"});
  }
  out << "\n" << FormatTable({"ids, pinned first", "of its counts"}, rows);
}

void WriteJson(const VocabList& list, const ListSummary& summary, std::ostream& out) {
  ordered_json object = {{"vocab_size", list.vocab_size},
                         {"num_ids", list.NumIds()},
                         {"ranked", list.ranked},
                         {"num_pinned", list.pinned.size()},
                         {"num_successors", list.NumSuccessors()},
                         {"most_successors", summary.most_successors},
                         {"fingerprint", list.fingerprint},
                         {"ids_fingerprint", list.ids_fingerprint},
                         {"source", list.source},
                         {"curve", ordered_json::array()}};
  for (const auto& [size, share] : summary.curve) {
    object["curve"].push_back({{"num_ids", size}, {"share", share}});
  }
  out << object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << "\n";
}

absl::Status ShowList(const ShowListFlags& flags, std::ostream& out) {
  std::optional<ListTokenizer> tokenizer;
  VocabTarget target;
  if (flags.tokenizer.is_given()) {
    SHORTLIST_ASSIGN_OR_RETURN(tokenizer, ListTokenizer::Open(flags.tokenizer));
    target = tokenizer->target();
  }
  SHORTLIST_ASSIGN_OR_RETURN(const VocabList list, ReadListFile(flags.path, target));
  const ListSummary summary = Summarize(list);
  if (flags.json) {
    WriteJson(list, summary, out);
  } else {
    WriteText(list, summary, tokenizer ? &tokenizer->tokenizer() : nullptr, out);
  }
  return absl::OkStatus();
}

}  // namespace

VocabSubcommand AddVocabShow(CLI::App& vocab) {
  CLI::App* const app = vocab.add_subcommand("show", "Show what a list holds");
  const auto flags = std::make_shared<ShowListFlags>();
  app->add_option("list", flags->path, "A list in any format")->required()->type_name("LIST");
  AddTokenizerFlags(*app, flags->tokenizer, /*is_required=*/false);
  app->add_flag("--json", flags->json, "JSON instead of text");
  return {app, [flags](std::istream&, std::ostream& out) { return ShowList(*flags, out); }};
}

}  // namespace shortlist
