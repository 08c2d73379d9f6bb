#include "text/detokenizer.h"

#include <utility>

#include "base/utf8.h"

namespace shortlist {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool at_start, bool shows_controls)
    : tokenizer_(tokenizer), at_start_(at_start), shows_controls_(shows_controls) {}

std::string Detokenizer::Append(TokenId id) {
  pending_.append(shows_controls_ && tokenizer_.IsSpecial(id)
                      ? tokenizer_.NextSpelling(id, at_start_)
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

}  // namespace shortlist
