#include "cli/vocab/text_corpora.h"

#include <glob.h>

#include <iostream>
#include <optional>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "cli/flags/flag_kinds.h"

namespace shortlist {
namespace {

constexpr double kMostWeight = 1e9;  // keeps sums of weights finite

absl::StatusOr<std::vector<std::string>> Matches(const std::string& pattern) {
  glob_t found{};
  const int result = glob(pattern.c_str(), GLOB_ERR | GLOB_NOMAGIC, nullptr, &found);
  std::vector<std::string> files;
  for (size_t i = 0; result == 0 && i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  if (result == GLOB_NOMATCH) {
    return absl::NotFoundError(absl::StrCat("--text ", Excerpt(pattern), ": no such file"));
  }
  if (result != 0) {
    return absl::UnavailableError(
        absl::StrCat("--text ", Excerpt(pattern), ": a folder cannot be read"));
  }
  return files;
}

absl::StatusOr<TextCorpus> Find(const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(const Weighted pattern, ParseWeighted("--text", text));
  TextCorpus corpus{.name = pattern.name, .weight = pattern.weight};
  if (corpus.name == "-") {
    corpus.files = {"-"};
    return corpus;
  }
  SHORTLIST_ASSIGN_OR_RETURN(corpus.files, Matches(corpus.name));
  return corpus;
}

}  // namespace

void AddTextFlags(CLI::App& command, TextFlags& flags) {
  command
      .add_option("--text", flags.patterns,
                  "Texts or rows of JSON (*.jsonl), as they are or packed (gzip, xz, Zstandard); a "
                  "pattern, or - for standard input")
      ->required()
      ->type_name("FILE...");
  command.add_option("--text-key", flags.fields.text, "Member of a row that holds its text")
      ->type_name("KEY")
      ->capture_default_str();
  command
      .add_option("--prompts-key", flags.fields.prompt,
                  "Member that holds what the text answers: read before it, not counted")
      ->type_name("KEY");
  command.add_flag("--jsonl", flags.is_jsonl, "All files, and standard input, hold rows of JSON");
}

absl::StatusOr<Weighted> ParseWeighted(const std::string& flag, const std::string& text) {
  const size_t at = text.find('@');
  const std::optional<double> weight =
      at == std::string::npos ? std::nullopt : ParseNumber<double>(text.substr(0, at));
  if (!weight.has_value()) return Weighted{.name = text};
  if (*weight > 0 && *weight <= kMostWeight) {  // NaN is neither
    return Weighted{.name = text.substr(at + 1), .weight = *weight};
  }
  return absl::InvalidArgumentError(absl::StrCat(flag, " ", Excerpt(text), ": weight ", *weight,
                                                 " not in (0, ", kMostWeight, "]"));
}

void MissingMembers::Add(const Documents& documents) {
  num_texts += documents.num_rows_without_text();
  num_prompts += documents.num_rows_without_prompt();
}

void MissingMembers::Note(const char* command, const DocumentFields& fields) const {
  if (num_texts > 0) {
    std::cerr << absl::StrFormat("%s: %s without \"%s\" %s skipped\n", command,
                                 Counted(num_texts, "row"), Excerpt(fields.text),
                                 num_texts == 1 ? "was" : "were");
  }
  if (num_prompts > 0) {
    std::cerr << absl::StrFormat("%s: %s without \"%s\" %s read without a prompt\n", command,
                                 Counted(num_prompts, "row"), Excerpt(fields.prompt),
                                 num_prompts == 1 ? "was" : "were");
  }
}

absl::StatusOr<std::vector<TextCorpus>> FindTexts(const TextFlags& flags) {
  std::vector<TextCorpus> corpora;
  for (const std::string& pattern : flags.patterns) {
    SHORTLIST_ASSIGN_OR_RETURN(corpora.emplace_back(), Find(pattern));
  }
  return corpora;
}

}  // namespace shortlist
