#ifndef SHORTLIST_VOCAB_FORMATS_DRAFT_MAP_H_
#define SHORTLIST_VOCAB_FORMATS_DRAFT_MAP_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/tensor_file.h"

namespace shortlist {

/// The reduced vocabulary of an EAGLE-3 checkpoint.
struct DraftMap {
  std::vector<int64_t> ids;  // ids[i] = i + d2t[i], for row i
  int64_t vocab_size = 0;    // length of `t2d`; 0: no t2d
};

/// Reads `d2t`, offsets [draft_size], and the optional `t2d` [vocab_size], true for the tokens that
/// have a row. `vocab_size`: the target's, 0: unknown.
///
/// InvalidArgument names file, tensor, index, value and bound:
/// - no d2t, a d2t of BOOL, or an id outside [0, 2^31 - 1)
/// - a mask that contradicts d2t
/// - a mask with more than vocab_size + VocabList::kMaxPadding elements (kMaxVocabSize if
///   vocab_size is 0)
/// - without t2d, an implausible d2t, with advice: all zeros, unless there is a row for each token
///   of the target; or distinct elements, none negative, which are absolute ids
absl::StatusOr<DraftMap> ReadDraftMap(const TensorFile& file, int64_t vocab_size);

/// Returns a safetensors file of d2t (I64) and t2d (BOOL) for `ids`, ascending and distinct: t2d
/// selects rows of a head in this order.
std::string DraftMapFileOf(std::span<const int64_t> ids, int64_t vocab_size);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_FORMATS_DRAFT_MAP_H_
