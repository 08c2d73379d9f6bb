#include "serve/http/running_time.h"

namespace shortlist {

static_assert(std::chrono::duration<double>(RunningTime::kTick).count() <
              RunningClock::kLongestGap);

void RunningTime::Begin() {
  ++num_watches_;
  if (is_ticking_) return;
  Now();  // skips the time that was not watched
  is_ticking_ = true;
  Tick();
}

void RunningTime::Tick() {
  timer_.expires_after(kTick);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const std::shared_ptr<RunningTime> self = weak.lock();
    if (error || self == nullptr) return;
    self->Now();
    if (self->num_watches_ > 0) return self->Tick();
    self->is_ticking_ = false;
  });
}

}  // namespace shortlist
