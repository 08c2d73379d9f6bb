#ifndef SHORTLIST_EMBED_HIDDEN_STATES_H_
#define SHORTLIST_EMBED_HIDDEN_STATES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/thread_pool.h"

namespace shortlist {

/// The last hidden states of several sequences, one behind the other. A view.
struct HiddenStates {
  const float* data = nullptr;         // [num_tokens, hidden], dense
  int64_t hidden = 0;                  // at least 1
  std::span<const int32_t> seq_begin;  // [num_seqs + 1] indptr, first 0, last num_tokens

  int64_t num_seqs() const { return std::ssize(seq_begin) - 1; }
};

/// How the states of a sequence's tokens become one: the last token's, the first one's, their mean.
enum class Pooling { kLast, kCls, kMean };

/// "cls"
const char* PoolingName(Pooling pooling);

/// One row for each sequence: [num_seqs, hidden]. The first num_skipped[i] tokens of sequence i do
/// not count; `num_skipped` is [num_seqs], or empty: all do. A mean is a sum in f64 in the order of
/// the tokens, so that a row has the same bits in any batch and with any number of threads.
///
/// statuses: [num_seqs]; one that is an error on entry stays as it is. Those of sequences without a
/// row are set, which is all zeros then: InvalidArgument where no token counts, Internal where a
/// state of any of its tokens is NaN or infinite, for then the pass over the sequence went wrong.
std::vector<float> PoolSequences(const HiddenStates& states, Pooling pooling,
                                 std::span<const int64_t> num_skipped,
                                 std::vector<absl::Status>& statuses, ThreadPool& pool);

/// Internal names the first state of sequence `seq` that is NaN or infinite, for then the pass over
/// it went wrong.
absl::Status CheckStates(const HiddenStates& states, int64_t seq);

/// The index of the first value that is NaN or infinite.
std::optional<int64_t> FindNotFinite(std::span<const float> values);

/// Sets the status of each sequence whose row of `rows`, [num_seqs, rows.size() / num_seqs], is not
/// finite, and makes that row all zeros. Internal, "sequence 3: <what> is not finite (...)".
void RefuseNotFinite(const char* what, std::span<float> rows, std::vector<absl::Status>& statuses);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_HIDDEN_STATES_H_
