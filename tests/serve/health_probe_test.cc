#include "serve/health_probe.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "tests/serve/fake_generator.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

namespace asio = boost::asio;

// A client may disconnect at any moment, also between the probe's end and the reply. Under
// AddressSanitizer this finds uses after that.
TEST(HealthProbeTest, ClientsDisconnectAtAnyTime) {
  for (int num_steps = 0; num_steps < 60; ++num_steps) {
    asio::io_context io;
    FakeGenerator generator(io.get_executor(), {.tokenizer = &DemoTokenizer()});
    generator.scripts.push_back({.events = {{.completion_tokens = 1, .finished = true}}});
    const auto probe = std::make_shared<HealthProbe>(generator, HealthProbe::Options());
    std::vector<asio::cancellation_signal> gone(4);
    int num_ended = 0;
    for (asio::cancellation_signal& signal : gone) {
      asio::co_spawn(
          io, probe->Ask(),
          asio::bind_cancellation_slot(
              signal.slot(), [&](std::exception_ptr, const absl::Status&) { ++num_ended; }));
    }
    for (int i = 0; i < num_steps; ++i) io.poll_one();
    for (size_t i = 0; i + 1 < gone.size(); ++i) {
      gone[i].emit(asio::cancellation_type::terminal);
      io.poll_one();
    }
    io.restart();
    io.run();
    EXPECT_EQ(num_ended, 4) << num_steps;
    EXPECT_EQ(generator.started.size(), 1u);
  }
}

/// A probe whose time passes in a pause of the process asks again.
TEST(HealthProbeTest, PauseIsNotReportedAsFailure) {
  for (const bool pauses : {false, true}) {
    asio::io_context io;
    FakeGenerator generator(io.get_executor(), {.tokenizer = &DemoTokenizer()});
    generator.scripts.push_back({.events = {}, .hangs = true});
    generator.scripts.push_back({.events = {{.completion_tokens = 1, .finished = true}}});
    const auto probe = std::make_shared<HealthProbe>(
        generator, HealthProbe::Options{.timeout = std::chrono::milliseconds(50)});
    absl::Status answer = absl::UnknownError("none yet");
    asio::co_spawn(io, probe->Ask(),
                   [&](std::exception_ptr, const absl::Status& status) { answer = status; });
    if (pauses) {
      asio::post(io, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1'200)); });
    }
    io.run();
    EXPECT_EQ(answer.ok(), pauses) << answer;
    EXPECT_EQ(generator.started.size(), pauses ? 2u : 1u);
  }
}

}  // namespace
}  // namespace shortlist
