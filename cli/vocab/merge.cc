#include <algorithm>
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
#include "cli/vocab/used_files.h"
#include "cli/vocab/vocab.h"
#include "vocab/formats/list_file.h"
#include "vocab/merge_lists.h"

namespace shortlist {
namespace {

struct MergeFlags {
  std::vector<std::string> paths;
  std::vector<double> weights;
  std::string out_path;
  TokenizerSource tokenizer;
};

absl::Status Merge(const MergeFlags& flags, std::ostream& out) {
  std::optional<ListTokenizer> tokenizer;
  VocabTarget target;
  if (flags.tokenizer.is_given()) {
    SHORTLIST_ASSIGN_OR_RETURN(tokenizer, ListTokenizer::Open(flags.tokenizer));
    target = tokenizer->target();
  }
  SHORTLIST_RETURN_IF_ERROR(CheckOutputs({{"--out", flags.out_path}}, FilesOf(flags.tokenizer)));
  std::vector<NamedList> lists;
  for (const std::string& path : flags.paths) {
    if (std::count(flags.paths.begin(), flags.paths.end(), path) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": given twice; --weight sets the share of a list"));
    }
    SHORTLIST_ASSIGN_OR_RETURN(VocabList list, ReadListFile(path, target));
    // Lists that fit one tokenizer may have been made for two different ones.
    if (tokenizer.has_value()) SHORTLIST_RETURN_IF_ERROR(BindList(target, list));
    lists.push_back({path, std::move(list)});
  }
  SHORTLIST_ASSIGN_OR_RETURN(VocabList merged, MergeLists(lists, flags.weights));
  if (tokenizer.has_value()) SHORTLIST_RETURN_IF_ERROR(BindList(target, merged));
  SHORTLIST_RETURN_IF_ERROR(WriteListFile(flags.out_path, merged));
  out << absl::StrFormat("%s: %s of %d%s\n", flags.out_path, Counted(merged.NumIds(), "id"),
                         merged.vocab_size, LossNote(flags.out_path, merged));
  return absl::OkStatus();
}

}  // namespace

VocabSubcommand AddVocabMerge(CLI::App& vocab) {
  CLI::App* const app = vocab.add_subcommand("merge", "Join lists of one tokenizer into one");
  const auto flags = std::make_shared<MergeFlags>();
  app->add_option("lists", flags->paths, "Lists in any format")->required()->type_name("LIST...");
  app->add_option_function<std::vector<std::string>>(
         "--weight",
         [flags = flags.get()](const std::vector<std::string>& given) {
           for (const std::string& text : given) {
             const std::optional<double> weight = ParseNumber<double>(text);
             if (!weight || !(*weight > 0 && *weight <= 1e9))
               RefuseFlag("--weight", text, "(0, 1e9]");
             flags->weights.push_back(*weight);
           }
         },
         "Share of each list in the mix, in their order; equal without it")
      ->type_name("X...");
  app->add_option("--out", flags->out_path, "The new list, in the format of its name")
      ->required()
      ->type_name("LIST");
  AddTokenizerFlags(*app, flags->tokenizer, /*is_required=*/false);
  return {app, [flags](std::istream&, std::ostream& out) { return Merge(*flags, out); }};
}

}  // namespace shortlist
