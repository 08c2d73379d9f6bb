#include "vocab/counting/coverage.h"

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "cli/flags/flag_kinds.h"
#include "cli/vocab/coverage_report.h"
#include "cli/vocab/encoded_texts.h"
#include "cli/vocab/list_tokenizer.h"
#include "cli/vocab/sizes_flag.h"
#include "cli/vocab/text_corpora.h"
#include "cli/vocab/used_files.h"
#include "cli/vocab/vocab.h"
#include "vocab/formats/list_file.h"
#include "vocab/vocab_options.h"

namespace shortlist {
namespace {

struct CoverageFlags {
  std::vector<std::string> lists;  // as given by --vocab
  std::vector<int64_t> sizes;      // of each list; empty: as given
  TokenizerSource tokenizer;
  TextFlags texts;
  CoverageMeter::Options rows;
  std::string svg_path;
  bool json = false;
  int64_t num_threads = 0;
};

/// Adds the list at each of --sizes. InvalidArgument if it has none of them.
absl::Status AddSizes(const CoverageFlags& flags, VocabOptions options, const VocabList& list,
                      const VocabTarget& target, MeasuredLists& measured) {
  const size_t num_before = measured.lists.size();
  for (const int64_t size : flags.sizes) {
    options.top_n = size;
    const std::string name =
        absl::StrCat(options.custom_vocab_path, ":top=", size,
                     options.successors ? absl::StrCat(":successors=", *options.successors) : "");
    const auto base = SelectVocabBase(options, list, target);
    if (!base.ok()) {
      measured.refused.push_back({name, std::string(base.status().message())});
      continue;
    }
    SHORTLIST_ASSIGN_OR_RETURN(CoverageMeter meter, CoverageMeter::Create(*base, flags.rows));
    measured.lists.push_back({name, std::move(meter), {}});
  }
  if (measured.lists.size() > num_before) return absl::OkStatus();
  return absl::InvalidArgumentError("--sizes: " + measured.refused.back().why);
}

absl::StatusOr<MeasuredLists> OpenLists(const CoverageFlags& flags, const VocabTarget& target) {
  MeasuredLists measured;
  const auto add = [&](const std::string& name, const VocabOptions& options,
                       const VocabList* list) -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const auto base, list == nullptr
                                                    ? SelectVocabBase(options, target)
                                                    : SelectVocabBase(options, *list, target));
    SHORTLIST_ASSIGN_OR_RETURN(CoverageMeter meter, CoverageMeter::Create(base, flags.rows));
    measured.lists.push_back({name, std::move(meter), {}});
    return absl::OkStatus();
  };
  for (const std::string& flag : flags.lists) {
    SHORTLIST_ASSIGN_OR_RETURN(VocabOptions options, ParseVocabFlag(flag));
    if (options.auto_size) {
      return absl::InvalidArgumentError(absl::StrCat(
          flag,
          ": a size that a running engine finds cannot be measured here: give :top=N or --sizes"));
    }
    if (!flags.sizes.empty() &&
        (options.custom_vocab_path.empty() || options.top_n || options.ratio || options.coverage)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--sizes: ", flag, " has a size of its own; sizes are taken of FILE[:successors=M]"));
    }
    if (options.custom_vocab_path.empty()) {
      SHORTLIST_RETURN_IF_ERROR(add(flag, options, nullptr));
      continue;
    }
    SHORTLIST_ASSIGN_OR_RETURN(const VocabList list,
                               ReadListFile(options.custom_vocab_path, target));
    SHORTLIST_RETURN_IF_ERROR(flags.sizes.empty()
                                  ? add(flag, options, &list)
                                  : AddSizes(flags, options, list, target, measured));
  }
  return measured;
}

