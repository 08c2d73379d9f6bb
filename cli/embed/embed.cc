#include "cli/embed/embed.h"

#include <chrono>
#include <iostream>
#include <memory>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "cli/embed/embed_rows.h"
#include "cli/embed/picture_rows.h"
#include "cli/embed/vector_file.h"
#include "cli/flags/flag_kinds.h"
#include "io/quote.h"

namespace shortlist {
namespace {

absl::StatusOr<TextRows> ReadTexts(const EmbedFlags& flags, std::istream& in) {
  if (flags.texts.empty()) return ReadRows(flags.in, BlankLines::kRefused, in);
  TextRows texts{.origin = "--text", .rows = {}};
  for (const std::string& text : flags.texts) {
    texts.rows.push_back({text, std::ssize(texts.rows) + 1});
    if (text.empty()) return absl::InvalidArgumentError("--text: the text is empty");
  }
  return texts;
}

absl::StatusOr<std::string> InstructionOf(const EmbedFlags& flags, const EmbeddingConfig& config) {
  if (flags.instruction.has_value()) {
    if (!FindInvalidUtf8(*flags.instruction)) return *flags.instruction;
    return absl::InvalidArgumentError("--instruction: not valid UTF-8");
  }
  const std::string name =
      flags.prompt_name.empty() ? config.default_prompt_name.value_or("") : flags.prompt_name;
  if (name.empty()) return std::string();
  const auto prompt = config.prompts.find(name);
  if (prompt != config.prompts.end()) return prompt->second;
  std::string names;
  for (const auto& [known, unused] : config.prompts) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", Quote(known));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--prompt-name: ", Quote(name), " is none of the model's: ", names));
}

}  // namespace

void AddEmbedFlags(CLI::App& command, EmbedFlags& flags) {
  AddEncodingFlags(command, flags.encoding);
  AddTextInputFlags(command, flags.in);
  command.add_option("--text", flags.texts, "A text, in place of --in; may be given again")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->excludes("--in");
  command
      .add_option("--out", flags.out_path,
                  "Vectors: .npy (f32, [texts, dimensions]) or .jsonl ({\"index\", "
                  "\"embedding\"}); .jsonl to standard output without it. Rows are appended to "
                  "FILE.part, which gets its name when all are there; the same command resumes "
                  "an interrupted run. FILE.json says what the vectors were made of")
      ->type_name("FILE");
  AddInteger<int64_t>(command, "--dimensions", flags.dimensions, 1, kMaxCount,
                      "The first ones of each vector")
      ->default_str("all");
  CLI::Option* const sparse = command.add_flag("--sparse", flags.sparse,
                                               "Sparse vectors, as .jsonl ({\"index\", \"sparse\": "
                                               "[{\"index\", \"value\"}]}), of a model that "
                                               "makes them: bge-m3's, SPLADE");
  AddInteger<int64_t>(command, "--sparse-top-n", flags.sparse_top_n, 1, kMaxCount,
                      "The largest weights of each sparse vector")
      ->needs(sparse)
      ->default_str("all");
  CLI::Option* const name = command.add_option(
      "--prompt-name", flags.prompt_name, "Which of the model's prompts goes before each text");
  name->type_name("NAME")->default_str("the model's default, else none");
  command.add_option("--instruction", flags.instruction, "Text that goes before each text")
      ->type_name("TEXT")
      ->excludes(name);
}

absl::Status Embed(const EmbedFlags& flags, std::istream& in, std::ostream& out) {
  SHORTLIST_ASSIGN_OR_RETURN(const TextRows texts, ReadTexts(flags, in));
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::unique_ptr<BulkEncoder> encoder,
      BulkEncoder::Open(
          flags.encoding, flags.encoding.model.model,
          flags.out_path.empty() ? BulkEncoder::Keeps::kNothing : BulkEncoder::Keeps::kVectors));
  SHORTLIST_ASSIGN_OR_RETURN(const EmbeddingConfig* const config,
                             EmbeddingOf(*encoder, flags.sparse));
  EmbedTask task{.texts = texts,
                 .instruction = "",
                 .dimensions = flags.dimensions,
                 .sparse = flags.sparse,
                 .sparse_top_n = flags.sparse_top_n};
  SHORTLIST_ASSIGN_OR_RETURN(task.instruction, InstructionOf(flags, *config));
  if (task.sparse && task.dimensions > 0) {
    return absl::InvalidArgumentError("--dimensions: a sparse vector has no first ones");
  }
  if (task.dimensions > encoder->model().result_size()) {
    return absl::InvalidArgumentError(absl::StrCat("--dimensions: ", task.dimensions,
                                                   " not in [1, ", encoder->model().result_size(),
                                                   "], those of the model"));
  }
  const auto begin = std::chrono::steady_clock::now();
  if (flags.out_path.empty()) {
    SHORTLIST_RETURN_IF_ERROR(
        EmbedRows(*encoder, task, 0, [&](int64_t row, const EncodeResult& result) {
          out << RowJson(task, row, result);
          return out ? absl::OkStatus() : absl::InternalError("cannot write to standard output");
        }));
  } else {
    SHORTLIST_RETURN_IF_ERROR(EmbedToFile(*encoder, task, flags.out_path));
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::cerr << absl::StrFormat(
      "embed: %s, %s computed in %.3f s on %s; %s cut to %s\n",
      Counted(std::ssize(texts.rows), texts.are_pictures ? "picture" : "text"),
      Counted(encoder->num_tokens(), "token"), time.count(),
      Counted(flags.encoding.num_threads, "thread"),
      Counted(encoder->num_cut(), "text was", "texts were"),
      Counted(encoder->model().max_input_tokens(), "token"));
  return absl::OkStatus();
}

}  // namespace shortlist
