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

/// All counts of one tokenizer.
struct Counts {
  int64_t vocab_size = 0;
  std::string fingerprint;
  std::vector<CorpusCounts> corpora;  // of a run's texts, in order
  std::vector<CorpusCounts> added;    // read from other files of counts; each has its `added_from`
};

/// Limits of a file of counts.
inline constexpr int64_t kMaxCountedCorpora = 1024;
inline constexpr int64_t kMaxCountFileBytes = int64_t{4} << 30;

/// Checks, before long work, that counts of `num_corpora` corpora can be saved with these names of
/// corpora and files. InvalidArgument names the number and the bound, or the name that is not
/// UTF-8.
absl::Status CheckKeepable(int64_t num_corpora, std::span<const std::string> names);

/// Writes counts atomically: after an error `path` is unchanged. Errors of CheckKeepable;
/// ResourceExhausted if they need more than `max_bytes`; Unavailable names the path and the
/// system's reason.
absl::Status WriteCounts(const std::string& path, const Counts& counts,
                         int64_t max_bytes = kMaxCountFileBytes);

/// Reads a file of WriteCounts for this tokenizer. Each corpus then holds at most about `max_pairs`
/// pairs, and fewer than 2^62 tokens. InvalidArgument names the path and the damage, with value and
/// bound. FailedPrecondition names both fingerprints if the tokenizer differs. NotFound if there is
/// no file.
absl::StatusOr<Counts> ReadCounts(const std::string& path, int64_t vocab_size,
                                  const std::string& fingerprint, int64_t max_pairs);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_COUNT_FILE_H_
