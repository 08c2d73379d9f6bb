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

/// Second moments of hidden states that a head has met. Copies share nothing. Not thread-safe.
class StateMoments {
 public:
  StateMoments() = default;
  /// Of `num_states` states with this mean of x x^T: [hidden, hidden] f64.
  StateMoments(const at::Tensor& mean, int64_t num_states);

  /// states: [n, hidden] f32 on the CPU, of one `hidden` for good. Those that are not finite do not
  /// count.
  void Add(const at::Tensor& states);

  int64_t num_states() const { return num_states_; }
  /// Mean of x x^T: [hidden, hidden] f64. There is at least one state.
  at::Tensor Mean() const;

 private:
  int64_t num_states_ = 0;
  at::Tensor sum_;
};

/// The few dimensions in which a head's logits are told apart best, on average over the hidden
/// states that it meets: w . x is about (rows w) . (states x), up to what all rows have in common.
struct SketchBasis {
  static constexpr int64_t kLeastDefaultRank = 64;
  static constexpr int64_t kNumProbes = 64;

  at::Tensor rows;    // [rank, hidden] f32
  at::Tensor states;  // [rank, hidden] f32
  // Some rows of the head it was made for, by which it tells another head.
  std::vector<int64_t> probe_ids;  // ascending
  at::Tensor probes;               // [probe_ids.size(), rank] f32: (rows w) of each
  int64_t num_states = 0;          // hidden states that it was fitted to; 0: none, or not known

  /// Of a wide head, a twenty-fourth of `hidden` (up to 64) and kSketchFineRank for what these
  /// choose (Sketch); otherwise an eighth, at least kLeastDefaultRank, or what it has room for.
  static int64_t DefaultRank(int64_t hidden);
  /// InvalidArgument unless `rank` is a multiple of 8 in [8, min(256, hidden)].
  static absl::Status CheckRank(int64_t rank, int64_t hidden);

  int64_t rank() const { return rows.size(0); }
  int64_t hidden() const { return rows.size(1); }

  /// The best basis for rows 0 .. num_rows - 1 of `head`, by principal components of its centred
  /// rows under the moments of hidden states; `moments` null: as if all directions were alike.
  /// Errors of CheckRank; InvalidArgument for moments of another width or of no state, and for a
  /// head whose rows are not finite or all the same; Cancelled within a second or so after `stop`,
  /// where there is one, becomes true.
  static absl::StatusOr<SketchBasis> Fit(const HeadWeight& head, int64_t num_rows, int64_t rank,
                                         const StateMoments* moments, ThreadPool& pool,
                                         const std::atomic<bool>* stop = nullptr);
};

/// (basis w) for rows 0 .. num_rows - 1 of `head`: [basis.size(0), num_rows] f32, on the CPU.
at::Tensor ProjectRows(const HeadWeight& head, int64_t num_rows, const at::Tensor& basis,
                       ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_SKETCH_BASIS_H_
