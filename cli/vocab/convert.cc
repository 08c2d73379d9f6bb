#include <algorithm>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "cli/flags/flag_kinds.h"
#include "cli/vocab/list_tokenizer.h"
#include "cli/vocab/loss_note.h"
#include "cli/vocab/pins.h"
#include "cli/vocab/used_files.h"
#include "cli/vocab/vocab.h"
#include "vocab/formats/list_file.h"

namespace shortlist {
namespace {

struct ConvertFlags {
  std::string from, to;
  TokenizerSource tokenizer;
  int64_t vocab_size = 0;  // 0: the tokenizer's, else the list's
  int64_t top = 0;         // 0: all
  bool is_ranked = false;
  Pins pins = Pins::kNone;
};

/// Adds the pinned ids of the tokenizer to the list's, or reports on stderr that it lacks some.
absl::Status Pin(const ConvertFlags& flags, const ListTokenizer* tokenizer, VocabList& list) {
  if (tokenizer == nullptr) {
    if (flags.pins != Pins::kNone) {
      return absl::InvalidArgumentError(
          "--pin needs --model or --tokenizer, which name the tokens");
    }
    if (!list.pinned.empty()) return absl::OkStatus();
    std::cerr << "convert: not checked whether the list holds byte, control and end tokens, for "
                 "want of --model or --tokenizer\n";
    return absl::OkStatus();
  }
  std::vector<bool> is_held(list.vocab_size), is_pinned(list.vocab_size);
  for (const TokenId id : list.PinnedFirst()) is_held[Raw(id)] = true;
  for (const TokenId id : list.pinned) is_pinned[Raw(id)] = true;
  const Pins wanted = flags.pins == Pins::kNone ? Pins::kControlAndBytes : flags.pins;
  int64_t num_missing = 0;
  for (const TokenId id : PinnedIds(tokenizer->tokenizer(), list.vocab_size, wanted)) {
    num_missing += is_held[Raw(id)] ? 0 : 1;
    if (flags.pins != Pins::kNone && !is_pinned[Raw(id)]) list.pinned.push_back(id);
  }
  if (num_missing > 0 && flags.pins == Pins::kNone) {
    std::cerr << absl::StrFormat(
        "convert: the list lacks %s of a control token or a single byte (--pin control+bytes adds "
        "them)\n",
        Counted(num_missing, "id"));
  }
  return absl::OkStatus();
}

/// Keeps the best `top` ids, including pinned ones.
absl::Status Cut(int64_t top, VocabList& list) {
  const std::vector<TokenId> order = list.PinnedFirst();
  const int64_t low = std::max<int64_t>(std::ssize(list.pinned), 1);
  if (top < low || top > std::ssize(order)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--top ", top, " not in [", low, ", ", order.size(), "], its pinned ids and all of them"));
  }
  std::vector<bool> is_kept(list.vocab_size);
  for (int64_t i = 0; i < top; ++i) is_kept[Raw(order[i])] = true;
  size_t end = 0;
  for (size_t i = 0; i < list.ids.size(); ++i) {
    if (!is_kept[Raw(list.ids[i])]) continue;
    list.ids[end] = list.ids[i];
    if (!list.counts.empty()) list.counts[end] = list.counts[i];
    ++end;
  }
  if (end == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--top ", top, " keeps pinned ids alone, and a list needs another: give ",
                     top + 1, " or more"));
  }
  list.ids.resize(end);
  if (!list.counts.empty()) list.counts.resize(end);
  return absl::OkStatus();
}

absl::Status Convert(const ConvertFlags& flags, std::ostream& out) {
  std::optional<ListTokenizer> tokenizer;
  VocabTarget target;
  if (flags.tokenizer.is_given()) {
    SHORTLIST_ASSIGN_OR_RETURN(tokenizer, ListTokenizer::Open(flags.tokenizer));
    target = tokenizer->target();
  }
  SHORTLIST_RETURN_IF_ERROR(CheckOutputs({{"", flags.to}}, FilesOf(flags.tokenizer)));
  if (flags.vocab_size > 0) target.vocab_size = flags.vocab_size;
  SHORTLIST_ASSIGN_OR_RETURN(VocabList list, ReadListFile(flags.from, target));
  if (flags.is_ranked) list.ranked = true;
  SHORTLIST_RETURN_IF_ERROR(Pin(flags, tokenizer ? &*tokenizer : nullptr, list));
  if (flags.top > 0) {
    if (!list.ranked) {
      return absl::InvalidArgumentError(absl::StrCat("--top ", flags.top, ": the ids of ",
                                                     flags.from,
                                                     " have no ranks (--ranked: they have)"));
    }
    SHORTLIST_RETURN_IF_ERROR(Cut(flags.top, list));
  }
  if (tokenizer.has_value()) SHORTLIST_RETURN_IF_ERROR(BindList(target, list));
  SHORTLIST_RETURN_IF_ERROR(WriteListFile(flags.to, list));
  out << absl::StrFormat("%s: %s of %d%s\n", flags.to, Counted(list.NumIds(), "id"),
                         list.vocab_size, LossNote(flags.to, list));
  return absl::OkStatus();
}

}  // namespace

VocabSubcommand AddVocabConvert(CLI::App& vocab) {
  CLI::App* const app = vocab.add_subcommand(
      "convert",
      "Write a list in another format: .vocab.json[.xz], .txt, .pt (FR-Spec; EAGLE-1 and EAGLE-2 "
      "of "
      "SGLang: --speculative-token-map), .npy, .safetensors (EAGLE-3's d2t and t2d; reslice writes "
      "the whole checkpoint)");
  const auto flags = std::make_shared<ConvertFlags>();
  app->add_option("from", flags->from, "The list")->required()->type_name("LIST");
  app->add_option("to", flags->to, "The new one, in the format of its name")
      ->required()
      ->type_name("LIST");
  AddTokenizerFlags(*app, flags->tokenizer, /*is_required=*/false);
  AddInteger<int64_t>(*app, "--vocab-size", flags->vocab_size, 1, kMaxCount,
                      "Of a list that does not state it")
      ->default_str("the tokenizer's, else what holds its ids");
  AddInteger<int64_t>(*app, "--top", flags->top, 1, kMaxCount, "The best ids alone")
      ->default_str("all");
  AddPinFlag(*app, flags->pins, "What the new list holds besides, within --top");
  app->add_flag("--ranked", flags->is_ranked, "The order of a file that holds ids alone is a rank");
  return {app, [flags](std::istream&, std::ostream& out) { return Convert(*flags, out); }};
}

}  // namespace shortlist
