#ifndef SHORTLIST_SKETCH_SKETCH_BASIS_H_
#define SHORTLIST_SKETCH_SKETCH_BASIS_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/head.h"
#include "kernels/matrix.h"

namespace shortlist {

/// Second moments of observed hidden states. Copies are independent. Not thread-safe.
class StateMoments {
 public:
  StateMoments() = default;
  /// The moments of `num_states` states with this mean of x x^T: [hidden, hidden] f32.
  StateMoments(const Matrix& mean, int64_t num_states);

  /// states: [n, hidden] f32; all calls have the same `hidden`. Ignores states that are not finite.
  /// ResourceExhausted without memory.
  absl::Status Add(const Matrix& states);

  int64_t num_states() const { return num_states_; }
  int64_t hidden() const { return hidden_; }  // 0 before the first state
  /// The sum of x x^T: [hidden, hidden].
  const std::vector<double>& sum() const { return sum_; }
  /// Returns the mean of x x^T: [hidden, hidden] f32. Precondition: num_states() > 0.
  Matrix Mean() const;

 private:
  int64_t hidden_ = 0, num_states_ = 0;
  std::vector<double> sum_;
};

/// Low-rank basis that best preserves differences between a head's logits, averaged over observed
/// hidden states: w . x is about (rows w) . (states x), up to a term common to all rows.
struct SketchBasis {
  static constexpr int64_t kLeastDefaultRank = 64;
  static constexpr int64_t kNumProbes = 64;

  Matrix rows;    // [rank, hidden] f32
  Matrix states;  // [rank, hidden] f32
  // Some rows of the head that the basis was made for, to recognise another head.
  std::vector<int64_t> probe_ids;  // ascending
  Matrix probes;                   // [probe_ids.size(), rank] f32: (rows w) of each
  int64_t num_states = 0;          // hidden states that it was fitted to; 0: none or unknown

  /// Returns the default rank. A wide head (`hidden` at least 768): hidden / 24 (up to 64) first
  /// dimensions and kSketchFineRank further ones for rows that these choose (Sketch). Otherwise
  /// hidden / 8, at least kLeastDefaultRank, at most the largest valid rank.
  static int64_t DefaultRank(int64_t hidden);
  /// InvalidArgument unless `rank` is a multiple of 8 in [8, min(256, hidden)].
  static absl::Status CheckRank(int64_t rank, int64_t hidden);

  int64_t rank() const { return rows.rows(); }
  int64_t hidden() const { return rows.cols(); }

  /// Returns the best basis for rows 0 .. num_rows - 1 of `head`: principal components of its
  /// centred rows under the moments of hidden states. Null `moments`: all directions count equally.
  /// Errors of CheckRank; InvalidArgument for moments of another width, of no state, or that are
  /// not finite and positive definite, and for a head whose rows are not finite or all equal;
  /// Internal if the iteration finds no components; ResourceExhausted without memory. Cancelled
  /// within about a second after `*stop` becomes true; `stop` may be null.
  static absl::StatusOr<SketchBasis> Fit(const HeadWeight& head, int64_t num_rows, int64_t rank,
                                         const StateMoments* moments, ThreadPool& pool,
                                         const std::atomic<bool>* stop = nullptr);
};

/// Returns (basis w) for rows 0 .. num_rows - 1 of `head`: [basis.rows(), num_rows] f32.
Matrix ProjectRows(const HeadWeight& head, int64_t num_rows, const Matrix& basis, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_SKETCH_SKETCH_BASIS_H_
