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
  std::vector<int64_t> ids;  // of row i: i + d2t[i]
  int64_t vocab_size = 0;    // that of `t2d`; 0: there is none
};

/// Reads `d2t`, offsets [draft_size], and `t2d`, true for the tokens that have a row [vocab_size],
/// which may be missing. `vocab_size`: the target's, 0: not known.
///
/// InvalidArgument names file, tensor, index, value and bound: no d2t, one of BOOL, an id that is
/// negative or not in [0, 2^31), a mask that says otherwise than d2t, or one with more elements
/// than `vocab_size` and VocabList::kMaxPadding (where it is 0, kMaxVocabSize). It also names a d2t
/// that can hardly be right where no t2d confirms it, and what to do: zeros, unless there is a row
/// for each of the target's tokens, and different elements of which none is negative, which are
/// absolute ids.
absl::StatusOr<DraftMap> ReadDraftMap(const TensorFile& file, int64_t vocab_size);

/// A safetensors file of d2t (I64) and t2d (BOOL) for `ids`, ascending and distinct, as t2d takes
/// rows of a head in this order.
std::string DraftMapFileOf(std::span<const int64_t> ids, int64_t vocab_size);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_FORMATS_DRAFT_MAP_H_
