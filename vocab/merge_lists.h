#ifndef SHORTLIST_VOCAB_MERGE_LISTS_H_
#define SHORTLIST_VOCAB_MERGE_LISTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "vocab/vocab_list.h"

namespace shortlist {

/// A list and what it is called in errors.
struct NamedList {
  std::string name;
  VocabList list;
};

/// One list of several, each of which makes up its weight's share of the counts, however many it
/// has; `weights` are of the lists in their order, equal where it is empty. Of lists without counts
/// an id of rank r counts as 1 / r, the result has no counts either, and it has ranks where all
/// have. A token's successors are joined likewise, those of a list by how often the token occurs
/// there. Pinned is what any of them pins.
///
/// InvalidArgument: no list; other numbers of weights; one that is not positive and finite (NaN
/// included); some lists with counts and some without. FailedPrecondition names the list that is of
/// another tokenizer (both fingerprints) or vocab_size. The result keeps the fingerprint; BindList
/// gives it that of its ids.
absl::StatusOr<VocabList> MergeLists(const std::vector<NamedList>& lists,
                                     const std::vector<double>& weights);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_MERGE_LISTS_H_
