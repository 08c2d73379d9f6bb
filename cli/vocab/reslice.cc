#include "vocab/formats/reslice.h"

#include <algorithm>
#include <cstdint>
#include <istream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "cli/flags/flag_kinds.h"
#include "cli/vocab/draft_target.h"
#include "cli/vocab/encoded_texts.h"
#include "cli/vocab/head_checks.h"
#include "cli/vocab/pins.h"
#include "cli/vocab/text_corpora.h"
#include "cli/vocab/text_loss.h"
#include "cli/vocab/vocab.h"
#include "vocab/formats/list_file.h"

namespace shortlist {
namespace {

constexpr size_t kMaxNamedIds = 20;

struct ResliceFlags {
  std::string checkpoint, model, list, out;
  TextFlags texts;
  int64_t num_rows = 0;  // 0: all that the list or the texts name
  Pins pins = Pins::kControlAndBytes;
  int64_t num_threads = 0;
};

/// What the rows are chosen from.
struct Wish {
  std::vector<TokenId> pinned;
  std::vector<TokenId> ranked;  // best first
  bool is_ranked = true;        // false: the order of `ranked` is no rank
  std::string origin;           // of `ranked`, for messages
};

/// The ids that texts have, the most frequent first; of equals the lower id.
std::vector<TokenId> ByCount(std::span<const int64_t> counts) {
  std::vector<TokenId> ids;
  for (size_t id = 0; id < counts.size(); ++id) {
    if (counts[id] > 0) ids.push_back(TokenId{static_cast<int32_t>(id)});
  }
  std::ranges::stable_sort(ids, std::greater<>(), [&](TokenId id) { return counts[Raw(id)]; });
  return ids;
}

/// The ids of the new head, pinned ones first, and those that were passed over.
struct Chosen {
  std::vector<int64_t> ids;
  int64_t num_pinned = 0;
  std::vector<int64_t> pinned_without_row, ranked_without_row;
};

/// Chooses `num_rows` ids (0: all) that have a row.
absl::StatusOr<Chosen> Choose(const Wish& wish, const std::vector<bool>& has_row,
                              int64_t num_rows) {
  Chosen chosen;
  std::vector<bool> is_seen(has_row.size());
  for (const TokenId id : wish.pinned) {
    if (is_seen[Raw(id)]) continue;
    is_seen[Raw(id)] = true;
    (has_row[Raw(id)] ? chosen.ids : chosen.pinned_without_row).push_back(Raw(id));
  }
  chosen.num_pinned = std::ssize(chosen.ids);
  int64_t num_available = chosen.num_pinned;
  for (const TokenId id : wish.ranked) {
    if (is_seen[Raw(id)]) continue;
    is_seen[Raw(id)] = true;
    num_available += has_row[Raw(id)] ? 1 : 0;
    if (num_rows > 0 && std::ssize(chosen.ids) >= num_rows) continue;
    (has_row[Raw(id)] ? chosen.ids : chosen.ranked_without_row).push_back(Raw(id));
  }
  if (num_available == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the checkpoint's head has no row for any id of ", wish.origin));
  }
  if (num_rows == 0 && num_available == std::ssize(has_row)) {
    return absl::InvalidArgumentError(absl::StrCat(
        wish.origin, " names all ", has_row.size(),
        " ids: nothing is cut, and engines read no d2t where the sizes are equal (--rows)"));
  }
  if (num_rows == 0) return chosen;
  const int64_t low = std::max<int64_t>(chosen.num_pinned, 1);
  const int64_t high = std::min(num_available, std::ssize(has_row) - 1);
  if (num_rows < low || num_rows > high) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--rows %d not in [%d, %d], the pinned ids and all ids of %s that have a row", num_rows,
        low, high, wish.origin));
  }
  if (!wish.is_ranked && num_rows < num_available) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--rows %d: the ids of %s have no ranks (`vocab convert --ranked` gives them their order)",
        num_rows, wish.origin));
  }
  return chosen;
}

