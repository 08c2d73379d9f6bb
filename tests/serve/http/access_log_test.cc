#include "serve/http/access_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"

namespace shortlist {
namespace {

using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;

TEST(AccessLogTest, ClientValuesCannotForgeFields) {
  testing::internal::CaptureStderr();
  {
    AccessLog log(STDERR_FILENO);
    log.Write({.id = R"(a"_status=500_\)",
               .client = "key 1",
               .route = "/health",
               .method = "GET",
               .status = 200});
  }  // its thread has written all then
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_THAT(line, HasSubstr(R"(event=request id="a\"_status=500_\\" client="key 1" method=GET)"));
  EXPECT_THAT(line, HasSubstr(" route=/health status=200 "));
}

/// Two ends of a pipe or of a pair of sockets.
class Ends {
 public:
  enum class Kind { kPipe, kSocket };

  explicit Ends(Kind kind) {
    const int result =
        kind == Kind::kPipe ? pipe2(ends_, O_CLOEXEC) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends_);
    EXPECT_EQ(result, 0);
  }
  ~Ends() {
    CloseReader();
    close(ends_[1]);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  int writer() const { return ends_[1]; }
  void CloseReader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  /// Fills the descriptor until no process can write another byte.
  void Fill() {
    const int flags = fcntl(writer(), F_GETFL);
    fcntl(writer(), F_SETFL, flags | O_NONBLOCK);
    const std::string block(1 << 16, 'x');
    for (size_t size = block.size(); size > 0; size /= 2) {
      while (write(writer(), block.data(), size) > 0) {
      }
    }
    fcntl(writer(), F_SETFL, flags);
  }
  /// Returns the available bytes once none has arrived for `quiet`.
  std::string Read(std::chrono::milliseconds quiet) {
    std::string all, some(1 << 16, '\0');
    pollfd wait{.fd = ends_[0], .events = POLLIN, .revents = 0};
    while (poll(&wait, 1, static_cast<int>(quiet.count())) > 0) {
      const ssize_t count = read(ends_[0], some.data(), some.size());
      if (count <= 0) break;
      all.append(some.data(), static_cast<size_t>(count));
    }
    return all;
  }

 private:
  int ends_[2] = {-1, -1};
};

class StuckLogTest : public testing::TestWithParam<Ends::Kind> {
 protected:
  Ends ends_{GetParam()};
};

TEST_P(StuckLogTest, FullDescriptorBlocksNoRequest) {
  ends_.Fill();
  const Clock::time_point begin = Clock::now();
  {
    AccessLog log(ends_.writer());
    for (int i = 0; i < 20'000; ++i) log.Write("line", "number=1");
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(3));
  // The description may be another process's too.
  EXPECT_EQ(fcntl(ends_.writer(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_P(StuckLogTest, ClosedDescriptorIsHarmless) {
  ends_.CloseReader();
  AccessLog log(ends_.writer());
  for (int i = 0; i < 20'000; ++i) log.Write("line", "number=1");
}

TEST_P(StuckLogTest, DroppedLinesAreReportedLater) {
  ends_.Fill();
  AccessLog log(ends_.writer());
  for (int i = 0; i < 20'000; ++i) log.Write("line", absl::StrCat("number=", i));
  const std::string text = ends_.Read(std::chrono::milliseconds(200));
  constexpr std::string_view kDropped = "event=log_dropped lines=";
  int num_dropped = 0, num_written = 0;
  for (size_t at = text.find("event="); at != text.npos; at = text.find("event=", at + 1)) {
    const bool is_dropped = text.compare(at, kDropped.size(), kDropped) == 0;
    num_dropped += is_dropped ? std::atoi(text.c_str() + at + kDropped.size()) : 0;
    num_written += is_dropped ? 0 : 1;
  }
  EXPECT_GT(num_dropped, 0);
  EXPECT_EQ(num_written + num_dropped, 20'000);
  EXPECT_THAT(text, HasSubstr("number=19999\n"));  // the oldest are those that went
}

INSTANTIATE_TEST_SUITE_P(Kinds, StuckLogTest,
                         testing::Values(Ends::Kind::kPipe, Ends::Kind::kSocket),
                         [](const auto& info) {
                           return info.param == Ends::Kind::kPipe ? "Pipe" : "Socket";
                         });

class LogFileTest : public testing::Test {
 protected:
  ~LogFileTest() override {
    for (const std::string& path : {path_, path_ + ".1"}) std::remove(path.c_str());
  }
  static std::string Contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  const std::string path_ = testing::TempDir() + "log-" + std::to_string(getpid());
};

TEST_F(LogFileTest, IsAppendedTo) {
  std::ofstream(path_) << "before\n";
  {
    auto log = AccessLog::Open(path_);
    ASSERT_TRUE(log.ok()) << log.status();
    (*log)->Write("one");
  }
  EXPECT_THAT(Contents(path_), testing::MatchesRegex("before\ntime=[^ ]* event=one\n"));
}

TEST_F(LogFileTest, IsReopenedAfterMove) {
  auto log = AccessLog::Open(path_);
  ASSERT_TRUE(log.ok()) << log.status();
  (*log)->Write("one");
  while (Contents(path_).empty()) std::this_thread::yield();
  ASSERT_EQ(std::rename(path_.c_str(), (path_ + ".1").c_str()), 0);
  (*log)->Reopen();
  (*log)->Write("two");
  log->reset();
  EXPECT_THAT(Contents(path_ + ".1"), HasSubstr("event=one"));
  EXPECT_THAT(Contents(path_ + ".1"), Not(HasSubstr("event=two")));
  EXPECT_THAT(Contents(path_), HasSubstr("event=two"));
}

TEST_F(LogFileTest, UnopenableFileIsNamed) {
  const absl::Status status = AccessLog::Open(path_ + "-none/log").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_ + "-none/log"));
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);  // it has no reader, and Open() waits for none
  EXPECT_FALSE(AccessLog::Open(path_).ok());
}

TEST_F(LogFileTest, SizeLimitIsHarmless) {
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit limit{.rlim_cur = 1000, .rlim_max = old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  {
    auto log = AccessLog::Open(path_);
    for (int i = 0; log.ok() && i < 1000; ++i) (*log)->Write("line", "number=1");
  }
  setrlimit(RLIMIT_FSIZE, &old_limit);
  EXPECT_EQ(Contents(path_).size(), 1000u);
}

TEST_F(LogFileTest, LineAfterCutLineStartsAnew) {
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit limit{.rlim_cur = 1000, .rlim_max = old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  {
    auto log = AccessLog::Open(path_);
    for (int i = 0; log.ok() && Contents(path_).size() < 1000; ++i)
      (*log)->Write("line", "number=1");
    setrlimit(RLIMIT_FSIZE, &old_limit);
    if (log.ok()) (*log)->Write("line", "number=2");
  }
  std::istringstream lines(Contents(path_));
  std::string last;
  for (std::string line; std::getline(lines, line); last = line) {
    EXPECT_EQ(line.rfind("time="), 0u) << line;
  }
  EXPECT_THAT(last, HasSubstr("number=2"));
}

}  // namespace
}  // namespace shortlist
