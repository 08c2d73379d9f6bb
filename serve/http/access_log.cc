#include "serve/http/access_log.h"

#include <fcntl.h>
#include <limits.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "serve/http/log_writer.h"

namespace shortlist {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxPendingLines = 8192;
constexpr size_t kMaxLineBytes = PIPE_BUF;  // so that a pipe takes a line atomically
constexpr std::chrono::milliseconds kPoll{50};
constexpr std::chrono::milliseconds kEndPatience{500};
constexpr std::chrono::milliseconds kEndLimit{2'000};

/// Formats a value from a client for use after "key=". Quotes and escapes it if it would be
/// ambiguous.
std::string Value(const std::string& text) {
  if (text.find_first_of(" \"=\\") == text.npos) return text;
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

/// Blocks all signals: other threads handle them, and writes must not raise any.
void BlockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

/// A file that the destructor closes.
class OwnFile {
 public:
  static absl::StatusOr<std::unique_ptr<OwnFile>> Open(const std::string& path) {
    // O_NONBLOCK: opening a named pipe without a reader fails instead of blocking.
    const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0640);
    if (fd >= 0) return std::make_unique<OwnFile>(fd);
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open the log file ", path));
  }
  explicit OwnFile(int fd) : fd_(fd) {}
  ~OwnFile() { close(fd_); }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace

/// Receives the lines from spdlog's thread.
class AccessLog::Sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit Sink(int fd) : writer_(std::in_place, fd) {}
  Sink(std::string path, std::unique_ptr<OwnFile> file)
      : path_(std::move(path)), file_(std::move(file)), writer_(std::in_place, file_->fd()) {}

  /// `overruns` returns the number of lines dropped before they came here. Constant while threads
  /// run.
  void set_overruns(std::function<size_t()> overruns) { overruns_ = std::move(overruns); }
  void Reopen() { wants_reopen_ = !path_.empty(); }
  /// From now on writes wait at most kEndPatience, for all lines together.
  void BeginEnd() { end_ = (Clock::now() + kEndPatience).time_since_epoch().count(); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (wants_reopen_.exchange(false)) OpenAgain();
    const size_t num_dropped = num_failed_ + overruns_();
    if (num_dropped > num_told_ &&
        WriteEvent(absl::StrCat("event=log_dropped lines=", num_dropped - num_told_))) {
      num_told_ = num_dropped;
    }
    if (!WriteLine(message)) ++num_failed_;
  }
  void flush_() override {}

  void OpenAgain() {
    absl::StatusOr<std::unique_ptr<OwnFile>> file = OwnFile::Open(path_);
    if (!file.ok()) {
      WriteEvent(absl::StrCat("event=log_not_reopened status=",
                              Value(std::string(file.status().message()))));
      return;
    }
    writer_.emplace((*file)->fd());
    file_ = *std::move(file);
    is_cut_ = false;
  }

  bool WriteEvent(const std::string& text) {
    return WriteLine(spdlog::details::log_msg("serve", spdlog::level::info, text));
  }

  /// Returns false if the line was dropped.
  bool WriteLine(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t buffer;
    formatter_->format(message, buffer);
    if (buffer.size() > kMaxLineBytes) {
      buffer.resize(kMaxLineBytes);
      buffer[kMaxLineBytes - 1] = '\n';
    }
    std::string_view rest(buffer.data(), buffer.size());
    if (std::string_view end = "\n"; is_cut_ && !Write(end)) return false;
    is_cut_ = false;
    if (Write(rest)) return true;
    is_cut_ = rest.size() < buffer.size();
    return false;
  }

  /// Removes what was written from `rest`. Returns false if it was not all.
  bool Write(std::string_view& rest) {
    for (;;) {
      switch (writer_->TryWrite(rest)) {
        case LogWriter::Outcome::kAll:
          return true;
        case LogWriter::Outcome::kPart:
          break;
        case LogWriter::Outcome::kFull:
          if (Clock::now().time_since_epoch().count() >= end_) return false;
          writer_->AwaitRoom(kPoll);
          break;
        case LogWriter::Outcome::kFailed:
          return false;
      }
    }
  }

  const std::string path_;         // empty: no file of our own
  std::unique_ptr<OwnFile> file_;  // null: no file of our own
  std::optional<LogWriter> writer_;
  std::function<size_t()> overruns_;
  size_t num_failed_ = 0, num_told_ = 0;
  bool is_cut_ = false;  // the last line was written in part
  std::atomic<bool> wants_reopen_ = false;
  std::atomic<Clock::rep> end_ = Clock::duration::max().count();
};

struct AccessLog::Threads {
  explicit Threads(const std::shared_ptr<Sink>& sink)
      : pool(std::make_shared<spdlog::details::thread_pool>(kMaxPendingLines, 1, BlockSignals)),
        logger(std::make_shared<spdlog::async_logger>(
            "serve", sink, pool, spdlog::async_overflow_policy::overrun_oldest)) {
    logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%e%z %v");
    sink->set_overruns([pool = pool.get()] { return pool->overrun_counter(); });
  }

  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;
};

AccessLog::AccessLog(std::shared_ptr<Sink> sink)
    : sink_(std::move(sink)), threads_(std::make_unique<Threads>(sink_)) {}

AccessLog::AccessLog(int fd) : AccessLog(std::make_shared<Sink>(fd)) {}

absl::StatusOr<std::unique_ptr<AccessLog>> AccessLog::Open(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<OwnFile> file, OwnFile::Open(path));
  return std::unique_ptr<AccessLog>(new AccessLog(std::make_shared<Sink>(path, std::move(file))));
}

AccessLog::~AccessLog() {
  sink_->BeginEnd();
  // A write may hang in the kernel, such as to a network file system. It must not delay the end.
  // The thread is then abandoned together with all that it uses.
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> ended = done->get_future();
  try {
    std::thread([threads = std::move(threads_), sink = sink_, done]() mutable {
      threads.reset();
      sink.reset();
      done->set_value();
    }).detach();
    ended.wait_for(kEndLimit);
  } catch (const std::system_error&) {
    // No thread could be started; the members were destroyed here.
  }
}

void AccessLog::Write(const RequestRecord& record) {
  std::string line = absl::StrCat(
      "event=request id=", Value(record.id), " client=", Value(record.client),
      " method=", Value(record.method.substr(0, 16)),
      " route=", record.route.empty() ? "none" : record.route, " status=", record.status,
      " ms=", absl::StrFormat("%.1f", 1e3 * record.seconds), " bytes=", record.response_bytes);
  if (record.prompt_tokens > 0) {
    absl::StrAppend(&line, " prompt_tokens=", record.prompt_tokens,
                    " completion_tokens=", record.completion_tokens);
  }
  if (!record.error_code.empty()) absl::StrAppend(&line, " error=", record.error_code);
  if (!record.ignored_fields.empty()) {
    absl::StrAppend(&line, " ignored_fields=", Value(record.ignored_fields));
  }
  if (record.client_gone) absl::StrAppend(&line, " client_gone=1");
  if (!record.traceparent.empty()) absl::StrAppend(&line, " traceparent=", record.traceparent);
  threads_->logger->log(spdlog::level::info, line);
}

void AccessLog::Write(std::string_view what, std::string_view details) {
  const std::string line =
      absl::StrCat("event=", std::string(what), details.empty() ? "" : " ", std::string(details));
  threads_->logger->log(spdlog::level::info, line);
}

void AccessLog::Reopen() { sink_->Reopen(); }

}  // namespace shortlist
