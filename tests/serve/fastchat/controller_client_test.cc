#include "serve/fastchat/controller_client.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "serve/http/host_lookup.h"

namespace shortlist {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using nlohmann::json;
using std::chrono::milliseconds;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

TEST(HttpUrlTest, SplitsHostPortAndPath) {
  const struct {
    const char *url, *host, *port, *path, *authority;
  } kCases[] = {
      {"http://localhost:21001", "localhost", "21001", "", "localhost:21001"},
      {"http://10.0.0.7", "10.0.0.7", "80", "", "10.0.0.7:80"},
      {"http://example.org:8/a/b//", "example.org", "8", "/a/b", "example.org:8"},
      {"http://[::1]:65535/", "::1", "65535", "", "[::1]:65535"},
      {"http://[fe80::2]", "fe80::2", "80", "", "[fe80::2]:80"},
  };
  for (const auto& c : kCases) {
    const auto url = HttpUrl::Parse(c.url);
    ASSERT_TRUE(url.ok()) << url.status();
    EXPECT_EQ(url->host, c.host);
    EXPECT_EQ(url->port, c.port);
    EXPECT_EQ(url->path, c.path);
    EXPECT_EQ(url->Authority(), c.authority);
  }
}

TEST(HttpUrlTest, RejectsUnreachableUrl) {
  const std::string huge = "http://" + std::string(100'000, 'a') + ":0";
  for (const std::string& url : {std::string(),
                                 std::string("localhost:21001"),
                                 std::string("https://localhost"),
                                 std::string("http://"),
                                 std::string("http://:80"),
                                 std::string("http://a:0"),
                                 std::string("http://a:65536"),
                                 std::string("http://a:-1"),
                                 std::string("http://a:8x"),
                                 std::string("http://a:"),
                                 std::string("http://u:p@a"),
                                 std::string("http://a/?b"),
                                 std::string("http://a/#b"),
                                 std::string("http://a b"),
                                 std::string("http://a\r\nX: y"),
                                 std::string("http://[::1"),
                                 std::string("http://[::1]8"),
                                 std::string("http://\xc3\xa4"),
                                 std::string("http://a\0b", 10),
                                 huge}) {
    const auto parsed = HttpUrl::Parse(url);
    ASSERT_FALSE(parsed.ok()) << url.substr(0, 80);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_LT(parsed.status().message().size(), 400u);
  }
}

/// A controller with scripted replies, on the same thread as the client.
class FakeController {
 public:
  struct Received {
    std::string path;
    json body;
  };
  using Answer = std::function<std::string(const Received&)>;  // the whole reply; empty: closes

  FakeController(asio::io_context& io, uint16_t port, Answer answer)
      : answer_(std::move(answer)), acceptor_(io, tcp::endpoint(tcp::v4(), port)) {
    asio::co_spawn(
        io, [this] { return Accept(); }, asio::detached);
  }

  uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void Close() { acceptor_.close(); }
  std::vector<Received> received;

 private:
  asio::awaitable<void> Accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(kTuple);
      if (error) co_return;
      std::string text;
      auto [read_error, head] =
          co_await asio::async_read_until(socket, asio::dynamic_buffer(text), "\r\n\r\n", kTuple);
      if (read_error) continue;
      const size_t length = std::stoul(text.substr(text.find("Content-Length: ") + 16));
      while (text.size() < head + length) {
        char more[1024];
        auto [error, count] = co_await socket.async_read_some(asio::buffer(more), kTuple);
        if (error) break;
        text.append(more, count);
      }
      received.push_back({text.substr(5, text.find(' ', 5) - 5), json::parse(text.substr(head))});
      const std::string reply = answer_(received.back());
      if (reply == "silence") {
        kept_.push_back(std::move(socket));
      } else {
        co_await asio::async_write(socket, asio::buffer(reply), kTuple);
      }
    }
  }

  const Answer answer_;
  tcp::acceptor acceptor_;
  std::deque<tcp::socket> kept_;
};

std::string Reply(const std::string& body, int status = 200) {
  return absl::StrCat("HTTP/1.1 ", status, " OK\r\nContent-Length: ", body.size(), "\r\n\r\n",
                      body);
}

