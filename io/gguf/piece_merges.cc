#include "io/gguf/piece_merges.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "absl/strings/str_cat.h"

namespace shortlist {
namespace {

constexpr size_t kMaxPieceBytes = 256;
constexpr size_t kMaxMerges = size_t{1} << 23;  // Gemma 3 has 514,906

struct Merge {
  int32_t whole;  // index of the piece that the merge makes
  int32_t cut;    // bytes of its left part
};

}  // namespace

absl::StatusOr<std::vector<std::string>> PieceMerges(const std::vector<ScoredPiece>& pieces) {
  std::unordered_set<std::string_view> texts;
  texts.reserve(pieces.size());
  for (const auto& [text, score] : pieces) {
    if (text.size() > kMaxPieceBytes) {
      return absl::InvalidArgumentError(absl::StrCat("piece \"", text.substr(0, 80), "...\" has ",
                                                     text.size(), " bytes, more than ",
                                                     kMaxPieceBytes));
    }
    texts.insert(text);
  }
  std::vector<Merge> merges;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::string_view text = pieces[i].text;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if (!texts.contains(text.substr(0, cut)) || !texts.contains(text.substr(cut))) continue;
      merges.push_back({static_cast<int32_t>(i), static_cast<int32_t>(cut)});
    }
    if (merges.size() > kMaxMerges) {
      return absl::InvalidArgumentError(
          absl::StrCat("pieces have more than ", kMaxMerges, " merges"));
    }
  }
  std::stable_sort(merges.begin(), merges.end(), [&](const Merge& a, const Merge& b) {
    return pieces[a.whole].score > pieces[b.whole].score;
  });
  std::vector<std::string> lines;
  lines.reserve(merges.size());
  for (const Merge& merge : merges) {
    const std::string_view text = pieces[merge.whole].text;
    lines.push_back(std::string(text.substr(0, merge.cut)) + " ");
    lines.back().append(text.substr(merge.cut));
  }
  return lines;
}

}  // namespace shortlist
