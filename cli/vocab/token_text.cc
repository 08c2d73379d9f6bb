#include "cli/vocab/token_text.h"

#include "absl/strings/str_cat.h"
#include "model/checkpoint/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {

std::string TokenText(TokenId id, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr || Raw(id) >= tokenizer->size()) return absl::StrCat(Raw(id));
  return Quote(std::string(tokenizer->Spelling(id)));
}

}  // namespace shortlist
