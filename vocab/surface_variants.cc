#include "vocab/surface_variants.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace shortlist {
namespace {

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLetter(char c) {
  return IsUpper(c) || (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80;
}

/// What variants have in common; empty where there is no letter.
std::string WordOf(std::string_view piece) {
  if (piece.starts_with(' ')) piece.remove_prefix(1);
  if (std::none_of(piece.begin(), piece.end(), IsLetter)) return "";
  std::string word(piece);
  for (char& c : word) {
    if (IsUpper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  return word;
}

}  // namespace

std::vector<std::vector<TokenId>> SurfaceVariants(std::span<const std::string_view> pieces) {
  std::unordered_map<std::string, std::vector<TokenId>> tokens_of_word;
  for (size_t i = 0; i < pieces.size(); ++i) {
    std::string word = WordOf(pieces[i]);
    if (!word.empty()) tokens_of_word[std::move(word)].push_back(TokenId{static_cast<int32_t>(i)});
  }
  std::vector<std::vector<TokenId>> variants(pieces.size());
  for (const auto& [word, tokens] : tokens_of_word) {
    if (tokens.size() > kMaxVariants) continue;
    for (const TokenId token : tokens) {
      for (const TokenId other : tokens) {
        if (other != token) variants[Raw(token)].push_back(other);
      }
    }
  }
  return variants;
}

}  // namespace shortlist
