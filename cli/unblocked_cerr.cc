#include "cli/unblocked_cerr.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <mutex>
#include <streambuf>
#include <string_view>

#include "serve/http/log_writer.h"

namespace shortlist {
namespace {

using Clock = std::chrono::steady_clock;

/// Unbuffered: std::cerr flushes after each piece anyway.
class UnblockedBuffer final : public std::streambuf {
 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    const std::lock_guard lock(mutex_);
    std::string_view rest(text, static_cast<size_t>(count));
    while (!rest.empty()) {
      const LogWriter::Outcome outcome = writer_.TryWrite(rest);
      if (outcome == LogWriter::Outcome::kFailed) break;
      if (outcome != LogWriter::Outcome::kFull) continue;
      if (patience_.count() <= 0) break;
      const Clock::time_point begin = Clock::now();
      writer_.AwaitRoom(patience_);
      // Subtracts a further millisecond, so that the loop ends even if poll reports room wrongly.
      patience_ -= std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin) +
                   std::chrono::milliseconds(1);
    }
    return count;  // the stream stays good: there may be room later
  }

  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char text = traits_type::to_char_type(c);
    xsputn(&text, 1);
    return c;
  }

 private:
  std::mutex mutex_;
  LogWriter writer_{STDERR_FILENO};
  std::chrono::milliseconds patience_{1'000};
};

}  // namespace

void UnblockCerr() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // Never destroyed: std::cerr is used until the process ends.
  static auto* const buffer = new UnblockedBuffer;
  std::cerr.rdbuf(buffer);
}

}  // namespace shortlist