const std::string kChunkedReply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Knows a worker once it registered.
std::string Sound(const FakeController::Received& request) {
  return Reply(request.path == "/receive_heart_beat" ? R"({"exist": true})" : "null");
}

class KeepRegisteredTest : public ::testing::Test {
 protected:
  void Start(uint16_t port) {
    ControllerOptions options{
        .controller = {.host = "127.0.0.1", .port = absl::StrCat(port)},
        .worker_address = "http://worker:30000",
        .heartbeat = milliseconds(5),
        .timeout = milliseconds(100),
        .status = [] { return R"({"model_names": ["m"], "speed": 1, "queue_length": 0})"; },
        .queue_length = [this] { return ++queue_length_; },
        .on_change = [this](std::string_view what,
                            const absl::Status&) { changes_.emplace_back(what); }};
    asio::co_spawn(
        io_, KeepRegistered(std::move(options)),
        asio::bind_cancellation_slot(stop_.slot(), [this](std::exception_ptr) { ended_ = true; }));
  }

  /// Runs until `done` holds; fails after 20 s.
  template <typename Done>
  void RunUntil(Done done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done() && std::chrono::steady_clock::now() < deadline)
      io_.run_one_for(milliseconds(50));
    ASSERT_TRUE(done());
  }

  static size_t Count(const FakeController& controller, const std::string& path) {
    return std::count_if(controller.received.begin(), controller.received.end(),
                         [&](const auto& request) { return request.path == path; });
  }

  asio::io_context io_;
  asio::cancellation_signal stop_;
  bool ended_ = false;
  int64_t queue_length_ = 0;
  std::vector<std::string> changes_;
};

