#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <istream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "cli/flags/flag_kinds.h"
#include "cli/vocab/diagnosis.h"
#include "cli/vocab/draft_target.h"
#include "cli/vocab/encoded_texts.h"
#include "cli/vocab/head_checks.h"
#include "cli/vocab/pins.h"
#include "cli/vocab/text_corpora.h"
#include "cli/vocab/text_loss.h"
#include "cli/vocab/token_text.h"
#include "cli/vocab/vocab.h"
#include "io/torch_file.h"
#include "vocab/formats/draft_checkpoint.h"
#include "vocab/formats/list_file.h"

namespace shortlist {
namespace {

constexpr size_t kNumExamples = 8;

struct DoctorFlags {
  std::string checkpoint, model;
  TextFlags texts;
  bool json = false;
  int64_t num_threads = 0;
};

/// The ids that have a row, as far as the file shows them, and what is wrong.
struct Examined {
  std::vector<int64_t> ids;
  Findings findings;
};

/// Ids whose bytes differ in the two tokenizers.
int64_t NumOtherSpellings(const std::vector<int64_t>& ids, const Tokenizer& own,
                          const Tokenizer& others) {
  return std::ranges::count_if(ids, [&](int64_t id) {
    if (id < 0 || id >= std::min(own.size(), others.size())) return false;
    const TokenId token{static_cast<int32_t>(id)};
    return own.Spelling(token) != others.Spelling(token);
  });
}

/// Compares the target's tokenizer with the one beside the draft, if there is one, and the sizes of
/// the vocabularies.
void CheckTokenizer(const DraftCheckpoint& draft, const DraftTarget& target,
                    const std::vector<int64_t>& ids, Findings& findings) {
  const int64_t own_size = draft.vocab_size(), vocab_size = target.tokenizer.vocab_size();
  if (own_size != 0 && std::abs(own_size - vocab_size) > VocabList::kMaxPadding) {
    findings.faults.push_back(
        {"vocab-size", absl::StrCat("the draft was made for a vocabulary of ", own_size,
                                    ", that of the target has ", vocab_size, " ids")});
  }
  const absl::StatusOr<std::unique_ptr<Tokenizer>> own = OpenTokenizer(draft.source);
  if (!own.ok()) return;  // hardly any draft has one
  const int64_t num_other = NumOtherSpellings(ids, **own, target.tokenizer.tokenizer());
  if (num_other == 0) return;
  findings.faults.push_back(
      {"tokenizer-differs",
       absl::StrCat(Counted(num_other, "row"), " of ", ids.size(),
                    " have another token in the tokenizer beside the draft than in the target's: "
                    "the map was made for another tokenizer")});
}

absl::StatusOr<Examined> ExamineCheckpoint(const std::string& path, const DraftTarget& target) {
  SHORTLIST_ASSIGN_OR_RETURN(const DraftCheckpoint draft, DraftCheckpoint::Open(path));
  const int64_t vocab_size = target.tokenizer.vocab_size();
  Examined examined;
  if (draft.d2t.exists()) {
    SHORTLIST_ASSIGN_OR_RETURN(const StoredMap map, draft.ReadMap());
    MapDiagnosis diagnosis = DiagnoseMap(map, vocab_size);
    examined.ids = std::move(diagnosis.ids);
    examined.findings.faults = std::move(diagnosis.faults);
  } else if (draft.kind == DraftCheckpoint::Kind::kOther) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": no tensor \"d2t\", and no EAGLE-3 or MTP head by its tensors: no list to examine"));
  } else {  // the rows are the first ids, those of its own head or of the target's
    const int64_t num_rows = draft.head.exists() ? draft.num_head_rows() : vocab_size;
    for (int64_t id = 0; id < std::min(num_rows, vocab_size); ++id) examined.ids.push_back(id);
  }
  SHORTLIST_RETURN_IF_ERROR(
      CheckHead(draft, std::ssize(examined.ids), vocab_size, examined.findings));
  SHORTLIST_RETURN_IF_ERROR(CheckEmbedding(draft, target.weights, examined.findings));
  CheckTokenizer(draft, target, examined.ids, examined.findings);
  return examined;
}

