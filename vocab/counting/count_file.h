#ifndef SHORTLIST_VOCAB_COUNTING_COUNT_FILE_H_
#define SHORTLIST_VOCAB_COUNTING_COUNT_FILE_H_

#include <cstdint>
#include <span>
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
  std::vector<CorpusCounts> corpora;  // of a run's texts, in their order
  std::vector<CorpusCounts> added;    // of other files of counts; each has its `added_from`
};

/// What a file of counts holds at most.
inline constexpr int64_t kMaxCountedCorpora = 1024;
inline constexpr int64_t kMaxCountFileBytes = int64_t{4} << 30;

/// Before long work, whether counts of so many corpora can be kept, with these names of corpora and
/// files: InvalidArgument names their number and the bound, or the name that is not UTF-8.
absl::Status CheckKeepable(int64_t num_corpora, std::span<const std::string> names);

/// Writes counts, atomically: behind an error `path` is as it was. Errors are those of
/// CheckKeepable, ResourceExhausted where they need more than `max_bytes`, and Unavailable, which
/// names the path and the system's reason.
absl::Status WriteCounts(const std::string& path, const Counts& counts,
                         int64_t max_bytes = kMaxCountFileBytes);

/// Reads what WriteCounts wrote for this tokenizer; each corpus then holds at most about
/// `max_pairs`, and fewer than 2^62 tokens. InvalidArgument names the path and what is damaged,
/// with value and bound; FailedPrecondition both fingerprints where it is another tokenizer's;
/// NotFound.
absl::StatusOr<Counts> ReadCounts(const std::string& path, int64_t vocab_size,
                                  const std::string& fingerprint, int64_t max_pairs);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_COUNT_FILE_H_
