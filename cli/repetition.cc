#include "cli/repetition.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>

namespace shortlist {

Repetition CountRepeatedSixgrams(std::span<const TokenId> output) {
  constexpr size_t kLength = 6;
  Repetition repetition;
  std::set<std::array<TokenId, kLength>> seen;
  for (size_t begin = 0; begin + kLength <= output.size(); ++begin) {
    std::array<TokenId, kLength> ngram;
    std::copy_n(output.begin() + begin, kLength, ngram.begin());
    ++repetition.num_ngrams;
    if (!seen.insert(ngram).second) ++repetition.num_repeated;
  }
  return repetition;
}

}  // namespace shortlist
