#include "serve/health_probe.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace shortlist {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kLate{1};

}  // namespace

asio::awaitable<absl::Status> HealthProbe::Ask() {
  const std::shared_ptr<HealthProbe> self = shared_from_this();
  if (has_answer_ && Clock::now() - answered_at_ < options_.kept) co_return answer_;
  if (running_ == nullptr) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    running_ = std::make_shared<asio::steady_timer>(executor, Clock::time_point::max());
    // Spawned, so that its lifetime does not depend on the first caller.
    try {
      asio::co_spawn(executor, Run(), asio::detached);
    } catch (...) {
      running_.reset();
      throw;
    }
  }
  const std::shared_ptr<asio::steady_timer> token = running_;
  while (running_ == token) {
    co_await token->async_wait(asio::as_tuple(asio::use_awaitable));
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      throw boost::system::system_error(asio::error::operation_aborted);
    }
  }
  co_return answer_;
}

asio::awaitable<void> HealthProbe::Run() {
  const std::shared_ptr<HealthProbe> self = shared_from_this();
  try {
    const bool generates = generator_.options().generates;
    for (int attempt = 0; attempt < 2; ++attempt) {
      const Clock::time_point begin = Clock::now();
      auto asking = generates ? Generate() : Encode();
      answer_ = co_await std::move(asking);
      // If the process was paused meanwhile, the engine had no time to answer, so probe once more.
      if (answer_.ok() || Clock::now() - begin <= options_.timeout + kLate) break;
    }
  } catch (const std::exception& error) {
    answer_ = absl::UnavailableError(error.what());
  }
  answered_at_ = Clock::now();
  has_answer_ = true;
  std::exchange(running_, nullptr)->cancel();
}

asio::awaitable<absl::Status> HealthProbe::Encode() {
  EncodeBatch batch;
  batch.inputs.resize(1);
  batch.inputs[0].ids = {TokenId{0}};
  batch.timeout_s = std::chrono::duration<double>(options_.timeout).count();
  const Client client{.name = "health probe", .cache_salt = ""};
  const std::string rid;
  auto running = generator_.Encode(std::move(batch), client, rid);
  const absl::StatusOr<EncodedBatch> encoded = co_await std::move(running);
  if (encoded.ok() || absl::IsResourceExhausted(encoded.status())) co_return absl::OkStatus();
  co_return absl::UnavailableError(encoded.status().message());
}

asio::awaitable<absl::Status> HealthProbe::Generate() {
  const Generator::Options& options = generator_.options();
  std::vector<GenerateRequest> requests(1);
  requests[0].prompt = Share(std::vector<TokenId>{options.tokenizer->bos().value_or(TokenId{0})});
  requests[0].max_new_tokens = 1;
  requests[0].speculates = false;
  const Client client{.name = "health probe", .cache_salt = ""};
  auto generation = generator_.Start(std::move(requests), client, /*rid=*/"");
  absl::Status status = generation.status();
  bool is_busy = absl::IsResourceExhausted(status);
  if (status.ok()) {
    const std::optional<GenerationEvent> event =
        co_await (*generation)->NextWithin(options_.timeout);
    if (event.has_value()) {
      status = event->status;
      is_busy = absl::IsResourceExhausted(status);
    } else {
      status =
          absl::UnavailableError(absl::StrCat("no token within ", options_.timeout.count(), " ms"));
      is_busy = true;
    }
  }
  if (status.ok() || (is_busy && generator_.Throughput() > 0.0)) co_return absl::OkStatus();
  co_return absl::UnavailableError(status.message());
}

}  // namespace shortlist
