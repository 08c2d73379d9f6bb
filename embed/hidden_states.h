#ifndef SHORTLIST_EMBED_HIDDEN_STATES_H_
#define SHORTLIST_EMBED_HIDDEN_STATES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/thread_pool.h"

namespace shortlist {

/// The last hidden states of several sequences, concatenated. A view.
struct HiddenStates {
  const float* data = nullptr;         // [num_tokens, hidden], dense
  int64_t hidden = 0;                  // at least 1
  std::span<const int32_t> seq_begin;  // [num_seqs + 1] indptr, first 0, last num_tokens

  int64_t num_seqs() const { return std::ssize(seq_begin) - 1; }
};

/// How the states of a sequence's tokens become one: the last, the first, or their mean.
enum class Pooling { kLast, kCls, kMean };

/// For example "cls".
const char* PoolingName(Pooling pooling);

/// Returns one row for each sequence: [num_seqs, hidden]. The first num_skipped[i] tokens of
/// sequence i are ignored; `num_skipped` is [num_seqs], or empty: none are ignored. A mean is
/// summed in f64 in token order, so that a row has the same bits in any batch and with any number
/// of threads.
///
/// statuses: [num_seqs]; errors on entry are kept. Sets the error of each sequence without a row,
/// which is then all zeros: InvalidArgument if all tokens are ignored, Internal if a state of any
/// of its tokens is NaN or infinite (the pass failed).
std::vector<float> PoolSequences(const HiddenStates& states, Pooling pooling,
                                 std::span<const int64_t> num_skipped,
                                 std::vector<absl::Status>& statuses, ThreadPool& pool);

/// Returns Internal with the first state of sequence `seq` that is NaN or infinite (the pass
/// failed).
absl::Status CheckStates(const HiddenStates& states, int64_t seq);

/// Returns the index of the first value that is NaN or infinite.
std::optional<int64_t> FindNotFinite(std::span<const float> values);

/// Checks `rows`, [num_seqs, rows.size() / num_seqs]. A row that is not finite is set to zeros, and
/// its sequence gets the status Internal, "sequence 3: <what> is not finite (...)".
void RefuseNotFinite(const char* what, std::span<float> rows, std::vector<absl::Status>& statuses);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_HIDDEN_STATES_H_
