#include "text/detokenizer.h"

#include "base/utf8.h"

namespace shortlist {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool at_start)
    : tokenizer_(tokenizer), at_start_(at_start) {}

std::string Detokenizer::Append(TokenId id) {
  pending_.append(tokenizer_.NextBytes(id, at_start_));
  std::string text;
  const size_t num_held_back = AppendUtf8(pending_, text, tokenizer_.replacement());
  pending_.erase(0, pending_.size() - num_held_back);
  if (tokenizer_.strips_trailing_space() && pending_.empty() && text.ends_with(' ')) {
    text.pop_back();
    pending_ = " ";
  }
  return text;
}

std::string Detokenizer::Finish() {
  std::string text;
  if (pending_ != " ") AppendReplaced(pending_.size(), text, tokenizer_.replacement());
  pending_.clear();
  return text;
}

}  // namespace shortlist
