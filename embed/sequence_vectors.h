#ifndef SHORTLIST_EMBED_SEQUENCE_VECTORS_H_
#define SHORTLIST_EMBED_SEQUENCE_VECTORS_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// Result of a batch: finite numbers or an error for each sequence. Immutable.
class SequenceVectors {
 public:
  /// The values of sequence i are values[begin[i] .. begin[i + 1]), unless statuses[i] is an error.
  /// begin: [num_seqs + 1] indptr; statuses: [num_seqs].
  SequenceVectors(std::vector<float> values, std::vector<int64_t> begin,
                  std::vector<absl::Status> statuses)
      : values_(std::move(values)), begin_(std::move(begin)), statuses_(std::move(statuses)) {}

  int64_t num_seqs() const { return std::ssize(statuses_); }

  /// Returns a view into this object. `seq` in [0, num_seqs).
  absl::StatusOr<std::span<const float>> of_sequence(int64_t seq) const {
    if (!statuses_[seq].ok()) return statuses_[seq];
    return std::span(values_).subspan(begin_[seq], begin_[seq + 1] - begin_[seq]);
  }

 private:
  std::vector<float> values_;
  std::vector<int64_t> begin_;
  std::vector<absl::Status> statuses_;
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_SEQUENCE_VECTORS_H_
