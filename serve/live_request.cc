#include "serve/live_request.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iterator>
#include <utility>

namespace shortlist {

namespace asio = boost::asio;

namespace {

using Clock = std::chrono::steady_clock;

/// Merges `event` into the earlier event `into`.
void Merge(GenerationEvent event, GenerationEvent& into) {
  into.text += event.text;
  into.tokens.insert(into.tokens.end(), std::make_move_iterator(event.tokens.begin()),
                     std::make_move_iterator(event.tokens.end()));
  event.text = std::move(into.text);
  event.tokens = std::move(into.tokens);
  event.prompt = std::move(into.prompt);
  into = std::move(event);
}

}  // namespace

LiveGeneration::LiveGeneration(const asio::any_io_executor& executor,
                               std::shared_ptr<LiveRegistry> registry, std::string name)
    : wake_(executor), registry_(std::move(registry)), name_(std::move(name)) {
  if (!name_.empty()) registry_->by_name.emplace(name_, this);
}

LiveGeneration::~LiveGeneration() {
  Abort();
  for (const std::shared_ptr<LiveRequest>& live : requests_) live->generation = nullptr;
  GiveBackName();
}

void LiveGeneration::GiveBackName() {
  if (!name_.empty()) registry_->by_name.erase(std::exchange(name_, ""));
}

void LiveGeneration::Abort() {
  if (registry_->pipeline == nullptr) return;
  for (const std::shared_ptr<LiveRequest>& live : requests_) registry_->pipeline->Abort(*live);
}

void LiveGeneration::Add(std::shared_ptr<LiveRequest> live) {
  live->generation = this;
  requests_.push_back(std::move(live));
  pending_.emplace_back();
}

void LiveGeneration::Deliver(GenerationEvent event) {
  if (event.finished && ++num_ended_ == std::ssize(requests_)) GiveBackName();
  std::optional<GenerationEvent>& pending = pending_[event.index];
  if (pending.has_value()) {
    Merge(std::move(event), *pending);
  } else {
    ready_.push_back(event.index);
    pending = std::move(event);
  }
  wake_.cancel();
}

asio::awaitable<GenerationEvent> LiveGeneration::Next() {
  while (ready_.empty()) co_await Wait(Clock::time_point::max());
  co_return Take();
}

asio::awaitable<std::optional<GenerationEvent>> LiveGeneration::NextWithin(
    std::chrono::milliseconds wait) {
  const Clock::time_point deadline = Clock::now() + wait;
  while (ready_.empty() && Clock::now() < deadline) co_await Wait(deadline);
  if (ready_.empty()) co_return std::nullopt;
  co_return Take();
}

asio::awaitable<void> LiveGeneration::Wait(Clock::time_point deadline) {
  wake_.expires_at(deadline);
  co_await wake_.async_wait(asio::as_tuple(asio::use_awaitable));
  // Deliver() ends the wait, and so does cancellation of the coroutine.
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() == asio::cancellation_type::none) co_return;
  throw boost::system::system_error(asio::error::operation_aborted);
}

GenerationEvent LiveGeneration::Take() {
  const size_t index = ready_.front();
  ready_.pop_front();
  GenerationEvent event = *std::exchange(pending_[index], std::nullopt);
  if (event.finished) ++num_taken_;
  return event;
}

void Deliver(LiveRegistry& registry, LiveRequest& live, GenerationEvent event) {
  LiveGeneration* const generation = live.generation;
  if (event.finished) {
    --registry.num_live;
    live.generation = nullptr;
  }
  if (generation != nullptr) generation->Deliver(std::move(event));
}

}  // namespace shortlist