/// " 3 ids: 5, 7, 9"; of many the first.
std::string NamedIds(const std::vector<int64_t>& ids) {
  std::string text = absl::StrCat(Counted(std::ssize(ids), "id"), ": ");
  for (size_t i = 0; i < std::min(ids.size(), kMaxNamedIds); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", ids[i]);
  }
  return text + (ids.size() > kMaxNamedIds ? ", ..." : "");
}

/// Share of the tokens of the texts whose ids have rows.
std::string Coverage(std::span<const int64_t> counts, const std::vector<bool>& has_row) {
  LossCount loss;
  for (size_t id = 0; id < counts.size(); ++id) {
    loss.num_tokens += counts[id];
    loss.num_lost += has_row[id] ? 0 : counts[id];
  }
  return absl::StrFormat("%.2f%%", 100.0 * loss.coverage());
}

std::vector<bool> HasRow(const std::vector<int64_t>& ids, int64_t vocab_size) {
  std::vector<bool> has_row(vocab_size);
  for (const int64_t id : ids) has_row[id] = true;
  return has_row;
}

/// Fails before long work if the checkpoint is for a vocabulary of another size.
absl::Status CheckVocabulary(const DraftCheckpoint& draft, const DraftTarget& target) {
  const int64_t own = draft.vocab_size(), others = target.tokenizer.vocab_size();
  if (own == 0 || std::abs(own - others) <= VocabList::kMaxPadding) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(draft.path, ": made for a vocabulary of ", own,
                                                    ", and that of ", target.source.path(), " has ",
                                                    others));
}

/// Refuses what `vocab doctor` would find in the new file too.
absl::Status CheckSound(const DraftCheckpoint& draft, const SourceHead& head, int64_t vocab_size) {
  Findings findings;
  SHORTLIST_RETURN_IF_ERROR(CheckHead(draft, std::ssize(head.ids), vocab_size, findings));
  for (const MapFault& fault : findings.faults) {
    if (fault.code != "head-values" && fault.code != "draft-vocab-size") continue;
    return absl::FailedPreconditionError(absl::StrCat(draft.path, ": ", fault.message));
  }
  return absl::OkStatus();
}

/// Counts the texts of --text; tokens without a row in `has_row` count as lost.
absl::StatusOr<TextLoss> CountTexts(const ResliceFlags& flags, const ListTokenizer& tokenizer,
                                    std::vector<bool> has_row, std::istream& in) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TextCorpus> corpora, FindTexts(flags.texts));
  SHORTLIST_RETURN_IF_ERROR(CheckTexts(corpora));
  TextLoss loss(tokenizer.tokenizer(), std::move(has_row));
  ThreadPool pool(static_cast<int>(flags.num_threads));
  const EncodeText encode = tokenizer.encode();
  const TextReading reading = {"reslice", flags.texts, corpora, encode, tokenizer.vocab_size(),
                               pool};
  SHORTLIST_RETURN_IF_ERROR(ForEachText(reading, in, [&loss](const EncodedText& text) {
    loss.Add(text);
    return absl::OkStatus();
  }));
  return loss;
}

/// Reports which ids have no row.
void WriteMissing(const Wish& wish, const Chosen& chosen, std::ostream& out) {
  if (!chosen.pinned_without_row.empty()) {
    out << "pinned, but without a row in the checkpoint: " << NamedIds(chosen.pinned_without_row)
        << "\n";
  }
  if (!chosen.ranked_without_row.empty()) {
    out << absl::StrFormat("of %s, but without a row in the checkpoint: %s\n", wish.origin,
                           NamedIds(chosen.ranked_without_row));
  }
}

