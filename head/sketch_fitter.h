#ifndef SHORTLIST_HEAD_SKETCH_FITTER_H_
#define SHORTLIST_HEAD_SKETCH_FITTER_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "head/sketch.h"
#include "head/sketch_basis.h"
#include "kernels/head.h"

namespace shortlist {

/// Fits sketches of a head to the hidden states that it meets while it runs, on a thread of its
/// own: a first one soon, better ones as more states have been met.
///
/// Add and TakeNext are one thread's.
class SketchFitter {
 public:
  /// Numbers of states after which a sketch is fitted.
  static constexpr int64_t kFitAt[] = {128, 512, 2048, 16384};

  /// What earlier runs learned.
  struct Known {
    int64_t num_fitted = 0;  // states of the latest sketch; 0: there is none
    StateMoments moments;    // of all states so far, those of the sketch among them
  };
  /// Where a run keeps what it learned, for the next. Both are called on the fitter's thread.
  struct Keep {
    std::function<absl::Status(const SketchBasis&)> basis;     // each that was fitted
    std::function<absl::Status(const StateMoments&)> moments;  // after each fit and at the end
  };

  /// Of rows 0 .. num_rows - 1 of `head`, which must outlive this. Fits sketches of more states
  /// than known.num_fitted only. Throws std::system_error if the system has no more threads.
  SketchFitter(const HeadWeight& head, int64_t num_rows, Known known, Keep keep);
  /// Gives up a fit that is under way, within about a second; keeps the moments of all states.
  ~SketchFitter();
  SketchFitter(const SketchFitter&) = delete;
  SketchFitter& operator=(const SketchFitter&) = delete;

  /// states: [n, hidden] f32 in host memory. Copies them; those that come faster than they are
  /// worked off are passed over.
  void Add(const at::Tensor& states);

  /// The latest sketch, once; null: none since the last call.
  std::shared_ptr<const Sketch> TakeNext();

  /// True if there will be no other sketch.
  bool done() const { return is_done_.load(std::memory_order_acquire); }
  /// Why fitting ended early, or the last basis could not be kept; ok while neither was so.
  absl::Status error() const;

 private:
  void Run();
  absl::Status FitAll();
  absl::Status FitOnce();
  bool AwaitStates(int64_t count);
  void AddWaiting();

  const HeadWeight head_;
  const int64_t num_rows_;
  const Keep keep_;
  std::atomic<bool> stop_ = false, is_done_ = false, has_next_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::vector<float> states_;  // [n, hidden] that wait
  int64_t num_awaited_ = 0;    // that the thread waits for
  std::shared_ptr<const Sketch> next_;
  absl::Status error_;

  StateMoments moments_;  // the thread's
  int64_t num_fitted_;    // states of the latest sketch; the thread's
  int64_t num_kept_ = 0;  // states of the moments that were kept; the thread's
  std::thread thread_;    // last: it uses all of the above
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_SKETCH_FITTER_H_
