#ifndef SHORTLIST_CLI_REPETITION_H_
#define SHORTLIST_CLI_REPETITION_H_

#include <cstdint>
#include <span>

#include "base/ids.h"

namespace shortlist {

/// How much an output repeats itself: a looping text is easy to draft.
struct Repetition {
  int64_t num_ngrams = 0;
  int64_t num_repeated = 0;  // n-grams that occurred before in the same output

  double share() const {
    return num_ngrams == 0 ? 0.0 : static_cast<double>(num_repeated) / num_ngrams;
  }
};

/// Counts over the 6-grams of `output`. Both counts are 0 if it is shorter than 6 tokens.
Repetition CountRepeatedSixgrams(std::span<const TokenId> output);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_REPETITION_H_
