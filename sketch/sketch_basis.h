#ifndef SHORTLIST_HEAD_SKETCH_BASIS_H_
#define SHORTLIST_HEAD_SKETCH_BASIS_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/head.h"

namespace shortlist {

/// Second moments of observed hidden states. Copies are independent. Not thread-safe.
class StateMoments {
 public:
  StateMoments() = default;
  /// The moments of `num_states` states with this mean of x x^T: [hidden, hidden] f64.
  StateMoments(const at::Tensor& mean, int64_t num_states);

  /// states: [n, hidden] f32 on the CPU; all calls have the same `hidden`. States that are not
  /// finite are ignored.
  void Add(const at::Tensor& states);

  int64_t num_states() const { return num_states_; }
  /// Returns the mean of x x^T: [hidden, hidden] f64. Precondition: num_states() > 0.
  at::Tensor Mean() const;

 private:
  int64_t num_states_ = 0;
  at::Tensor sum_;
};

/// Low-rank basis that best preserves differences between a head's logits, averaged over observed
/// hidden states: w . x is about (rows w) . (states x), up to a term common to all rows.
struct SketchBasis {
  static constexpr int64_t kLeastDefaultRank = 64;
  static constexpr int64_t kNumProbes = 64;

  at::Tensor rows;    // [rank, hidden] f32
  at::Tensor states;  // [rank, hidden] f32
  // Some rows of the head that the basis was made for, to recognise another head.
  std::vector<int64_t> probe_ids;  // ascending
  at::Tensor probes;               // [probe_ids.size(), rank] f32: (rows w) of each
  int64_t num_states = 0;          // hidden states that it was fitted to; 0: none or unknown

  /// Returns the default rank. A wide head (`hidden` at least 768): hidden / 24 (up to 64) first
  /// dimensions and kSketchFineRank further ones for rows that these choose (Sketch). Otherwise
  /// hidden / 8, at least kLeastDefaultRank, at most the largest valid rank.
  static int64_t DefaultRank(int64_t hidden);
  /// InvalidArgument unless `rank` is a multiple of 8 in [8, min(256, hidden)].
  static absl::Status CheckRank(int64_t rank, int64_t hidden);

  int64_t rank() const { return rows.size(0); }
  int64_t hidden() const { return rows.size(1); }

  /// Returns the best basis for rows 0 .. num_rows - 1 of `head`: principal components of its
  /// centred rows under the moments of hidden states. Null `moments`: all directions count equally.
  /// Errors of CheckRank; InvalidArgument for moments of another width or of no state, and for a
  /// head whose rows are not finite or all equal. Cancelled within about a second after `*stop`
  /// becomes true; `stop` may be null.
  static absl::StatusOr<SketchBasis> Fit(const HeadWeight& head, int64_t num_rows, int64_t rank,
                                         const StateMoments* moments, ThreadPool& pool,
                                         const std::atomic<bool>* stop = nullptr);
};

/// Returns (basis w) for rows 0 .. num_rows - 1 of `head`: [basis.size(0), num_rows] f32, on the
/// CPU.
at::Tensor ProjectRows(const HeadWeight& head, int64_t num_rows, const at::Tensor& basis,
                       ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_SKETCH_BASIS_H_
