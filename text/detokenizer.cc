#include "text/detokenizer.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace shortlist {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool at_start, bool shows_controls,
                         std::vector<TokenId> shown)
    : tokenizer_(tokenizer),
      at_start_(at_start),
      shows_controls_(shows_controls),
      shown_(std::move(shown)) {}

std::string Detokenizer::Append(TokenId id) {
  const bool is_shown =
      shows_controls_ || std::find(shown_.begin(), shown_.end(), id) != shown_.end();
  pending_.append(is_shown && tokenizer_.IsSpecial(id) ? tokenizer_.NextSpelling(id, at_start_)
                                                       : tokenizer_.NextBytes(id, at_start_));
  std::string text;
  const size_t num_held_back = AppendUtf8(pending_, text, tokenizer_.replacement());
  pending_.erase(0, pending_.size() - num_held_back);
  if (tokenizer_.strips_trailing_space() && pending_.empty() && text.ends_with(' ')) {
    text.pop_back();
    pending_ = " ";
  }
  return tokenizer_.cleans_up_spaces() ? cleaner_.Append(std::move(text)) : text;
}

std::string Detokenizer::Finish() {
  std::string text;
  if (pending_ != " ") AppendReplaced(pending_.size(), text, tokenizer_.replacement());
  pending_.clear();
  if (!tokenizer_.cleans_up_spaces()) return text;
  text = cleaner_.Append(std::move(text));
  return text + cleaner_.Finish();
}

std::vector<TokenId> FindControls(const Tokenizer& tokenizer,
                                  const std::vector<std::string>& spellings) {
  std::vector<TokenId> found;
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string_view piece = tokenizer.ControlPiece(TokenId{id});
    const bool is_one = std::find(spellings.begin(), spellings.end(), piece) != spellings.end();
    if (!piece.empty() && is_one) found.push_back(TokenId{id});
  }
  return found;
}

}  // namespace shortlist
