#include "text/tokenizer/words/bpe_model.h"

#include <algorithm>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "text/unicode.h"

namespace shortlist {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581
// Up to this many symbols, looking at all neighbours for each merge is faster than keeping a heap.
constexpr size_t kMaxShortWord = 32;

/// True if U+2581 follows another character in `token`.
bool HasInnerSpaceMark(std::string_view token) {
  while (token.starts_with(kSpaceMark)) token.remove_prefix(kSpaceMark.size());
  return token.find(kSpaceMark) != std::string_view::npos;
}

std::string InAlphabet(uint8_t byte) {
  std::string text;
  AppendChar(ByteAlphabet()[byte], text);
  return text;
}

absl::Status RefuseMerge(size_t rank, const std::pair<std::string, std::string>& merge,
                         const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("merge ", rank, " (\"", merge.first.substr(0, 80),
                                                 "\", \"", merge.second.substr(0, 80),
                                                 "\"): ", what));
}

/// Order of the heap: std::push_heap keeps the greatest element in front.
bool ComesLater(const EncodeScratch::Candidate& a, const EncodeScratch::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.pos > b.pos;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BpeModel>> BpeModel::Create(const Vocabulary& vocabulary,
                                                           const Merges& merges, Options options) {
  std::unique_ptr<BpeModel> model(new BpeModel(vocabulary, std::move(options)));
  SHORTLIST_RETURN_IF_ERROR(model->AddMerges(merges));
  model->FindBytes();
  model->FindMaxTokenBytes(/*spelled_in_alphabet=*/model->options_.byte_level);
  return model;
}

absl::StatusOr<std::unique_ptr<BpeModel>> BpeModel::CreateFromRanks(const Vocabulary& vocabulary) {
  std::unique_ptr<BpeModel> model(
      new BpeModel(vocabulary, {.byte_level = true, .ignore_merges = true}));
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const std::optional<int32_t> id = vocabulary.Find(std::string_view(&c, 1));
    if (!id.has_value()) {
      return absl::InvalidArgumentError(absl::StrFormat("byte 0x%02X has no rank", byte));
    }
    model->byte_ids_[byte] = model->last_byte_ids_[byte] = *id;
  }
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view token = vocabulary.token(id);
    if (!token.empty()) model->word_ids_.emplace(std::string(token), id);
    for (size_t cut = 1; cut < token.size(); ++cut) {
      const std::optional<int32_t> left = vocabulary.Find(token.substr(0, cut));
      const std::optional<int32_t> right = vocabulary.Find(token.substr(cut));
      if (left.has_value() && right.has_value()) {
        model->merges_[PairKey(*left, *right)] = {static_cast<uint32_t>(id), id};
      }
    }
  }
  model->FindMaxTokenBytes(/*spelled_in_alphabet=*/false);
  return model;
}

std::unique_ptr<BpeModel> BpeModel::CreateFromScores(
    const Vocabulary& vocabulary, const std::vector<std::pair<int32_t, float>>& tokens) {
  std::unique_ptr<BpeModel> model(new BpeModel(vocabulary, {.byte_fallback = true}));
  std::vector<float> scores;  // descending; a token's rank is the index of its score
  std::vector<bool> is_scored(static_cast<size_t>(vocabulary.size()));
  for (const auto& [id, score] : tokens) {
    scores.push_back(score);
    is_scored[id] = true;
  }
  std::sort(scores.begin(), scores.end(), std::greater<>());
  const auto find = [&](std::string_view part) {
    const std::optional<int32_t> id = vocabulary.Find(part);
    return id.has_value() && is_scored[*id] ? id : std::nullopt;
  };
  for (const auto& [id, score] : tokens) {
    const auto at = std::lower_bound(scores.begin(), scores.end(), score, std::greater<>());
    const auto rank = static_cast<uint32_t>(at - scores.begin());
    const std::string_view token = vocabulary.token(id);
    for (size_t cut = 1; cut < token.size(); ++cut) {
      const std::optional<int32_t> left = find(token.substr(0, cut));
      if (!left.has_value()) continue;
      const std::optional<int32_t> right = find(token.substr(cut));
      if (right.has_value()) model->merges_[PairKey(*left, *right)] = {rank, id};
    }
  }
  model->FindBytes();
  model->FindMaxTokenBytes(/*spelled_in_alphabet=*/false);
  return model;
}

