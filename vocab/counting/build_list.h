#ifndef SHORTLIST_VOCAB_COUNTING_BUILD_LIST_H_
#define SHORTLIST_VOCAB_COUNTING_BUILD_LIST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vocab/counting/token_counts.h"
#include "vocab/vocab_list.h"

namespace shortlist {

/// How BuildList makes a list from counts.
struct BuildOptions {
  // Number of ids in the list, pinned ones included; at most one is set. None: all that occur.
  std::optional<int64_t> top_n;  // in [1, vocab_size]
  std::optional<double> ratio;   // floor(ratio * vocab_size); in (0, 1]
  // The fewest ids that make up this share of the tokens; in (0, 1].
  std::optional<double> coverage;

  std::vector<TokenId> pinned;

  /// What ranks ids and becomes their counts.
  enum class Rank {
    kCount,  // number of occurrences
    // Expected number of occurrences outside the successors of the last token: those in pairs that
    // occurred once (Good 1953), plus a share of the count.
    kNovelty,
  };
  Rank rank = Rank::kCount;

  int64_t max_successors = 512;  // per token; 0: no successors
  int64_t min_pair_count = 2;    // of a token and its successor, in all corpora together
  // Number of most likely ids that are left out of all successors, because every intended selection
  // of the list contains them.
  int64_t num_common = 256;

  /// Returns the number of ids set by top_n or ratio; nullopt if neither is set.
  std::optional<int64_t> num_ids(int64_t vocab_size) const;

  /// InvalidArgument names a value out of bounds for this vocab_size (NaN included), or that there
  /// are more pinned ids than the list may have.
  absl::Status Validate(int64_t vocab_size) const;
};

/// InvalidArgument if some corpora of a list have a weight and some have none. `weights`: of all
/// corpora; 0: none.
absl::Status CheckWeights(std::span<const double> weights);

/// Makes one list from several corpora. Without weights, each corpus counts by its length, and the
/// list's counts are those of the tokens. Otherwise each corpus must have a weight and makes up
/// that share of all weights, regardless of its length. InvalidArgument: no tokens, fewer kinds of
/// tokens than requested, and the errors of BuildOptions::Validate and CheckWeights, which need no
/// counts. BindList must still bind the list to a tokenizer.
absl::StatusOr<VocabList> BuildList(const std::vector<CorpusCounts>& corpora,
                                    const BuildOptions& options);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_BUILD_LIST_H_
