#include "sketch/sketch_fitter.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/catch_bad_alloc.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"

namespace shortlist {
namespace {

// Number of states added to the moments at a time: adding a single one costs as much.
constexpr int64_t kBlockStates = 128;
constexpr int64_t kMostWaiting = 8 * kBlockStates;

}  // namespace

SketchFitter::SketchFitter(const HeadWeight& head, int64_t num_rows, Known known, Keep keep)
    : head_(head),
      num_rows_(num_rows),
      keep_(std::move(keep)),
      moments_(std::move(known.moments)),
      num_fitted_(known.num_fitted),
      num_kept_(moments_.num_states()) {
  is_done_ = num_fitted_ >= *std::prev(std::end(kFitAt));
  if (!is_done_) thread_ = std::thread([this] { Run(); });
}

SketchFitter::~SketchFitter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void SketchFitter::Add(const Matrix& states) {
  if (done()) return;
  bool suffices = false;
  {
    const std::lock_guard lock(mutex_);
    const int64_t room = kMostWaiting * head_.hidden - std::ssize(states_);
    if (states.num_elements() > room) return;
    const auto* const values = states.floats();
    states_.insert(states_.end(), values, values + states.num_elements());
    suffices = std::ssize(states_) >= num_awaited_ * head_.hidden;
  }
  if (suffices) changed_.notify_one();
}

std::shared_ptr<const Sketch> SketchFitter::TakeNext() {
  if (!has_next_.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(mutex_);
  has_next_ = false;
  return std::exchange(next_, nullptr);
}

absl::Status SketchFitter::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void SketchFitter::Run() {
  absl::Status status = CatchBadAlloc("sketch of the draft's head", [this]() -> absl::Status {
    SHORTLIST_RETURN_IF_ERROR(FitAll());
    SHORTLIST_RETURN_IF_ERROR(AddWaiting());
    return moments_.num_states() > num_kept_ ? keep_.moments(moments_) : absl::OkStatus();
  });
  const std::lock_guard lock(mutex_);
  if (!status.ok() && !stop_) error_ = std::move(status);
  states_ = {};
  is_done_ = true;
}

absl::Status SketchFitter::FitAll() {
  for (const int64_t fit_at : kFitAt) {
    if (fit_at <= num_fitted_) continue;
    while (moments_.num_states() < fit_at) {
      if (!AwaitStates(fit_at - moments_.num_states())) return absl::OkStatus();
      SHORTLIST_RETURN_IF_ERROR(AddWaiting());
    }
    const absl::Status fitted = FitOnce();
    if (absl::IsCancelled(fitted)) return absl::OkStatus();
    SHORTLIST_RETURN_IF_ERROR(fitted);
  }
  return absl::OkStatus();
}

absl::Status SketchFitter::FitOnce() {
  ThreadPool alone(1);  // the engine uses the others
  SHORTLIST_ASSIGN_OR_RETURN(
      const SketchBasis basis,
      SketchBasis::Fit(head_, num_rows_, SketchBasis::DefaultRank(head_.hidden), &moments_, alone,
                       &stop_));
  SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<const Sketch> sketch,
                             Sketch::Create(basis, head_, num_rows_, alone));
  {
    const std::lock_guard lock(mutex_);
    next_ = std::move(sketch);
    has_next_ = true;
  }
  num_fitted_ = num_kept_ = moments_.num_states();
  absl::Status kept = keep_.basis(basis);
  kept.Update(keep_.moments(moments_));
  const std::lock_guard lock(mutex_);
  error_ = std::move(kept);
  return absl::OkStatus();
}

/// Waits for `count` states, or for one block if that is less. Returns false if stopped.
bool SketchFitter::AwaitStates(int64_t count) {
  std::unique_lock lock(mutex_);
  num_awaited_ = std::min(count, kBlockStates);
  changed_.wait(lock, [&] { return stop_ || std::ssize(states_) >= num_awaited_ * head_.hidden; });
  return !stop_;
}

absl::Status SketchFitter::AddWaiting() {
  std::vector<float> states;
  {
    const std::lock_guard lock(mutex_);
    states.swap(states_);
  }
  const int64_t count = std::ssize(states) / head_.hidden;
  if (count == 0) return absl::OkStatus();
  Matrix matrix(count, head_.hidden);
  std::copy_n(states.data(), matrix.num_elements(), matrix.floats());
  return moments_.Add(matrix);
}

}  // namespace shortlist