TEST_F(KeepRegisteredTest, RegistersThenReportsQueue) {
  FakeController controller(io_, /*port=*/0, Sound);
  Start(controller.port());
  RunUntil([&] { return controller.received.size() >= 3; });
  EXPECT_EQ(controller.received[0].path, "/register_worker");
  EXPECT_EQ(controller.received[0].body,
            json::parse(R"({"worker_name": "http://worker:30000", "check_heart_beat": true,
                            "multimodal": false, "worker_status":
                            {"model_names": ["m"], "speed": 1, "queue_length": 0}})"));
  EXPECT_EQ(controller.received[1].path, "/receive_heart_beat");
  EXPECT_EQ(controller.received[1].body,
            json::parse(R"({"worker_name": "http://worker:30000", "queue_length": 1})"));
  EXPECT_EQ(controller.received[2].body["queue_length"], 2);
  EXPECT_EQ(changes_, std::vector<std::string>{"registered"});
}

TEST_F(KeepRegisteredTest, RegistersAgainWhenForgotten) {
  FakeController controller(io_, /*port=*/0, [](const auto& request) {
    return Reply(request.path == "/receive_heart_beat" ? R"({"exist": false})" : "null");
  });
  Start(controller.port());
  RunUntil([&] { return Count(controller, "/register_worker") >= 3; });
  EXPECT_EQ(Count(controller, "/receive_heart_beat"), 2u);
}

TEST_F(KeepRegisteredTest, SurvivesControllerRestart) {
  FakeController controller(io_, /*port=*/0, Sound);
  const uint16_t port = controller.port();
  Start(port);
  RunUntil([&] { return changes_.size() == 1; });
  controller.Close();
  RunUntil([&] { return changes_.size() == 2; });
  FakeController anew(io_, port, Sound);
  RunUntil([&] { return changes_.size() == 3; });
  EXPECT_EQ(changes_, (std::vector<std::string>{"registered", "unreachable", "registered"}));
  EXPECT_EQ(anew.received[0].path, "/register_worker");
}

TEST_F(KeepRegisteredTest, RetriesAfterAnyReply) {
  const std::string kReplies[] = {
      Reply("null", 500),
      "garbage\r\n\r\n",
      "",
      "silence",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\nnull",
      "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nnull",
      "HTTP/1.1 200 OK\nContent-Length: 4\n\nnull",
      "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x'),
      "HTTP/1.1 200 OK\r\n\r\n" + std::string(100'000, 'x'),
      kChunkedReply + "4;x=" + std::string(100'000, 'x'),
      kChunkedReply + "4\r\nnull\r\n0\r\nX: " + std::string(100'000, 'x'),
      "HTTP/1.1 100 Continue\r\n\r\n",
  };
  size_t next = 0;
  FakeController controller(io_, /*port=*/0, [&](const FakeController::Received& request) {
    return next < std::size(kReplies) ? kReplies[next++] : Sound(request);
  });
  Start(controller.port());
  RunUntil([&] { return changes_.size() == 2; });
  EXPECT_EQ(changes_, (std::vector<std::string>{"unreachable", "registered"}));
  EXPECT_EQ(Count(controller, "/register_worker"), std::size(kReplies) + 1);
}

TEST_F(KeepRegisteredTest, AcceptsAnyFraming) {
  const std::string kReplies[] = {
      kChunkedReply + "4;x\r\nnull\r\n0\r\nX: y\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nnull",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX: y\r\n\r\n" + Reply("null")};
  size_t next = 0;
  FakeController controller(io_, /*port=*/0, [&](const FakeController::Received& request) {
    const bool is_heartbeat = request.path == "/receive_heart_beat";
    return is_heartbeat ? Reply(R"({"exist": false})") : kReplies[next++ % 3];
  });
  Start(controller.port());
  RunUntil([&] { return changes_.size() == 3; });
  EXPECT_EQ(changes_, (std::vector<std::string>{"registered", "registered", "registered"}));
}

TEST_F(KeepRegisteredTest, MalformedHeartbeatReplyIsIgnored) {
  const std::string kBodies[] = {
      "null", "[]", "{}", R"({"exist": 1})", "{", R"({"exist": "true"})"};
  size_t next = 0;
  FakeController controller(io_, /*port=*/0, [&](const FakeController::Received& request) {
    const bool is_heartbeat = request.path == "/receive_heart_beat";
    return is_heartbeat && next < std::size(kBodies) ? Reply(kBodies[next++]) : Sound(request);
  });
  Start(controller.port());
  RunUntil([&] { return changes_.size() == 2 * std::size(kBodies) + 1; });
  EXPECT_EQ(Count(controller, "/register_worker"), std::size(kBodies) + 1);
}

TEST_F(KeepRegisteredTest, EndsOnCancellation) {
  FakeController controller(io_, /*port=*/0, Sound);
  Start(controller.port());
  RunUntil([&] { return changes_.size() == 1; });
  for (int i = 0; i < 200 && !ended_; ++i) {  // wherever it is
    stop_.emit(asio::cancellation_type::terminal);
    io_.run_one_for(milliseconds(50));
  }
  EXPECT_TRUE(ended_);
}

TEST(HostLookupTest, UnresolvedNameDelaysNoRequest) {
  const auto never = std::make_shared<std::promise<void>>();
  const auto asked = std::make_shared<std::atomic<int>>(0);
  const HostLookup::Resolve hang = [never, asked](const std::string&, const std::string&) {
    ++*asked;
    never->get_future().wait();
    return absl::StatusOr<Endpoints>(Endpoints());
  };
  const auto begin = std::chrono::steady_clock::now();
  {
    asio::io_context io;
    HostLookup lookup("controller.example", "80", hang);
    absl::Status first, second;
    const auto run = [&]() -> asio::awaitable<void> {
      first = (co_await lookup.Run(milliseconds(20))).status();
      second = (co_await lookup.Run(milliseconds(20))).status();
      co_await lookup.Run(std::chrono::hours(1));
    };
    asio::co_spawn(io, run(), asio::detached);
    io.run_for(milliseconds(100));
    EXPECT_TRUE(absl::IsDeadlineExceeded(first)) << first;
    EXPECT_TRUE(absl::IsDeadlineExceeded(second)) << second;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(*asked, 1);
  never->set_value();
}

TEST(HostLookupTest, ReturnsSystemAddresses) {
  asio::io_context io;
  HostLookup known("127.0.0.1", "80");
  absl::StatusOr<Endpoints> found = absl::UnknownError("");
  const auto run = [&]() -> asio::awaitable<void> {
    found = co_await known.Run(std::chrono::seconds(20));
  };
  asio::co_spawn(io, run(), asio::detached);
  io.run();
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().port(), 80);
}

}  // namespace
}  // namespace shortlist
