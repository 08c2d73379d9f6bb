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

/// How a list is made of counts.
struct BuildOptions {
  // How many ids it has, pinned ones counted within; at most one is set. None: all that occur.
  std::optional<int64_t> top_n;    // in [1, vocab_size]
  std::optional<double> ratio;     // floor(ratio * vocab_size); in (0, 1]
  std::optional<double> coverage;  // the fewest that make up this share of the tokens; in (0, 1]

  std::vector<TokenId> pinned;

  /// What ranks ids, and becomes their counts.
  enum class Rank {
    kCount,  // how often they occur
    // How often they are to be expected where the successors of the last token do not hold them: as
    // often as they occurred in a pair that occurred once (Good 1953), and a share of their count.
    kNovelty,
  };
  Rank rank = Rank::kCount;

  int64_t max_successors = 512;  // of a token; 0: the list has none
  int64_t min_pair_count = 2;    // of a token and its successor, in all corpora together
  // Likeliest ids, which are nobody's successors: every selection that is meant to be made of the
  // list holds them.
  int64_t num_common = 256;

  /// How many ids it has, where top_n or ratio says so.
  std::optional<int64_t> num_ids(int64_t vocab_size) const;

  /// InvalidArgument names what is not in its bounds for a vocabulary of that size (NaN included),
  /// or that more ids are pinned than the list is to have.
  absl::Status Validate(int64_t vocab_size) const;
};

/// `weights`, of all corpora of a list (0: none): InvalidArgument where some have one and some not.
absl::Status CheckWeights(std::span<const double> weights);

/// The list of a mix of corpora. Where none has a weight, each counts as long as it is, and the
/// list's counts are those of the tokens; otherwise each must have one, and it makes up its
/// weight's share of all, however long it is. InvalidArgument: nothing was counted; fewer kinds of
/// tokens than are asked for; what BuildOptions::Validate and CheckWeights tell before anything is
/// counted. The list is not bound to a tokenizer yet (BindList).
absl::StatusOr<VocabList> BuildList(const std::vector<CorpusCounts>& corpora,
                                    const BuildOptions& options);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_BUILD_LIST_H_
