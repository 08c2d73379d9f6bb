#include "tests/serve/fake_generator.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace shortlist {

namespace asio = boost::asio;

namespace {

class FakeGeneration final : public Generation {
 public:
  FakeGeneration(asio::any_io_executor executor, FakeGenerator::Script script, int64_t& num_alive)
      : timer_(executor), script_(std::move(script)), num_alive_(num_alive) {
    ++num_alive_;
  }
  ~FakeGeneration() override { --num_alive_; }

  asio::awaitable<GenerationEvent> Next() override {
    for (;;) {
      auto event = co_await NextWithin(std::chrono::hours(1));
      if (event.has_value()) co_return *std::move(event);
    }
  }

  asio::awaitable<std::optional<GenerationEvent>> NextWithin(
      std::chrono::milliseconds wait) override {
    const bool pauses = script_.num_pauses > 0 || next_ == script_.events.size();
    timer_.expires_after(next_ == script_.events.size() ? wait : std::chrono::milliseconds(0));
    co_await timer_.async_wait(asio::use_awaitable);
    if (script_.num_pauses > 0) --script_.num_pauses;
    if (pauses) co_return std::nullopt;
    co_return script_.events[next_++];
  }

  bool finished() const override { return !script_.hangs && next_ == script_.events.size(); }

 private:
  asio::steady_timer timer_;
  FakeGenerator::Script script_;
  size_t next_ = 0;
  int64_t& num_alive_;
};

}  // namespace

FakeGenerator::FakeGenerator(asio::any_io_executor executor, Options options)
    : executor_(std::move(executor)), options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<Generation>> FakeGenerator::Start(
    std::vector<GenerateRequest> requests, const Client&, const std::string&) {
  started.insert(started.end(), requests.begin(), requests.end());
  Script script = std::move(scripts.front());
  scripts.pop_front();
  if (!script.start.ok()) return script.start;
  return std::make_unique<FakeGeneration>(executor_, std::move(script), num_alive);
}

asio::awaitable<absl::StatusOr<EncodedBatch>> FakeGenerator::Encode(EncodeBatch batch,
                                                                    const Client&,
                                                                    const std::string&) {
  if (!encodes) co_return absl::ResourceExhaustedError("the request queue is full");
  EncodedBatch encoded;
  const size_t size = options_.encoders.at(batch.model).result_size;
  encoded.values.assign(batch.inputs.size(), std::vector<float>(size, 0.25f));
  encoded.num_tokens.assign(batch.inputs.size(), 3);
  co_return encoded;
}

asio::awaitable<void> FakeResponse::Send(int status, std::string_view content_type,
                                         std::string body) {
  this->status = status;
  this->content_type = content_type;
  this->body = std::move(body);
  co_return;
}

asio::awaitable<void> FakeResponse::StartStream(std::string_view content_type) {
  status = 200;
  streams = true;
  this->content_type = content_type;
  co_return;
}

asio::awaitable<void> FakeResponse::Write(std::string bytes) {
  writes.push_back(std::move(bytes));
  co_return;
}

}  // namespace shortlist
