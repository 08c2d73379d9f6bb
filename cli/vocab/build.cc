#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "cli/flags/flag_kinds.h"
#include "cli/vocab/corpus_counter.h"
#include "cli/vocab/file_lock.h"
#include "cli/vocab/list_tokenizer.h"
#include "cli/vocab/loss_note.h"
#include "cli/vocab/pins.h"
#include "cli/vocab/stop_signals.h"
#include "cli/vocab/text_corpora.h"
#include "cli/vocab/used_files.h"
#include "cli/vocab/vocab.h"
#include "vocab/counting/build_list.h"
#include "vocab/counting/count_file.h"
#include "vocab/formats/list_file.h"

namespace shortlist {
namespace {

struct BuildFlags {
  TokenizerSource tokenizer;
  TextFlags texts;
  std::string out_path;
  std::string counts_path;
  std::vector<std::string> added_counts;
  BuildOptions list;
  Pins pins = Pins::kControlAndBytes;
  int64_t max_pairs = int64_t{1} << 22;
  std::string source;
  int64_t num_threads = 0;
};

void AddFlags(CLI::App& command, BuildFlags& flags) {
  AddTokenizerFlags(command, flags.tokenizer, /*is_required=*/true);
  AddTextFlags(command, flags.texts);
  command.get_option("--text")
      ->required(false)
      ->type_name("[WEIGHT@]FILE...")
      ->description(command.get_option("--text")->get_description() +
                    ". With a weight, it makes up its share of the mix");
  command
      .add_option(
          "--out", flags.out_path,
          "The list, in the format of its name: .vocab.json[.xz], .txt, .pt, .npy, .safetensors")
      ->type_name("LIST");
  command
      .add_option(
          "--counts", flags.counts_path,
          "Keeps what is counted or added, every minute and at the end; a later run goes on "
          "from it")
      ->type_name("FILE");
  command
      .add_option(
          "--add-counts", flags.added_counts,
          "Counts that other runs have kept, as further corpora of --out and --counts; with "
          "a weight, each of them has it")
      ->type_name("[WEIGHT@]FILE...");
  const auto add_real = [&](const char* name, std::optional<double>& value, const char* text) {
    command
        .add_option_function<std::string>(
            name,
            [name, &value](const std::string& given) {
              value = ParseNumber<double>(given);
              if (!value || !(*value > 0 && *value <= 1)) RefuseFlag(name, given, "(0, 1]");
            },
            text)
        ->type_name("X");
  };
  CLI::Option* const top = command.add_option_function<std::string>(
      "--top",
      [&flags](const std::string& given) {
        flags.list.top_n = ParseNumber<int64_t>(given);
        if (!flags.list.top_n || *flags.list.top_n < 1)
          RefuseFlag("--top", given, "[1, vocab_size]");
      },
      "How many ids the list has, pinned ones among them; all that occur without any of these");
  top->type_name("N");
  add_real("--ratio", flags.list.ratio, "The same as a share of the vocabulary");
  add_real("--coverage", flags.list.coverage, "As many as make up this share of the texts");
  for (const auto& [a, b] : {std::pair("--ratio", "--top"), std::pair("--coverage", "--top"),
                             std::pair("--coverage", "--ratio")}) {
    command.get_option(a)->excludes(command.get_option(b));
  }
  AddChoice<BuildOptions::Rank>(
      command, "--rank", flags.list.rank,
      {{"count", BuildOptions::Rank::kCount}, {"novelty", BuildOptions::Rank::kNovelty}},
      "Ids by how often they occur, or by how often where successors are not likely to hold them")
      ->default_str("count");
  AddInteger<int64_t>(command, "--successors", flags.list.max_successors, 0, kMaxCount,
                      "Most successors of a token that the list keeps");
  AddInteger<int64_t>(command, "--common", flags.list.num_common, 0, kMaxCount,
                      "Likeliest ids, held by every use of the list: never successors");
  AddInteger<int64_t>(command, "--min-pair-count", flags.list.min_pair_count, 1, kMaxCount,
                      "Pairs that occur less often are left out");
  AddInteger<int64_t>(command, "--max-pairs", flags.max_pairs, 1024, int64_t{1} << 30,
                      "Most different pairs of a corpus held in memory, at 18 bytes each");
  AddPinFlag(command, flags.pins, "What every selection holds");
  command.add_option("--source", flags.source, "What was counted, in words; the files without it")
      ->type_name("TEXT");
  AddThreadsFlag(command, flags.num_threads);
}

std::string SourceOf(const std::vector<CorpusCounts>& corpora) {
  std::string source;
  for (const CorpusCounts& corpus : corpora) {
    absl::StrAppend(&source, source.empty() ? "" : "; ", corpus.name, ", ",
                    Counted(corpus.num_tokens, "token"));
    if (corpus.weight > 0) absl::StrAppend(&source, ", weight ", corpus.weight);
  }
  return source;
}

/// InvalidArgument if a file cannot be written, would be overwritten or counted twice, or if counts
/// could not be kept.
absl::Status CheckFiles(const BuildFlags& flags, const std::vector<TextCorpus>& texts,
                        const std::vector<Weighted>& added) {
  std::vector<UsedFile> inputs = FilesOf(texts);
  for (const Weighted& file : added) inputs.push_back({"--add-counts", file.name});
  SHORTLIST_RETURN_IF_ERROR(CheckDistinct(inputs));
  for (UsedFile& file : FilesOf(flags.tokenizer)) inputs.push_back(std::move(file));
  SHORTLIST_RETURN_IF_ERROR(
      CheckOutputs({{"--out", flags.out_path}, {"--counts", flags.counts_path}}, inputs));
  if (flags.counts_path.empty()) return absl::OkStatus();
  std::vector<std::string> names = {flags.texts.fields.text, flags.texts.fields.prompt};
  for (const TextCorpus& corpus : texts) {
    names.push_back(corpus.name);
    names.insert(names.end(), corpus.files.begin(), corpus.files.end());
  }
  return CheckKeepable(std::ssize(texts), names);
}

/// Adds counts of other runs to `counts`, replacing what an earlier run added from the same files.
/// Reports on stderr from which other files earlier counts are kept.
absl::Status AddCounts(const BuildFlags& flags, const std::vector<Weighted>& files,
                       const VocabTarget& target, Counts& counts) {
  std::vector<CorpusCounts> added;
  std::set<std::string> given, not_given;
  for (const Weighted& file : files) {
    SHORTLIST_ASSIGN_OR_RETURN(Counts other, ReadCounts(file.name, target.vocab_size,
                                                        target.fingerprint, flags.max_pairs));
    std::error_code error;
    const std::string path = std::filesystem::canonical(file.name, error).string();
    given.insert(path);
    std::ranges::move(other.added, std::back_inserter(other.corpora));
    for (CorpusCounts& corpus : other.corpora) {
      if (file.weight > 0) corpus.weight = file.weight;
      corpus.added_from = path;
      added.push_back(std::move(corpus));
    }
  }
  for (CorpusCounts& corpus : counts.added) {
    if (given.contains(corpus.added_from)) continue;
    not_given.insert(corpus.added_from);
    added.push_back(std::move(corpus));
  }
  for (const std::string& path : not_given) {
    std::cerr << absl::StrFormat("build: counted already, not given now: %s\n", Excerpt(path));
  }
  counts.added = std::move(added);
  if (flags.counts_path.empty()) return absl::OkStatus();
  const std::vector<std::string> names(given.begin(), given.end());
  return CheckKeepable(std::ssize(counts.corpora) + std::ssize(counts.added), names);
}

/// CheckWeights over all corpora of the list.
absl::Status CheckMix(const std::vector<TextCorpus>& texts, const Counts& counts) {
  std::vector<double> weights;
  for (const TextCorpus& corpus : texts) weights.push_back(corpus.weight);
  for (size_t i = texts.size(); i < counts.corpora.size(); ++i) {
    weights.push_back(counts.corpora[i].weight);
  }
  for (const CorpusCounts& corpus : counts.added) weights.push_back(corpus.weight);
  return CheckWeights(weights);
}

/// Counts the texts missing in `counts`. A signal ends the process, after the counts are saved (if
/// they are kept) and `lock` is released.
absl::Status CountTexts(const BuildFlags& flags, const ListTokenizer& tokenizer,
                        const std::vector<TextCorpus>& texts, std::istream& in,
                        std::unique_ptr<FileLock>& lock, Counts& counts) {
  ThreadPool pool(static_cast<int>(flags.num_threads));
  const EncodeText encode = tokenizer.encode();
  CorpusCounter counter({.fields = flags.texts.fields,
                         .is_jsonl = flags.texts.is_jsonl,
                         .max_pairs = flags.max_pairs,
                         .counts_path = flags.counts_path},
                        encode, pool, counts);
  if (flags.counts_path.empty()) return counter.Count(texts, in);
  const StopSignals signals;
  const absl::Status counted = counter.Count(texts, in);
  if (!absl::IsCancelled(counted)) return counted;
  std::cerr << absl::StrFormat(
      "build: stopped; what is counted is kept in %s, and the same command goes on from there\n",
      flags.counts_path);
  lock.reset();
  StopSignals::EndProcess();
}

/// For a list without successors although pairs were counted: names the flags that excluded them.
std::string NoSuccessorsNote(const std::vector<CorpusCounts>& corpora, const BuildOptions& options,
                             const VocabList& list) {
  int64_t num_pairs = 0;
  for (const CorpusCounts& corpus : corpora) num_pairs += corpus.pairs.size();
  if (list.NumSuccessors() > 0 || num_pairs == 0) return "";
  if (options.max_successors == 0) return " (--successors 0)";
  BuildOptions with_common = options, with_rare = options;
  with_common.num_common = 0;
  with_rare.min_pair_count = 1;
  const auto has_any = [&corpora](const BuildOptions& other) {
    const absl::StatusOr<VocabList> built = BuildList(corpora, other);
    return built.ok() && built->NumSuccessors() > 0;
  };
  const std::string common = absl::StrCat("--common ", options.num_common);
  const std::string rare = absl::StrCat("--min-pair-count ", options.min_pair_count);
  const bool by_common = has_any(with_common), by_rare = has_any(with_rare);
  if (by_common != by_rare) return absl::StrCat(" (left out by ", by_common ? common : rare, ")");
  return absl::StrCat(" (left out by ", common, " and ", rare, ")");
}

absl::Status Build(const BuildFlags& flags, std::istream& in, std::ostream& out) {
  if (flags.texts.patterns.empty() && flags.added_counts.empty()) {
    return absl::InvalidArgumentError("--text or --add-counts is required");
  }
  if (flags.out_path.empty() && flags.counts_path.empty()) {
    return absl::InvalidArgumentError("--out or --counts is required");
  }
  if (!flags.out_path.empty()) SHORTLIST_RETURN_IF_ERROR(CheckListName(flags.out_path));
  SHORTLIST_ASSIGN_OR_RETURN(const ListTokenizer tokenizer, ListTokenizer::Open(flags.tokenizer));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TextCorpus> texts, FindTexts(flags.texts));
  std::vector<Weighted> added_counts;
  for (const std::string& text : flags.added_counts) {
    SHORTLIST_ASSIGN_OR_RETURN(added_counts.emplace_back(), ParseWeighted("--add-counts", text));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckFiles(flags, texts, added_counts));
  const VocabTarget target = tokenizer.target();
  Counts counts{.vocab_size = target.vocab_size, .fingerprint = target.fingerprint};
  std::unique_ptr<FileLock> lock;
  if (!flags.counts_path.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(lock, FileLock::Take(flags.counts_path));
  }
  if (!flags.counts_path.empty() && FileExists(flags.counts_path)) {
    SHORTLIST_ASSIGN_OR_RETURN(counts, ReadCounts(flags.counts_path, target.vocab_size,
                                                  target.fingerprint, flags.max_pairs));
  }
  SHORTLIST_RETURN_IF_ERROR(AddCounts(flags, added_counts, target, counts));
  if (flags.out_path.empty()) {
    SHORTLIST_RETURN_IF_ERROR(CountTexts(flags, tokenizer, texts, in, lock, counts));
    std::ranges::move(counts.added, std::back_inserter(counts.corpora));
    out << absl::StrFormat("%s: %s of %s\n", flags.counts_path,
                           Counted(std::ssize(counts.corpora), "corpus", "corpora"),
                           Counted(NumTokens(counts.corpora), "token"));
    return absl::OkStatus();
  }