absl::Status Reslice(const ResliceFlags& flags, std::istream& in, std::ostream& out) {
  if (flags.list.empty() == flags.texts.patterns.empty()) {
    return absl::InvalidArgumentError("exactly one of --list and --text is required");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const DraftCheckpoint draft, DraftCheckpoint::Open(flags.checkpoint));
  SHORTLIST_ASSIGN_OR_RETURN(const DraftTarget target, DraftTarget::Open(flags.model));
  SHORTLIST_RETURN_IF_ERROR(CheckVocabulary(draft, target));
  const int64_t vocab_size = target.tokenizer.vocab_size();
  SHORTLIST_ASSIGN_OR_RETURN(const SourceHead head,
                             FindSourceHead(draft, target.weights, vocab_size));
  SHORTLIST_RETURN_IF_ERROR(CheckSound(draft, head, vocab_size));
  SHORTLIST_ASSIGN_OR_RETURN(NewFolder folder, NewFolder::Create(flags.out));
  const std::vector<bool> old_rows = HasRow(head.ids, vocab_size);

  Wish wish{.pinned = PinnedIds(target.tokenizer.tokenizer(), vocab_size, flags.pins)};
  if (flags.pins != Pins::kNone) {
    wish.pinned.insert(wish.pinned.end(), target.end_ids.begin(), target.end_ids.end());
  }
  std::optional<TextLoss> loss;
  if (flags.list.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(loss, CountTexts(flags, target.tokenizer, old_rows, in));
    wish.ranked = ByCount(loss->counts());
    wish.origin = "the texts";
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const VocabList list,
                               ReadListFile(flags.list, target.tokenizer.target()));
    wish.ranked = list.PinnedFirst();
    wish.is_ranked = list.ranked;
    wish.origin = flags.list;
  }
  SHORTLIST_ASSIGN_OR_RETURN(const Chosen chosen, Choose(wish, old_rows, flags.num_rows));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<std::string> skipped,
                             WriteResliced(draft, head, vocab_size, chosen.ids, folder));
  SHORTLIST_RETURN_IF_ERROR(folder.Commit());

  out << absl::StrFormat("%s: %s of %d, from %s, %d of them pinned; read back and compared\n",
                         folder.path(), Counted(std::ssize(chosen.ids), "row"), head.ids.size(),
                         head.is_targets ? "the target's head" : "the draft's head",
                         chosen.num_pinned);
  WriteMissing(wish, chosen, out);
  if (loss.has_value()) {
    out << absl::StrFormat("the rows hold %s of the %s of the texts, those before %s\n",
                           Coverage(loss->counts(), HasRow(chosen.ids, vocab_size)),
                           Counted(loss->total().num_tokens, "token"),
                           Coverage(loss->counts(), old_rows));
  }
  for (const std::string& name : skipped) out << "not copied: " << Excerpt(name) << "\n";
  return absl::OkStatus();
}

}  // namespace

VocabSubcommand AddVocabReslice(CLI::App& vocab) {
  CLI::App* const app = vocab.add_subcommand(
      "reslice",
      "Write an EAGLE-3 or MTP checkpoint whose head has other rows (d2t, t2d), for any engine. "
      "For EAGLE-1, EAGLE-2 and SGLang's token map, see convert LIST map.pt");
  const auto flags = std::make_shared<ResliceFlags>();
  app->add_option("checkpoint", flags->checkpoint,
                  "The draft's directory, or org/name[@revision] of the cache")
      ->required()
      ->type_name("CHECKPOINT");
  app->add_option("--model", flags->model,
                  "The target: its tokenizer, and its head if the draft "
                  "has none")
      ->required()
      ->type_name("TARGET");
  app->add_option("--list", flags->list, "Ids of the new rows, in any format of a list")
      ->type_name("LIST");
  AddTextFlags(*app, flags->texts);
  app->get_option("--text")->required(false)->description(
      "Own traffic instead of a list: the most frequent tokens get rows. " +
      app->get_option("--text")->get_description());
  AddInteger<int64_t>(*app, "--rows", flags->num_rows, 1, kMaxCount,
                      "Rows of the new head, pinned ones among them")
      ->default_str("all that are named and have a row");
  app->add_option("--out", flags->out, "The new directory; must not exist, or be empty")
      ->required()
      ->type_name("DIR");
  AddPinFlag(*app, flags->pins, "What gets a row in any case, where the checkpoint has it");
  AddThreadsFlag(*app, flags->num_threads);
  return {app, [flags](std::istream& in, std::ostream& out) { return Reslice(*flags, in, out); }};
}

}  // namespace shortlist
