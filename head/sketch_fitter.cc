#include "head/sketch_fitter.h"

#include <ATen/ATen.h>

#include <iterator>
#include <utility>

#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "tensor/catch_torch.h"

namespace shortlist {
namespace {

// States are added to the moments so many at a time: one alone would cost as much.
constexpr int64_t kBlockStates = 128;
constexpr int64_t kMostWaiting = 8 * kBlockStates;

}  // namespace

SketchFitter::SketchFitter(const HeadWeight& head, int64_t num_rows, int64_t num_known,
                           OnFit on_fit)
    : head_(head), num_rows_(num_rows), num_known_(num_known), on_fit_(std::move(on_fit)) {
  is_done_ = num_known_ >= *std::prev(std::end(kFitAt));
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

void SketchFitter::Add(const at::Tensor& states) {
  if (done()) return;
  bool is_block = false;
  {
    const std::lock_guard lock(mutex_);
    const int64_t room = kMostWaiting * head_.hidden - std::ssize(states_);
    if (states.numel() > room) return;
    const auto* const values = states.data_ptr<float>();
    states_.insert(states_.end(), values, values + states.numel());
    is_block = std::ssize(states_) >= kBlockStates * head_.hidden;
  }
  if (is_block) changed_.notify_one();
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
  const absl::Status status = CatchTorch("sketch of the draft's head", [this] { return FitAll(); });
  const std::lock_guard lock(mutex_);
  if (!status.ok() && !stop_) error_ = status;
  states_ = {};
  is_done_ = true;
}

/// Waits for a block of them; none: it is to stop.
std::vector<float> SketchFitter::TakeStates() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stop_ || std::ssize(states_) >= kBlockStates * head_.hidden; });
  if (stop_) return {};
  return std::exchange(states_, {});
}

absl::Status SketchFitter::FitAll() {
  ThreadPool alone(1);  // the engine has the others
  StateMoments moments;
  for (const int64_t fit_at : kFitAt) {
    if (fit_at <= num_known_) continue;
    while (moments.num_states() < fit_at) {
      std::vector<float> states = TakeStates();
      if (states.empty()) return absl::OkStatus();
      const int64_t count = std::ssize(states) / head_.hidden;
      moments.Add(at::from_blob(states.data(), {count, head_.hidden}, at::kFloat));
    }
    SHORTLIST_ASSIGN_OR_RETURN(
        const SketchBasis basis,
        SketchBasis::Fit(head_, num_rows_, SketchBasis::DefaultRank(head_.hidden), &moments, alone,
                         &stop_));
    SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<const Sketch> sketch,
                               Sketch::Create(basis, head_, num_rows_, alone));
    {
      const std::lock_guard lock(mutex_);
      next_ = std::move(sketch);
      has_next_ = true;
    }
    const absl::Status kept = on_fit_(basis);
    const std::lock_guard lock(mutex_);
    error_ = kept;
  }
  return absl::OkStatus();
}

}  // namespace shortlist
