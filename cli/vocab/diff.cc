#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/flags/flag_kinds.h"
#include "cli/table.h"
#include "cli/vocab/list_tokenizer.h"
#include "cli/vocab/token_text.h"
#include "cli/vocab/vocab.h"
#include "vocab/formats/list_file.h"

namespace shortlist {
namespace {

struct DiffFlags {
  std::string first, second;
  TokenizerSource tokenizer;
  int64_t num_examples = 10;
};

/// A few ids of `list` that `other` does not contain, best first.
std::string Missing(const VocabList& list, const std::vector<bool>& in_other, int64_t num_examples,
                    const Tokenizer* tokenizer) {
  std::string text;
  int64_t num_told = 0;
  for (const TokenId id : list.PinnedFirst()) {
    if (Raw(id) < std::ssize(in_other) && in_other[Raw(id)]) continue;
    if (num_told++ == num_examples) return text + " ...";
    absl::StrAppend(&text, text.empty() ? "" : " ", TokenText(id, tokenizer));
  }
  return text;
}

std::vector<bool> Held(const VocabList& list) {
  std::vector<bool> held(list.vocab_size);
  for (const TokenId id : list.PinnedFirst()) held[Raw(id)] = true;
  return held;
}

absl::Status Diff(const DiffFlags& flags, std::ostream& out) {
  std::optional<ListTokenizer> tokenizer;
  VocabTarget target;
  if (flags.tokenizer.is_given()) {
    SHORTLIST_ASSIGN_OR_RETURN(tokenizer, ListTokenizer::Open(flags.tokenizer));
    target = tokenizer->target();
  }
  SHORTLIST_ASSIGN_OR_RETURN(const VocabList first, ReadListFile(flags.first, target));
  SHORTLIST_ASSIGN_OR_RETURN(const VocabList second, ReadListFile(flags.second, target));
  if (!first.fingerprint.empty() && !second.fingerprint.empty() &&
      first.fingerprint != second.fingerprint && !tokenizer.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "lists of other tokenizers: ", flags.first, " has the fingerprint ", first.fingerprint,
        ", ", flags.second, " ", second.fingerprint, " (with --tokenizer both may fit it)"));
  }
  const std::vector<bool> in_first = Held(first), in_second = Held(second);
  std::vector<std::vector<std::string>> rows;
  const std::vector<TokenId> a = first.PinnedFirst(), b = second.PinnedFirst();
  const auto common = [](const std::vector<TokenId>& ids, const std::vector<bool>& held, size_t n) {
    int64_t count = 0;
    for (size_t i = 0; i < std::min(n, ids.size()); ++i) {
      count += Raw(ids[i]) < std::ssize(held) && held[Raw(ids[i])] ? 1 : 0;
    }
    return count;
  };
  // Sizes that `:top=N` can take from both lists.
  const size_t least = std::max(first.pinned.size(), second.pinned.size());
  const size_t most = std::min(a.size(), b.size());
  for (size_t n = 256; first.ranked && second.ranked && n <= most; n *= 2) {
    if (n < least) continue;
    std::vector<bool> top(second.vocab_size);
    for (size_t i = 0; i < n; ++i) top[Raw(b[i])] = true;
    rows.push_back({absl::StrCat(":top=", n), absl::StrCat(n), absl::StrCat(n),
                    absl::StrCat(common(a, top, n))});
  }
  rows.push_back({"all", absl::StrCat(a.size()), absl::StrCat(b.size()),
                  absl::StrCat(common(a, in_second, a.size()))});
  out << FormatTable({"ids, pinned first", "first", "second", "in both"}, rows);
  const Tokenizer* const words = tokenizer ? &tokenizer->tokenizer() : nullptr;
  out << "\nonly in the first:  " << Missing(first, in_second, flags.num_examples, words)
      << "\nonly in the second: " << Missing(second, in_first, flags.num_examples, words) << "\n";
  return absl::OkStatus();
}

}  // namespace

VocabSubcommand AddVocabDiff(CLI::App& vocab) {
  CLI::App* const app = vocab.add_subcommand("diff", "Report what two lists have in common");
  const auto flags = std::make_shared<DiffFlags>();
  app->add_option("first", flags->first, "A list in any format")->required()->type_name("LIST");
  app->add_option("second", flags->second, "Another")->required()->type_name("LIST");
  AddTokenizerFlags(*app, flags->tokenizer, /*is_required=*/false);
  AddInteger<int64_t>(*app, "--examples", flags->num_examples, 0, 1000000,
                      "How many ids that only one holds are shown");
  return {app, [flags](std::istream&, std::ostream& out) { return Diff(*flags, out); }};
}

}  // namespace shortlist