/// A list that does not fit the target is a fault of the list, and is read for no target then.
absl::StatusOr<Examined> ExamineList(const std::string& path, const DraftTarget& target) {
  Examined examined;
  absl::StatusOr<VocabList> list = ReadListFile(path, target.tokenizer.target());
  if (absl::IsFailedPrecondition(list.status())) {
    examined.findings.faults.push_back({"tokenizer-differs", std::string(list.status().message())});
    list = ReadListFile(path, {});
  }
  SHORTLIST_RETURN_IF_ERROR(list.status());
  for (const TokenId id : list->PinnedFirst()) examined.ids.push_back(Raw(id));
  return examined;
}

absl::StatusOr<Examined> Examine(const std::string& path, const DraftTarget& target) {
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(path, ignored);
  bool is_tensors = !is_file || path.ends_with(".safetensors") || path.ends_with(".bin") ||
                    path.ends_with(".gguf");
  if (path.ends_with(".pt") || path.ends_with(".pth")) {
    SHORTLIST_ASSIGN_OR_RETURN(is_tensors, IsTorchDict(path));
  }
  return is_tensors ? ExamineCheckpoint(path, target) : ExamineList(path, target);
}

/// "3 of 256 byte tokens have no row, such as ..."
std::string Missing(const std::vector<TokenId>& missing, size_t num_all, const char* kind,
                    const Tokenizer& tokenizer) {
  std::vector<std::string> examples;
  for (const TokenId id : missing) {
    if (examples.size() == kNumExamples) break;
    examples.push_back(absl::StrCat(Raw(id), " ", TokenText(id, &tokenizer)));
  }
  return absl::StrCat(missing.size(), " of ", num_all, " ", kind, " have no row, such as ",
                      absl::StrJoin(examples, ", "));
}

/// Tokens of one kind, and those of them without a row.
struct PinGroup {
  const char* kind;
  size_t num_all = 0;
  std::vector<TokenId> missing;

  void Add(TokenId id, bool has_row) {
    ++num_all;
    if (!has_row) missing.push_back(id);
  }
};

/// Bytes for which no token of that byte alone has a row. A character that is a token of its own
/// needs no byte token.
void AddBytes(const Tokenizer& tokenizer, const TextLoss& loss, PinGroup& ascii, PinGroup& others) {
  std::array<std::optional<TokenId>, 256> example;
  std::array<bool, 256> has_row{};
  for (const TokenId id : PinnedIds(tokenizer, std::ssize(loss.counts()), Pins::kControlAndBytes)) {
    if (IsControl(tokenizer, id)) continue;
    const auto byte = static_cast<uint8_t>(tokenizer.TokenBytes(id)[0]);
    if (!example[byte].has_value() || !tokenizer.IsByteToken(id)) example[byte] = id;
    has_row[byte] = has_row[byte] || loss.HasRow(Raw(id));
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    if (!example[byte].has_value()) continue;
    const bool is_ascii = (byte >= 0x20 && byte < 0x7F) || byte == '\n';
    (is_ascii ? ascii : others).Add(*example[byte], has_row[byte]);
  }
}

