#ifndef SHORTLIST_CLI_REPETITION_H_
#define SHORTLIST_CLI_REPETITION_H_

#include <cstdint>
#include <span>

#include "base/ids.h"

namespace shortlist {

/// How far an output repeats itself: a looping text is easy to draft for.
struct Repetition {
  int64_t num_ngrams = 0;
  int64_t num_repeated = 0;  // of these, occurred before in the same output

  double share() const {
    return num_ngrams == 0 ? 0.0 : static_cast<double>(num_repeated) / num_ngrams;
  }
};

/// Counts over the 6-grams of `output`; nothing when it is shorter than 6 tokens.
Repetition CountRepeatedSixgrams(std::span<const TokenId> output);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_REPETITION_H_
