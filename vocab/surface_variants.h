#ifndef SHORTLIST_VOCAB_SURFACE_VARIANTS_H_
#define SHORTLIST_VOCAB_SURFACE_VARIANTS_H_

#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace shortlist {

/// For each token of a vocabulary the others that are the same word but for the case of ASCII
/// letters and one leading space: [pieces.size()], ascending. `pieces`: the bytes of each token.
/// Tokens without a letter have none, nor has a word of more than kMaxVariants tokens.
///
/// Example: of " the", "The", "THE" and "then" the first three are variants of each other.
std::vector<std::vector<TokenId>> SurfaceVariants(std::span<const std::string_view> pieces);

inline constexpr size_t kMaxVariants = 16;

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_SURFACE_VARIANTS_H_