/// Checks that the tokens exist with which outputs end and every text can be written.
void CheckPins(const DraftTarget& target, const TextLoss& loss, Findings& findings) {
  const Tokenizer& tokenizer = target.tokenizer.tokenizer();
  PinGroup ends{"tokens that end an output"}, controls{"control tokens"};
  PinGroup ascii{"tokens of a single ASCII character"}, others{"tokens of another byte"};
  for (const TokenId id : target.end_ids) ends.Add(id, loss.HasRow(Raw(id)));
  for (const TokenId id : PinnedIds(tokenizer, target.tokenizer.vocab_size(), Pins::kControl)) {
    controls.Add(id, loss.HasRow(Raw(id)));
  }
  AddBytes(tokenizer, loss, ascii, others);
  const auto add = [&](const PinGroup& group, const char* code, const char* meaning,
                       std::vector<MapFault>& to) {
    if (group.missing.empty()) return;
    to.push_back({code, Missing(group.missing, group.num_all, group.kind, tokenizer) + meaning});
  };
  // One of several is enough: <|im_end|> of a chat model whose texts never end otherwise.
  add(ends, "end-missing",
      ": the draft does not propose such an end, and the last step of a reply is lost",
      ends.missing.size() == ends.num_all ? findings.faults : findings.warnings);
  // A few rare characters may be missing in a sound map by frequency.
  const bool lacks_ascii = 20 * ascii.missing.size() > ascii.num_all;
  add(ascii, "bytes-missing",
      ": text that uses them breaks every chain; a map by frequency of the target's own tokens "
      "has them",
      lacks_ascii ? findings.faults : findings.warnings);
  constexpr const char* kReslice = ". `vocab reslice` pins those that the head has a row for";
  add(others, "bytes-rare", kReslice, findings.warnings);
  add(controls, "control-missing", kReslice, findings.warnings);
}

absl::Status Doctor(const DoctorFlags& flags, std::istream& in, std::ostream& out) {
  SHORTLIST_ASSIGN_OR_RETURN(const DraftTarget target, DraftTarget::Open(flags.model));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TextCorpus> corpora, FindTexts(flags.texts));
  SHORTLIST_RETURN_IF_ERROR(CheckTexts(corpora));
  SHORTLIST_ASSIGN_OR_RETURN(Examined examined, Examine(flags.checkpoint, target));
  const int64_t vocab_size = target.tokenizer.vocab_size();
  std::vector<bool> has_row(vocab_size);
  for (const int64_t id : examined.ids) {
    if (id >= 0 && id < vocab_size) has_row[id] = true;
  }
  const int64_t num_rows = std::ranges::count(has_row, true);
  TextLoss loss(target.tokenizer.tokenizer(), std::move(has_row));
  ThreadPool pool(static_cast<int>(flags.num_threads));
  const EncodeText encode = target.tokenizer.encode();
  const TextReading reading = {"doctor", flags.texts, corpora, encode, vocab_size, pool};
  SHORTLIST_RETURN_IF_ERROR(ForEachText(reading, in, [&loss](const EncodedText& text) {
    loss.Add(text);
    return absl::OkStatus();
  }));
  CheckPins(target, loss, examined.findings);
  const Diagnosis diagnosis = {.path = flags.checkpoint,
                               .tokenizer = target.tokenizer.tokenizer(),
                               .num_rows = num_rows,
                               .vocab_size = vocab_size,
                               .findings = std::move(examined.findings),
                               .loss = loss};
  if (flags.json) {
    WriteDiagnosisJson(diagnosis, out);
  } else {
    WriteDiagnosis(diagnosis, out);
  }
  const std::vector<MapFault>& faults = diagnosis.findings.faults;
  if (faults.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(flags.checkpoint, ": ", Counted(std::ssize(faults), "fault"), ": ",
                   absl::StrJoin(faults, ", ", [](std::string* text, const MapFault& fault) {
                     absl::StrAppend(text, fault.code);
                   })));
}

}  // namespace

VocabSubcommand AddVocabDoctor(CLI::App& vocab) {
  CLI::App* const app = vocab.add_subcommand(
      "doctor",
      "Report what a draft head's list (d2t) loses on given texts, and its faults (exit code 2)");
  const auto flags = std::make_shared<DoctorFlags>();
  app->add_option(
         "checkpoint", flags->checkpoint,
         "A draft's directory, a file with d2t (.safetensors, .bin, .pt, .gguf), or a list")
      ->required()
      ->type_name("CHECKPOINT");
  app->add_option("--model", flags->model,
                  "The target: a directory, or org/name[@revision] of the cache")
      ->required()
      ->type_name("TARGET");
  AddTextFlags(*app, flags->texts);
  app->add_flag("--json", flags->json, "JSON instead of text");
  AddThreadsFlag(*app, flags->num_threads);
  return {app, [flags](std::istream& in, std::ostream& out) { return Doctor(*flags, in, out); }};
}

}  // namespace shortlist
