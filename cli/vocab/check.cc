#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "cli/vocab/list_tokenizer.h"
#include "cli/vocab/vocab.h"
#include "vocab/formats/list_file.h"
#include "vocab/vocab_options.h"

namespace shortlist {
namespace {

struct CheckFlags {
  std::string list;  // as given by --vocab
  TokenizerSource tokenizer;
};

/// Number of successors in the list, and the maximum number that a draft scores for a token in
/// addition to the ids: successors that are not among the ids.
std::string SuccessorsNote(const VocabOptions& options, const VocabList& list,
                           const VocabBase& base) {
  const int64_t num_successors = list.NumSuccessors();
  if (num_successors == 0) return ", no successors";
  return absl::StrCat(
      ", ", Counted(num_successors, "successor"), ", ",
      options.successors.has_value()
          ? absl::StrCat("at most ", base.max_successors(), " of a token in addition to these ids")
          : "none taken (:successors=M takes M of a token)");
}

absl::Status Check(const CheckFlags& flags, std::ostream& out) {
  SHORTLIST_ASSIGN_OR_RETURN(const VocabOptions options, ParseVocabFlag(flags.list));
  if (options.custom_vocab_path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(flags.list, " names no list"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const ListTokenizer tokenizer, ListTokenizer::Open(flags.tokenizer));
  const VocabTarget target = tokenizer.target();
  SHORTLIST_ASSIGN_OR_RETURN(const VocabList list, ReadListFile(options.custom_vocab_path, target));
  SHORTLIST_ASSIGN_OR_RETURN(const auto base, SelectVocabBase(options, list, target));
  const bool is_bound = !list.ids_fingerprint.empty() || !list.fingerprint.empty();
  out << absl::StrFormat("%s fits: %s of %d%s%s\n", flags.list, Counted(base->size(), "id"),
                         base->vocab_size(), SuccessorsNote(options, list, *base),
                         is_bound ? "" : "; it names no tokenizer, so only its ids were checked");
  return absl::OkStatus();
}

}  // namespace

VocabSubcommand AddVocabCheck(CLI::App& vocab) {
  CLI::App* const app = vocab.add_subcommand("check", "Check whether a list fits a model");
  const auto flags = std::make_shared<CheckFlags>();
  app->add_option("list", flags->list, "The list, with what is taken of it, as --vocab has it")
      ->required()
      ->type_name("FILE[:top=N|:ratio=R|:coverage=C][:successors=M]");
  AddTokenizerFlags(*app, flags->tokenizer, /*is_required=*/true);
  return {app, [flags](std::istream&, std::ostream& out) { return Check(*flags, out); }};
}

}  // namespace shortlist
