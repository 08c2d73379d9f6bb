#ifndef SHORTLIST_VOCAB_FORMATS_RESLICE_H_
#define SHORTLIST_VOCAB_FORMATS_RESLICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/new_folder.h"
#include "io/weight_files.h"
#include "vocab/formats/draft_checkpoint.h"

namespace shortlist {

/// The rows from which a new head is cut. The files must outlive this.
struct SourceHead {
  const WeightFiles* weights = nullptr;
  NamedTensor tensor;        // [num_rows, hidden]
  std::vector<int64_t> ids;  // [num_rows] the target's id of each row, distinct
  bool is_targets = false;   // the draft has no head of its own
};

/// Finds the head that `draft` scores: its own, by d2t or of the whole vocabulary; its embedding if
/// it is tied; else the target's. `target` is the target's files, of `vocab_size` ids.
/// FailedPrecondition names a fault of the map (DiagnoseMap), or a head that fits neither the map
/// nor the vocabulary. d2t with absolute ids is read as such. InvalidArgument for a checkpoint that
/// is no EAGLE-3 or MTP head (a whole target, an EAGLE-1 head, which takes a list instead);
/// Unimplemented for a quantised head and for GGUF.
absl::StatusOr<SourceHead> FindSourceHead(const DraftCheckpoint& draft, const WeightFiles& target,
                                          int64_t vocab_size);

/// Writes a checkpoint whose head has the rows of `ids`, which are distinct and in `head.ids`, in
/// ascending order. One model.safetensors: every other tensor byte for byte, the rows of the head
/// (and of its bias), d2t (I64 offsets) and t2d (BOOL, an element for each id of the target).
/// config.json: `draft_vocab_size`, and no tie of head and embedding. Other small files are copied;
/// those that are not are returned. Reads all of it back and compares it with the source.
/// DataLoss names a difference. Errors of the readers and of WriteFileAtomically. Does not commit
/// `folder`.
absl::StatusOr<std::vector<std::string>> WriteResliced(const DraftCheckpoint& draft,
                                                       const SourceHead& head, int64_t vocab_size,
                                                       std::vector<int64_t> ids,
                                                       const NewFolder& folder);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_FORMATS_RESLICE_H_
