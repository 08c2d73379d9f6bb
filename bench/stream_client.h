#ifndef SHORTLIST_BENCH_STREAM_CLIENT_H_
#define SHORTLIST_BENCH_STREAM_CLIENT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace shortlist {

/// One streamed completion over a connection of its own, on 127.0.0.1. The socket does not block;
/// wait for fd() with poll.
class StreamClient {
 public:
  /// What has been seen of the reply.
  enum class State {
    kOpen,
    kDone,     // the stream came to its end
    kRefused,  // another status than 200
    kBroken,   // the connection ended before the stream did, or never was
  };

  /// Connects and sends `body` to POST /v1/completions. `receive_bytes`: of the kernel's buffer; 0:
  /// its default.
  StreamClient(uint16_t port, const std::string& body, int receive_bytes = 0);
  ~StreamClient();
  StreamClient(const StreamClient&) = delete;
  StreamClient& operator=(const StreamClient&) = delete;

  int fd() const { return socket_; }
  State state() const { return state_; }
  /// Reads at most `max_bytes` of what is there and returns the number of events that came with it.
  int64_t Read(size_t max_bytes);
  const std::string& status_line() const { return status_line_; }

 private:
  void Scan(int64_t& num_events);

  int socket_ = -1;
  State state_ = State::kOpen;
  std::string status_line_;
  std::string pending_;  // read, not scanned: at most a line
};

/// A completion of `num_prompt_words` made-up words, streamed, with `max_tokens` of output that no
/// end of text cuts short. `number` makes prompts differ.
std::string CompletionBody(const std::string& model, int64_t number, int64_t num_prompt_words,
                           int64_t max_tokens);

/// The body of a GET, empty when there is none.
std::string HttpGet(uint16_t port, const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_BENCH_STREAM_CLIENT_H_
