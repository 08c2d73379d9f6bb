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
  /// Called on the fitter's thread with each basis that was fitted, to keep it.
  using OnFit = std::function<absl::Status(const SketchBasis&)>;

  /// Of rows 0 .. num_rows - 1 of `head`, which must outlive this. A sketch that was fitted to
  /// `num_known` states is there already: only ones of more states follow. Throws std::system_error
  /// where the system has no more threads.
  SketchFitter(const HeadWeight& head, int64_t num_rows, int64_t num_known, OnFit on_fit);
  /// Gives up what is under way; waits for about a second at most.
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
  std::vector<float> TakeStates();

  const HeadWeight head_;
  const int64_t num_rows_, num_known_;
  const OnFit on_fit_;
  std::atomic<bool> stop_ = false, is_done_ = false, has_next_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::vector<float> states_;  // [n, hidden] that wait
  std::shared_ptr<const Sketch> next_;
  absl::Status error_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_SKETCH_FITTER_H_