absl::Status BpeModel::AddMerges(const Merges& merges) {
  const size_t prefix_size = options_.continuing_subword_prefix.size();
  merges_.reserve(merges.size());
  splits_before_space_marks_ = !options_.byte_level && !options_.ignore_merges &&
                               options_.continuing_subword_prefix.empty() &&
                               options_.end_of_word_suffix.empty() &&
                               vocabulary_.Find(kSpaceMark).has_value();
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    if (right.size() < prefix_size) {
      return RefuseMerge(rank, merges[rank],
                         "the second part is shorter than the prefix \"" +
                             Excerpt(options_.continuing_subword_prefix) + "\"");
    }
    const std::string result = left + right.substr(prefix_size);
    int32_t ids[3];
    int count = 0;
    for (const std::string& token : {left, right, result}) {
      const std::optional<int32_t> id = vocabulary_.Find(token);
      if (!id.has_value()) {
        return RefuseMerge(rank, merges[rank],
                           "token \"" + token.substr(0, 160) + "\" is not in the vocabulary");
      }
      ids[count++] = *id;
    }
    merges_[PairKey(ids[0], ids[1])] = {static_cast<uint32_t>(rank), ids[2]};
    if (HasInnerSpaceMark(result)) splits_before_space_marks_ = false;
  }
  return absl::OkStatus();
}

void BpeModel::FindBytes() {
  for (int i = 0; i < 256; ++i) {
    const uint8_t byte = static_cast<uint8_t>(i);
    const std::string character = InAlphabet(byte);
    byte_ids_[i] = vocabulary_.Find(character).value_or(-1);
    last_byte_ids_[i] = vocabulary_.Find(character + options_.end_of_word_suffix).value_or(-1);
    fallback_ids_[i] = vocabulary_.Find(absl::StrFormat("<0x%02X>", byte)).value_or(-1);
  }
  if (!options_.byte_level || !options_.ignore_merges) return;
  for (int32_t id = 0; id < vocabulary_.size(); ++id) {
    const std::string& token = vocabulary_.token(id);
    std::string bytes = BytesOfAlphabet(token);
    // A token that is not spelled in the alphabet is returned unchanged and equals no word.
    std::string spelled;
    for (const char c : bytes) spelled += InAlphabet(static_cast<uint8_t>(c));
    if (!token.empty() && spelled == token) word_ids_.emplace(std::move(bytes), id);
  }
}

void BpeModel::FindMaxTokenBytes(bool spelled_in_alphabet) {
  const auto all_known = [](const std::array<int32_t, 256>& ids) {
    return std::all_of(ids.begin(), ids.end(), [](int32_t id) { return id >= 0; });
  };
  const bool covers_bytes = options_.byte_level
                                ? all_known(byte_ids_) && all_known(last_byte_ids_)
                                : options_.byte_fallback && all_known(fallback_ids_);
  drops_words_ = !covers_bytes && !options_.unk.has_value();
  // Marks may merge across a dropped character.
  splits_before_space_marks_ &= !drops_words_;
  if (!covers_bytes && (!options_.unk.has_value() || options_.fuse_unk)) return;
  int64_t longest = 1;
  for (int32_t id = 0; id < vocabulary_.size(); ++id) {
    const std::string& token = vocabulary_.token(id);
    const auto is_lead = [](char c) { return (c & 0xC0) != 0x80; };
    const int64_t num_bytes = spelled_in_alphabet
                                  ? std::count_if(token.begin(), token.end(), is_lead)
                                  : static_cast<int64_t>(token.size());
    longest = std::max(longest, num_bytes);
  }
  // An unknown token, even one spelled with one letter, stands for up to 4 bytes and may have
  // merges.
  max_token_bytes_ = covers_bytes ? longest : 4 * longest;
}

std::optional<int32_t> BpeModel::FindWord(std::string_view word) const {
  if (!options_.byte_level) return vocabulary_.Find(word);
  const auto found = word_ids_.find(absl::string_view(word.data(), word.size()));
  if (found == word_ids_.end()) return std::nullopt;
  return found->second;
}

absl::Status BpeModel::Encode(std::string_view word, EncodeScratch& scratch,
                              std::vector<TokenId>& ids) const {
  if (options_.ignore_merges) {
    if (const std::optional<int32_t> id = FindWord(word)) {
      ids.push_back(TokenId{*id});
      return absl::OkStatus();
    }
  }
  std::vector<Symbol>& symbols = scratch.symbols;
  symbols.clear();
  if (options_.byte_level) {
    AppendBytes(word, symbols);
  } else {
    AppendCharacters(word, symbols);
  }
  if (symbols.size() <= kMaxShortWord) {
    MergeShort(symbols);
    for (const Symbol& symbol : symbols) ids.push_back(TokenId{symbol.id});
    return absl::OkStatus();
  }
  SHORTLIST_RETURN_IF_ERROR(MergeLong(scratch));
  for (int32_t i = 0; i >= 0; i = symbols[i].next) ids.push_back(TokenId{symbols[i].id});
  return absl::OkStatus();
}

void BpeModel::AppendUnknown(bool& after_unknown, std::vector<Symbol>& symbols) const {
  if (!options_.unk.has_value()) return;
  if (!after_unknown || !options_.fuse_unk) symbols.push_back({*options_.unk, -1, -1});
  after_unknown = true;
}

