#include "cli/shipped_lists.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/program_folder.h"
#include "vocab/vocab_options.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;

// Successors that a draft step scores: those that `vocab build` keeps of a token.
constexpr int64_t kSuccessors = 512;
constexpr int64_t kDynamicRows = 128;

/// Empty: there is none.
fs::path ListFolder() {
  for (const char* folder : {"vocab_lists", "share/shortlist/vocab_lists"}) {
    if (const auto above = FindAtOrAboveProgram(folder); above.ok()) return *above / folder;
  }
  return {};
}

}  // namespace

std::vector<std::string> ShippedLists() {
  std::vector<std::string> lists;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(ListFolder(), error)) {
    const std::string name = entry.path().filename().string();
    if (absl::StrContains(name, ".vocab.json")) lists.push_back(entry.path().string());
  }
  // qwen.vocab.json.xz is of all kinds of text, qwen.math.vocab.json.xz of one.
  std::ranges::sort(lists, {}, [](const std::string& path) {
    return std::tuple(std::ranges::count(fs::path(path).filename().string(), '.'), path);
  });
  return lists;
}

std::string PruningHint(const Session& session) {
  if (!session.scores_full_head() || session.flags().given.vocab) return "";
  for (const std::string& path : ShippedLists()) {
    const std::string vocab = absl::StrCat(path, ":auto:successors=", kSuccessors);
    const absl::StatusOr<VocabOptions> options = ParseVocabFlag(vocab);
    // Another tokenizer's list is refused, and one that the draft's head has too few rows for.
    if (!options.ok() || !session.models().SelectLadder(*options).ok()) continue;
    return absl::StrCat(
        "the draft scores the full head; a list of this tokenizer prunes it: --vocab ", vocab,
        " --dynamic-rows ", kDynamicRows);
  }
  const ModelOptions& models = session.flags().models;
  return absl::StrCat(
      "the draft scores the full head; no shipped list fits this tokenizer, but a sketch needs "
      "none: shortlist vocab sketch --model ",
      models.model, " --draft ", models.draft,
      " --prompts FILE.jsonl --out FILE, then --vocab empty --sketch FILE --dynamic-rows ",
      kDynamicRows);
}

}  // namespace shortlist
