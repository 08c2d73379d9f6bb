#include "cli/vocab/text_loss.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/script.h"
#include "text/unicode.h"

namespace shortlist {
namespace {

/// Returns the entry of `key`, made if there is none.
LossCount& Entry(std::map<std::string, LossCount, std::less<>>& counts, std::string_view key) {
  const auto found = counts.find(key);
  if (found != counts.end()) return found->second;
  return counts.emplace(std::string(key), LossCount()).first->second;
}

/// Offsets of the characters of `bytes`, ascending, and of the bytes that are no UTF-8, each of
/// which counts as one.
struct Character {
  size_t begin;
  char32_t c;
  bool is_valid;
};
std::vector<Character> CharactersOf(std::string_view bytes) {
  std::vector<Character> characters;
  for (size_t i = 0; i < bytes.size();) {
    const size_t size = SequenceSize(bytes[i]);
    const bool is_valid =
        i + size <= bytes.size() && !FindInvalidUtf8(bytes.substr(i, size)).has_value();
    size_t end = i;
    const char32_t c = is_valid ? NextChar(bytes, end) : 0;
    characters.push_back({i, c, is_valid});
    i = is_valid ? end : i + 1;
  }
  return characters;
}

bool IsLetterOrMark(const Character& character) {
  if (!character.is_valid) return false;
  const std::string_view category = CategoryOf(character.c);
  return category == "letters" || category == "marks";
}

}  // namespace

TextLoss::TextLoss(const Tokenizer& tokenizer, std::vector<bool> has_row)
    : tokenizer_(&tokenizer), has_row_(std::move(has_row)), counts_(has_row_.size()) {}

void TextLoss::Add(const EncodedText& text) {
  const std::string name = text.category.empty() ? text.corpus : text.corpus + ", " + text.category;
  LossCount& of_text = of_texts_[name];
  for (const TokenId id : text.output) {
    const bool is_lost = !has_row_[Raw(id)];
    ++counts_[Raw(id)];
    total_.Add(is_lost);
    of_text.Add(is_lost);
  }
  CountCharacters(text.output);
}

void TextLoss::CountCharacters(std::span<const TokenId> ids) {
  std::string bytes;
  std::vector<size_t> ends;
  for (const TokenId id : ids) {
    bytes += tokenizer_->TokenBytes(id);
    ends.push_back(bytes.size());
  }
  const std::vector<Character> characters = CharactersOf(bytes);
  size_t begin = 0, first = 0;  // of the token; the character that holds its first byte
  for (size_t i = 0; i < ids.size(); begin = ends[i++]) {
    const bool is_lost = !has_row_[Raw(ids[i])];
    if (ends[i] == begin) {
      Entry(of_categories_, "special").Add(is_lost);
      continue;
    }
    while (first + 1 < characters.size() && characters[first + 1].begin <= begin) ++first;
    const Character* shown = &characters[first];
    for (size_t k = first; k < characters.size() && characters[k].begin < ends[i]; ++k) {
      if (!IsLetterOrMark(characters[k])) continue;
      shown = &characters[k];
      break;
    }
    Entry(of_categories_, shown->is_valid ? CategoryOf(shown->c) : "bytes").Add(is_lost);
    const std::string_view script = shown->is_valid ? ScriptOf(shown->c) : std::string_view();
    if (!script.empty()) Entry(of_scripts_, script).Add(is_lost);
  }
}

std::vector<TextLoss::LostToken> TextLoss::MostLost(size_t count) const {
  std::vector<LostToken> lost;
  for (size_t id = 0; id < counts_.size(); ++id) {
    if (counts_[id] == 0 || has_row_[id]) continue;
    lost.push_back({TokenId{static_cast<int32_t>(id)}, counts_[id]});
  }
  std::ranges::stable_sort(lost, std::greater<>(), &LostToken::count);
  if (lost.size() > count) lost.resize(count);
  return lost;
}

}  // namespace shortlist
