#include "cli/vocab/token_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {

std::string TokenText(TokenId id, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr || Raw(id) >= tokenizer->size()) return absl::StrCat(Raw(id));
  return Quote(std::string(tokenizer->Spelling(id)));
}

std::string VisibleText(std::string_view text) {
  std::string visible;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    // U+0080 to U+009F, which also control terminals, are 0xC2 and a byte up to 0x9F.
    const auto next = i + 1 < text.size() ? static_cast<uint8_t>(text[i + 1]) : uint8_t{0};
    const bool is_c1 = byte == 0xC2 && next >= 0x80 && next <= 0x9F;
    if (is_c1) ++i;
    if (is_c1 || byte < 0x20 || byte == 0x7F) {
      absl::StrAppend(&visible, absl::StrFormat("\\u%04x", is_c1 ? next : byte));
    } else {
      visible.push_back(text[i]);
    }
  }
  return visible;
}

}  // namespace shortlist