void BpeModel::AppendBytes(std::string_view word, std::vector<Symbol>& symbols) const {
  bool after_unknown = false;
  for (size_t i = 0; i < word.size(); ++i) {
    const auto& table = i + 1 < word.size() ? byte_ids_ : last_byte_ids_;
    const int32_t id = table[static_cast<uint8_t>(word[i])];
    if (id < 0) {
      AppendUnknown(after_unknown, symbols);
    } else {
      symbols.push_back({id, -1, -1});
      after_unknown = false;
    }
  }
}

bool BpeModel::AppendFallback(std::string_view character, std::vector<Symbol>& symbols) const {
  const auto id = [this](char c) { return fallback_ids_[static_cast<uint8_t>(c)]; };
  if (!options_.byte_fallback ||
      std::any_of(character.begin(), character.end(), [&](char c) { return id(c) < 0; })) {
    return false;
  }
  for (const char c : character) symbols.push_back({id(c), -1, -1});
  return true;
}

void BpeModel::AppendCharacters(std::string_view word, std::vector<Symbol>& symbols) const {
  const bool plain =
      options_.continuing_subword_prefix.empty() && options_.end_of_word_suffix.empty();
  bool after_unknown = false;
  std::string decorated;
  for (size_t i = 0; i < word.size();) {
    const size_t begin = i;
    i = std::min(i + SequenceSize(word[i]), word.size());
    std::string_view character = word.substr(begin, i - begin);
    if (!plain) {
      decorated = begin > 0 ? options_.continuing_subword_prefix : "";
      decorated.append(character);
      if (i == word.size()) decorated.append(options_.end_of_word_suffix);
      character = decorated;
    }
    if (const std::optional<int32_t> id = vocabulary_.Find(character)) {
      symbols.push_back({*id, -1, -1});
      after_unknown = false;
    } else if (AppendFallback(character, symbols)) {
      after_unknown = false;
    } else {
      AppendUnknown(after_unknown, symbols);
    }
  }
}

void BpeModel::MergeShort(std::vector<Symbol>& symbols) const {
  const Merge* with_next[kMaxShortWord];  // of each symbol but the last
  for (size_t i = 0; i + 1 < symbols.size(); ++i) {
    with_next[i] = FindMerge(symbols[i].id, symbols[i + 1].id);
  }
  while (symbols.size() > 1) {
    const size_t last = symbols.size() - 1;
    size_t best = last;
    for (size_t i = 0; i < last; ++i) {
      if (with_next[i] == nullptr) continue;
      if (best == last || with_next[i]->rank < with_next[best]->rank) best = i;
    }
    if (best == last) return;
    symbols[best].id = with_next[best]->id;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
    std::copy(with_next + best + 1, with_next + last, with_next + best);
    if (best > 0) with_next[best - 1] = FindMerge(symbols[best - 1].id, symbols[best].id);
    if (best + 1 < last) with_next[best] = FindMerge(symbols[best].id, symbols[best + 1].id);
  }
}

absl::Status BpeModel::MergeLong(EncodeScratch& scratch) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  std::vector<EncodeScratch::Candidate>& heap = scratch.candidates;
  heap.clear();
  const auto consider = [&](int32_t pos) {
    const Merge* merge = FindMerge(symbols[pos].id, symbols[symbols[pos].next].id);
    if (merge != nullptr) heap.push_back({merge->rank, pos, merge->id});
    return merge != nullptr;
  };
  const int32_t last = static_cast<int32_t>(symbols.size()) - 1;
  for (int32_t i = 0; i <= last; ++i) {
    symbols[i].prev = i - 1;
    symbols[i].next = i < last ? i + 1 : -1;
  }
  for (int32_t i = 0; i < last; ++i) consider(i);
  std::make_heap(heap.begin(), heap.end(), ComesLater);

  constexpr int32_t kGone = -1;  // id of a symbol that was merged into its left neighbour
  WorkMeter meter(*scratch.budget);
  while (!heap.empty()) {
    SHORTLIST_RETURN_IF_ERROR(meter.Add(1));
    std::pop_heap(heap.begin(), heap.end(), ComesLater);
    const EncodeScratch::Candidate top = heap.back();
    heap.pop_back();
    Symbol& symbol = symbols[top.pos];
    if (symbol.id == kGone || symbol.next < 0) continue;
    Symbol& right = symbols[symbol.next];
    const Merge* merge = FindMerge(symbol.id, right.id);
    if (merge == nullptr || merge->id != top.id) continue;  // a neighbour has merged since
    symbol.id = top.id;
    right.id = kGone;
    symbol.next = right.next;
    if (symbol.next >= 0) symbols[symbol.next].prev = top.pos;
    if (symbol.prev >= 0 && consider(symbol.prev)) {
      std::push_heap(heap.begin(), heap.end(), ComesLater);
    }
    if (symbol.next >= 0 && consider(top.pos)) {
      std::push_heap(heap.begin(), heap.end(), ComesLater);
    }
  }
  return absl::OkStatus();
}

}  // namespace shortlist