/// Replays all texts over every list.
absl::Status Replay(const CoverageFlags& flags, const std::vector<TextCorpus>& corpora,
                    const EncodeText& encode, int64_t vocab_size, std::istream& in,
                    std::vector<Measured>& measured) {
  ThreadPool pool(static_cast<int>(flags.num_threads));
  const TextReading reading = {"coverage", flags.texts, corpora, encode, vocab_size, pool};
  return ForEachText(reading, in, [&measured](const EncodedText& text) -> absl::Status {
    const std::string name =
        text.category.empty() ? text.corpus : absl::StrCat(text.corpus, ", ", text.category);
    for (Measured& list : measured) {
      SHORTLIST_ASSIGN_OR_RETURN(const Coverage coverage,
                                 list.meter.Replay(text.prompt, text.output));
      list.of_texts[name] += coverage;
      if (name != text.corpus) list.of_texts[text.corpus + ", all"] += coverage;
    }
    return absl::OkStatus();
  });
}

/// InvalidArgument if the plot cannot be written or would overwrite an input. Errors of CheckTexts.
absl::Status CheckFiles(const CoverageFlags& flags, const std::vector<TextCorpus>& corpora) {
  SHORTLIST_RETURN_IF_ERROR(CheckTexts(corpora));
  std::vector<UsedFile> inputs = FilesOf(corpora);
  for (const std::string& list : flags.lists) {
    SHORTLIST_ASSIGN_OR_RETURN(const VocabOptions options, ParseVocabFlag(list));
    inputs.push_back({"", options.custom_vocab_path});
  }
  for (UsedFile& file : FilesOf(flags.tokenizer)) inputs.push_back(std::move(file));
  return CheckOutputs({{"--svg", flags.svg_path}}, inputs);
}

absl::Status MeasureCoverage(const CoverageFlags& flags, std::istream& in, std::ostream& out) {
  SHORTLIST_ASSIGN_OR_RETURN(const ListTokenizer tokenizer, ListTokenizer::Open(flags.tokenizer));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TextCorpus> corpora, FindTexts(flags.texts));
  SHORTLIST_RETURN_IF_ERROR(CheckFiles(flags, corpora));
  const VocabTarget target = tokenizer.target();
  SHORTLIST_ASSIGN_OR_RETURN(MeasuredLists measured, OpenLists(flags, target));
  SHORTLIST_RETURN_IF_ERROR(
      Replay(flags, corpora, tokenizer.encode(), target.vocab_size, in, measured.lists));
  if (!flags.svg_path.empty()) {
    SHORTLIST_RETURN_IF_ERROR(WriteFileAtomically(flags.svg_path, CoveragePlot(measured)));
  }
  if (flags.json) {
    WriteCoverageJson(measured, target.vocab_size, out);
  } else {
    WriteCoverageTable(measured, target.vocab_size, out);
  }
  return absl::OkStatus();
}

}  // namespace

VocabSubcommand AddVocabCoverage(CLI::App& vocab) {
  CLI::App* const app =
      vocab.add_subcommand("coverage", "Report how much of given texts lists cover, at which cost");
  const auto flags = std::make_shared<CoverageFlags>();
  app->add_option("lists", flags->lists, "Lists, with what is taken of them, as --vocab has it")
      ->required()
      ->type_name("FILE[:top=N|:ratio=R|:coverage=C][:successors=M]...");
  AddTokenizerFlags(*app, flags->tokenizer, /*is_required=*/true);
  AddTextFlags(*app, flags->texts);
  AddSizesFlag(*app, flags->sizes);
  AddInteger<int64_t>(*app, "--dynamic-rows", flags->rows.num_tail_rows, 0, kMaxCount,
                      "Rows that prompt tokens and escapes of one text may add");
  AddInteger<int64_t>(*app, "--dynamic-capacity", flags->rows.dynamic_capacity, 0, kMaxCount,
                      "Rows of the part that all texts share and fill");
  app->add_option("--svg", flags->svg_path, "Writes a plot of coverage against rows")
      ->type_name("FILE");
  app->add_flag("--json", flags->json, "JSON instead of a table");
  AddThreadsFlag(*app, flags->num_threads);
  return {app, [flags](std::istream& in, std::ostream& out) {
            return MeasureCoverage(*flags, in, out);
          }};
}

}  // namespace shortlist
