#include "serve/http/worker_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace shortlist {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

/// A coroutine that awaits work, as the I/O thread sees it.
struct Awaited {
  Client client;
  asio::cancellation_signal cancel;
  bool ended = false;
  std::exception_ptr thrown;
  std::string result;
};

class WorkerThreadsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Awaited> Await(std::function<std::string()> work,
                                 const Client& client = {.name = "a", .cache_salt = ""}) {
    auto awaited = std::make_unique<Awaited>();
    awaited->client = client;
    asio::co_spawn(io_, workers_->Run(awaited->client, /*num_bytes=*/1 << 20, std::move(work)),
                   asio::bind_cancellation_slot(
                       awaited->cancel.slot(),
                       [a = awaited.get()](std::exception_ptr thrown, std::string result) {
                         a->ended = true;
                         a->thrown = thrown;
                         a->result = std::move(result);
                       }));
    return awaited;
  }

  void RunUntil(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      io_.restart();
      io_.run_one_for(milliseconds(5));
    }
  }

  asio::io_context io_;
  std::unique_ptr<WorkerThreads> workers_ = std::make_unique<WorkerThreads>(1);
};

TEST_F(WorkerThreadsTest, ReturnsResultOfOtherThread) {
  std::thread::id id;
  const auto awaited = Await([&] {
    id = std::this_thread::get_id();
    return "done";
  });
  RunUntil([&] { return awaited->ended; });
  EXPECT_EQ(awaited->result, "done");
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST_F(WorkerThreadsTest, RethrowsException) {
  const auto awaited = Await([]() -> std::string { throw std::runtime_error("broken"); });
  RunUntil([&] { return awaited->ended; });
  EXPECT_THROW(std::rethrow_exception(awaited->thrown), std::runtime_error);
}

TEST_F(WorkerThreadsTest, CancelWaitsForStartedWorkAndDropsOther) {
  std::promise<void> go_on;
  bool second_ran = false;
  std::atomic<bool> begun = false, first_is_over = false;
  const auto first = Await([&] {
    begun = true;
    go_on.get_future().wait();
    first_is_over = true;
    return std::string();
  });
  const auto second = Await([&] {
    second_ran = true;
    return std::string();
  });
  RunUntil([&] { return begun.load(); });
  first->cancel.emit(asio::cancellation_type::terminal);
  second->cancel.emit(asio::cancellation_type::terminal);
  RunUntil([&] { return second->ended; });
  EXPECT_TRUE(second->thrown);
  EXPECT_FALSE(first->ended);
  go_on.set_value();
  RunUntil([&] { return first->ended; });
  EXPECT_TRUE(first->thrown);
  EXPECT_TRUE(first_is_over);
  const auto third = Await([] { return "third"; });
  RunUntil([&] { return third->ended; });
  EXPECT_EQ(third->result, "third");
  EXPECT_FALSE(second_ran);
}

TEST_F(WorkerThreadsTest, ClientsTakeTurns) {
  std::promise<void> go_on;
  std::string order;
  std::vector<std::unique_ptr<Awaited>> awaited;
  awaited.push_back(Await([&] {
    go_on.get_future().wait();
    return std::string();
  }));
  for (int i = 0; i < 20; ++i) {
    awaited.push_back(Await([&] {
      order += 'a';
      return std::string();
    }));
  }
  const Client other{.name = "b", .cache_salt = ""};
  awaited.push_back(Await(
      [&] {
        order += 'b';
        return std::string();
      },
      other));
  io_.poll();
  go_on.set_value();
  for (const auto& each : awaited) RunUntil([&] { return each->ended; });
  EXPECT_EQ(order.size(), 21u);
  EXPECT_LE(order.find('b'), 1u);
}

// Under AddressSanitizer and ThreadSanitizer this finds what asio's own co_spawn across executors
// does when it is cancelled.
TEST_F(WorkerThreadsTest, RandomCancellationIsSafe) {
  std::atomic<int> num_run = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::unique_ptr<Awaited>> awaited;
    for (int i = 0; i < 5; ++i) {
      awaited.push_back(Await([&] {
        ++num_run;
        return std::string(100, 'x');
      }));
    }
    for (int i = 0; i < 4; ++i) {
      if ((round + i) % 3 == 0) io_.poll_one();
      awaited[i]->cancel.emit(asio::cancellation_type::terminal);
    }
    for (const auto& each : awaited) RunUntil([&] { return each->ended; });
  }
  EXPECT_GE(num_run, 300);  // work that was not cancelled has run
}

TEST_F(WorkerThreadsTest, EndsWithUncollectedWork) {
  std::atomic<bool> begun = false;
  const auto first = Await([&] {
    begun = true;
    std::this_thread::sleep_for(milliseconds(20));
    return std::string();
  });
  const auto second = Await([] { return std::string(); });
  RunUntil([&] { return begun.load(); });
  workers_.reset();
  EXPECT_FALSE(first->ended);
}

}  // namespace
}  // namespace shortlist
