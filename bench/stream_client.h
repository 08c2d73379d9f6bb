#ifndef SHORTLIST_BENCH_STREAM_CLIENT_H_
#define SHORTLIST_BENCH_STREAM_CLIENT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace shortlist {

/// One streamed completion over its own connection to 127.0.0.1. The socket is non-blocking; wait
/// for fd() with poll.
class StreamClient {
 public:
  /// State of the reply so far.
  enum class State {
    kOpen,
    kDone,     // the stream has ended
    kRefused,  // a status other than 200
    kBroken,   // the connection failed, or ended before the stream did
  };

  /// Connects and sends `body` to POST /v1/completions. `receive_bytes`: size of the kernel's
  /// receive buffer; 0: its default.
  StreamClient(uint16_t port, const std::string& body, int receive_bytes = 0);
  ~StreamClient();
  StreamClient(const StreamClient&) = delete;
  StreamClient& operator=(const StreamClient&) = delete;

  int fd() const { return socket_; }
  State state() const { return state_; }
  /// Reads at most `max_bytes` of the available bytes. Returns the number of complete events read.
  int64_t Read(size_t max_bytes);
  const std::string& status_line() const { return status_line_; }

 private:
  void Scan(int64_t& num_events);

  int socket_ = -1;
  State state_ = State::kOpen;
  std::string status_line_;
  std::string pending_;  // received, not yet scanned: at most one line
};

/// Request body for a streamed completion: a prompt of `num_prompt_words` random words, and exactly
/// `max_tokens` tokens of output (ignore_eos). Different `number`s give different prompts.
std::string CompletionBody(const std::string& model, int64_t number, int64_t num_prompt_words,
                           int64_t max_tokens);

/// Returns the body of a GET reply, empty on failure.
std::string HttpGet(uint16_t port, const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_BENCH_STREAM_CLIENT_H_
