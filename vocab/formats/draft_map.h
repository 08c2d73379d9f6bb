#ifndef SHORTLIST_VOCAB_FORMATS_DRAFT_MAP_H_
#define SHORTLIST_VOCAB_FORMATS_DRAFT_MAP_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/tensor_file.h"
#include "io/weight_files.h"

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

/// The tokens of the rows of an EAGLE-3 checkpoint's head.
struct HeadMap {
  std::vector<int32_t> ids;  // [num_rows] token of each row; distinct, in [0, vocab_size)
  bool holds_ids = false;    // d2t holds ids, as in GGUF files, not offsets
};

/// Reads the map of a head of `num_rows` rows, for a target of `vocab_size` tokens: `d2t`, and
/// `t2d` to check it. d2t holds offsets; it is read as ids where it cannot be offsets (an id that
/// is out of range or occurs twice, or that t2d denies) but can be ids.
///
/// InvalidArgument names file, tensor, index, value and bound for a d2t that can be neither, or
/// either; for another length than num_rows; for a mask that contradicts it; and for a d2t that is
/// 0 in all rows, a trainer's default, unless t2d confirms it or num_rows is vocab_size.
absl::StatusOr<HeadMap> ReadHeadMap(const WeightFiles& weights, int64_t num_rows,
                                    int64_t vocab_size);

/// Returns a safetensors file of d2t (I64) and t2d (BOOL) for `ids`, ascending and distinct: t2d
/// selects rows of a head in this order.
std::string DraftMapFileOf(std::span<const int64_t> ids, int64_t vocab_size);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_FORMATS_DRAFT_MAP_H_
