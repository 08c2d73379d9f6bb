#ifndef SHORTLIST_SKETCH_SKETCH_FITTER_H_
#define SHORTLIST_SKETCH_SKETCH_FITTER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "kernels/head.h"
#include "kernels/matrix.h"
#include "sketch/sketch.h"
#include "sketch/sketch_basis.h"

namespace shortlist {

/// Fits sketches of a head to observed hidden states, on a thread of its own: a first one soon,
/// better ones after more states.
///
/// Add and TakeNext must be called by one thread.
class SketchFitter {
 public:
  /// Numbers of states after which a sketch is fitted.
  static constexpr int64_t kFitAt[] = {128, 512, 2048, 16384};

  /// Results of earlier runs.
  struct Known {
    int64_t num_fitted = 0;  // states of the latest sketch; 0: no sketch
    StateMoments moments;    // of all states so far, including those of the sketch
  };
  /// Saves results for the next run. Both are called on the fitter's thread.
  struct Keep {
    std::function<absl::Status(const SketchBasis&)> basis;     // for each fitted basis
    std::function<absl::Status(const StateMoments&)> moments;  // after each fit and at the end
  };

  /// Fits rows 0 .. num_rows - 1 of `head`, which must outlive the fitter. Fits only sketches of
  /// more states than known.num_fitted. Throws std::system_error if the system has no more threads.
  SketchFitter(const HeadWeight& head, int64_t num_rows, Known known, Keep keep);
  /// Cancels a running fit within about a second; saves the moments of all states.
  ~SketchFitter();
  SketchFitter(const SketchFitter&) = delete;
  SketchFitter& operator=(const SketchFitter&) = delete;

  /// states: [n, hidden] f32 in host memory. Copies them; drops them if too many states are
  /// waiting.
  void Add(const Matrix& states);

  /// Returns the latest sketch once; null if there is no new one since the last call.
  std::shared_ptr<const Sketch> TakeNext();

  /// True if no other sketch will be made.
  bool done() const { return is_done_.load(std::memory_order_acquire); }
  /// Why fitting ended early, or the last results could not be saved; ok otherwise.
  absl::Status error() const;

 private:
  void Run();
  absl::Status FitAll();
  absl::Status FitOnce();
  bool AwaitStates(int64_t count);
  absl::Status AddWaiting();

  const HeadWeight head_;
  const int64_t num_rows_;
  const Keep keep_;
  std::atomic<bool> stop_ = false, is_done_ = false, has_next_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::vector<float> states_;  // [n, hidden] waiting states
  int64_t num_awaited_ = 0;    // number that the thread waits for
  std::shared_ptr<const Sketch> next_;
  absl::Status error_;

  StateMoments moments_;  // of the thread
  int64_t num_fitted_;    // states of the latest sketch; of the thread
  int64_t num_kept_ = 0;  // states of the last saved moments; of the thread
  std::thread thread_;    // last: it uses all of the above
};

}  // namespace shortlist

#endif  // SHORTLIST_SKETCH_SKETCH_FITTER_H_
