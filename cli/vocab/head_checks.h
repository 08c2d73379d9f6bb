#ifndef SHORTLIST_CLI_VOCAB_HEAD_CHECKS_H_
#define SHORTLIST_CLI_VOCAB_HEAD_CHECKS_H_

#include <vector>

#include "absl/status/status.h"
#include "io/weight_files.h"
#include "vocab/formats/draft_checkpoint.h"
#include "vocab/formats/map_faults.h"

namespace shortlist {

/// What is wrong with a file: faults, with which it drafts badly or not at all, and warnings.
struct Findings {
  std::vector<MapFault> faults, warnings;
};

/// Checks the sizes of head, map and configuration against each other, and the head's values.
/// Faults: "head-missing", "head-rows", "draft-vocab-size", "d2t-missing", "head-values" (NaN,
/// infinite, or rows of zeros). `vocab_size` is the target's. Errors of reading.
absl::Status CheckHead(const DraftCheckpoint& draft, int64_t num_mapped, int64_t vocab_size,
                       Findings& findings);

/// Compares up to 2,048 rows of the draft's embedding with the target's. Faults:
/// "embedding-rows", "embedding-differs"; warning "embedding-trained": alike, but not equal. Does
/// nothing if one of them has no embedding, or one of another width. Errors of reading.
absl::Status CheckEmbedding(const DraftCheckpoint& draft, const WeightFiles& target,
                            Findings& findings);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_HEAD_CHECKS_H_
