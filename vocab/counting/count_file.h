#ifndef SHORTLIST_VOCAB_COUNTING_COUNT_FILE_H_
#define SHORTLIST_VOCAB_COUNTING_COUNT_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vocab/counting/token_counts.h"

namespace shortlist {

/// All that was counted for one tokenizer.
struct Counts {
  int64_t vocab_size = 0;
  std::string fingerprint;
  std::vector<CorpusCounts> corpora;
};

/// Writes counts, atomically. Unavailable names the path and the system's reason.
absl::Status WriteCounts(const std::string& path, const Counts& counts);

/// Reads what WriteCounts wrote for this tokenizer; each corpus then holds at most about
/// `max_pairs`. InvalidArgument names the path and what is damaged, with value and bound;
/// FailedPrecondition both fingerprints where it is another tokenizer's; NotFound.
absl::StatusOr<Counts> ReadCounts(const std::string& path, int64_t vocab_size,
                                  const std::string& fingerprint, int64_t max_pairs);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_COUNT_FILE_H_