  BuildOptions options = flags.list;
  options.pinned = PinnedIds(tokenizer.tokenizer(), tokenizer.vocab_size(), flags.pins);
  SHORTLIST_RETURN_IF_ERROR(options.Validate(target.vocab_size));
  SHORTLIST_RETURN_IF_ERROR(CheckMix(texts, counts));
  SHORTLIST_RETURN_IF_ERROR(CountTexts(flags, tokenizer, texts, in, lock, counts));
  std::ranges::move(counts.added, std::back_inserter(counts.corpora));
  SHORTLIST_ASSIGN_OR_RETURN(VocabList list, BuildList(counts.corpora, options));
  list.source = flags.source.empty() ? SourceOf(counts.corpora) : flags.source;
  SHORTLIST_RETURN_IF_ERROR(BindList(target, list));
  SHORTLIST_RETURN_IF_ERROR(WriteListFile(flags.out_path, list));
  out << absl::StrFormat(
      "%s: %s and %s of %s%s%s\n", flags.out_path, Counted(list.NumIds(), "id"),
      Counted(list.NumSuccessors(), "successor"), Counted(NumTokens(counts.corpora), "token"),
      NoSuccessorsNote(counts.corpora, options, list), LossNote(flags.out_path, list));
  return absl::OkStatus();
}

}  // namespace

VocabSubcommand AddVocabBuild(CLI::App& vocab) {
  CLI::App* const app = vocab.add_subcommand("build", "Make a list of texts");
  const auto flags = std::make_shared<BuildFlags>();
  AddFlags(*app, *flags);
  return {app, [flags](std::istream& in, std::ostream& out) { return Build(*flags, in, out); }};
}

}  // namespace shortlist
