#include "text/tokenizer/words/unigram_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "text/unicode.h"

namespace shortlist {

UnigramModel::UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores, int32_t unk,
                           bool byte_fallback)
    : vocabulary_(vocabulary),
      scores_(std::move(scores)),
      unk_(unk),
      byte_fallback_(byte_fallback) {
  constexpr double kUnkPenalty = 10.0;
  unk_score_ = *std::min_element(scores_.begin(), scores_.end()) - kUnkPenalty;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.token(id).empty()) tokens_.Add(vocabulary.token(id), id);
  }
  for (int byte = 0; byte < 256; ++byte) {
    fallback_ids_[byte] = vocabulary.Find(absl::StrFormat("<0x%02X>", byte));
  }
  if (!byte_fallback || std::any_of(fallback_ids_.begin(), fallback_ids_.end(),
                                    [](const auto& id) { return !id.has_value(); })) {
    return;
  }
  size_t longest = 1;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    longest = std::max(longest, vocabulary.token(id).size());
  }
  max_token_bytes_ = static_cast<int64_t>(longest);
}

absl::Status UnigramModel::FindBestPath(std::string_view word, EncodeScratch& scratch) const {
  std::vector<EncodeScratch::PathNode>& path = scratch.path;
  path.assign(word.size() + 1, {0.0, unk_, -1});
  const auto offer = [&](size_t begin, size_t length, int32_t id, double score) {
    EncodeScratch::PathNode& node = path[begin + length];
    const double total = score + path[begin].score;
    if (node.begin < 0 || total > node.score) node = {total, id, static_cast<int32_t>(begin)};
  };
  WorkMeter meter(*scratch.budget);
  for (size_t begin = 0; begin < word.size();) {
    const size_t char_size = std::min(SequenceSize(word[begin]), word.size() - begin);
    bool has_single = false;
    const size_t looked_at = tokens_.ForEachPrefix(word, begin, [&](size_t length, int32_t id) {
      offer(begin, length, id, scores_[id]);
      has_single = has_single || length == char_size;
    });
    SHORTLIST_RETURN_IF_ERROR(meter.Add(looked_at));
    if (!has_single) offer(begin, char_size, unk_, unk_score_);
    begin += char_size;
  }
  return absl::OkStatus();
}

void UnigramModel::AppendUnknown(std::string_view part, std::vector<TokenId>& ids) const {
  // Several unknown characters together may spell a token that scored too low on its own.
  if (const std::optional<int32_t> id = vocabulary_.Find(part)) {
    ids.push_back(TokenId{*id});
    return;
  }
  const auto fallback = [this](char c) { return fallback_ids_[static_cast<uint8_t>(c)]; };
  if (byte_fallback_ &&
      std::all_of(part.begin(), part.end(), [&](char c) { return fallback(c).has_value(); })) {
    for (const char c : part) ids.push_back(TokenId{*fallback(c)});
  } else {
    ids.push_back(TokenId{unk_});
  }
}

absl::Status UnigramModel::Encode(std::string_view word, EncodeScratch& scratch,
                                  std::vector<TokenId>& ids) const {
  std::vector<EncodeScratch::PathNode>& path = scratch.path;
  SHORTLIST_RETURN_IF_ERROR(FindBestPath(word, scratch));
  // The path is linked from its end. Reversed in place: path[i].begin becomes the end of the step
  // that follows i, or -1 for the last step.
  size_t end = word.size();
  int32_t next = -1;
  while (end > 0) {
    const size_t begin = static_cast<size_t>(path[end].begin);
    path[end].begin = next;
    next = static_cast<int32_t>(end);
    end = begin;
  }
  size_t begin = 0;
  for (int32_t step = next; step >= 0;) {
    size_t step_end = static_cast<size_t>(step);
    const int32_t id = path[step_end].id;
    while (id == unk_ && path[step_end].begin >= 0 && path[path[step_end].begin].id == unk_) {
      step_end = static_cast<size_t>(path[step_end].begin);
    }
    if (id == unk_) {
      AppendUnknown(word.substr(begin, step_end - begin), ids);
    } else {
      ids.push_back(TokenId{id});
    }
    begin = step_end;
    step = path[step_end].begin;
  }
  return absl::OkStatus();
}

}  // namespace shortlist
