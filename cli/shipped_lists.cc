#include "cli/shipped_lists.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <tuple>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/program_folder.h"
#include "vocab/byte_source.h"
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

/// The size of the tokenizer that a list was made with, which stands at its front; 0: not known.
int64_t StatedVocabSize(const std::string& path) {
  const absl::StatusOr<std::unique_ptr<ByteSource>> source = ByteSource::Open(path);
  std::string front;
  if (!source.ok() || !(*source)->Read(front).ok()) return 0;
  constexpr char kMember[] = "\"vocab_size\":";
  const size_t begin = front.find(kMember);
  if (begin == std::string::npos) return 0;
  const size_t end = front.find(',', begin);
  int64_t size = 0;
  const std::string digits =
      front.substr(begin + sizeof(kMember) - 1, end - begin - sizeof(kMember) + 1);
  return absl::SimpleAtoi(digits, &size) ? size : 0;
}

/// Models of a family differ by a few control tokens. A list takes half a second to read, so one of
/// a tokenizer of quite another size is not.
bool IsWorthReading(const std::string& path, int64_t num_ids) {
  const int64_t size = StatedVocabSize(path);
  return std::abs(size - num_ids) <= std::max(size, num_ids) / 20;
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
    if (!IsWorthReading(path, session.models().tokenizer().size())) continue;
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
