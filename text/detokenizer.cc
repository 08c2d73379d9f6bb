#include "text/detokenizer.h"

#include "text/utf8.h"

namespace shortlist {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool at_start)
    : tokenizer_(tokenizer), at_start_(at_start) {}

std::string Detokenizer::Append(TokenId id) {
  pending_.append(tokenizer_.NextBytes(id, at_start_));
  std::string text;
  const size_t num_held_back = AppendUtf8(pending_, text);
  pending_.erase(0, pending_.size() - num_held_back);
  return text;
}

std::string Detokenizer::Finish() {
  // What is pending is one maximal subpart, so it becomes one replacement character.
  std::string text(pending_.empty() ? std::string_view() : kReplacementCharacter);
  pending_.clear();
  return text;
}

}  // namespace shortlist
