#ifndef SHORTLIST_VOCAB_MERGE_LISTS_H_
#define SHORTLIST_VOCAB_MERGE_LISTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "vocab/vocab_list.h"

namespace shortlist {

/// A list and its name in errors.
struct NamedList {
  std::string name;
  VocabList list;
};

/// Merges lists. Each makes up its weight's share of the counts, regardless of its size. `weights`:
/// one for each list; empty: equal. Without counts, an id of rank r counts as 1 / r, and the result
/// has no counts; it is ranked if all lists are. The successors of a token count as 1 / r, times
/// the token's share of each list; it has at most as many as the longest row of any list. Ids
/// pinned by any list are pinned.
///
/// InvalidArgument: no list; another number of weights; a weight outside (0, 1e9] (NaN included);
/// some lists with counts and some without; counts that are all 0; errors of VocabList::Validate.
/// FailedPrecondition names the list of another tokenizer (both fingerprints) or vocab_size. The
/// result keeps the fingerprint; BindList sets that of its ids.
absl::StatusOr<VocabList> MergeLists(const std::vector<NamedList>& lists,
                                     const std::vector<double>& weights);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_MERGE_LISTS_H_
