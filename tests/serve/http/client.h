#ifndef SHORTLIST_TESTS_SERVE_HTTP_CLIENT_H_
#define SHORTLIST_TESTS_SERVE_HTTP_CLIENT_H_

#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace shortlist {

struct HttpReply {
  int status = 0;                              // 0: the connection ended without a whole reply
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined
  bool complete = false;                       // the whole body was received
  /// Returns the body as JSON; a discarded value if it is not JSON.
  nlohmann::json Json() const { return nlohmann::json::parse(body, nullptr, false); }
  /// Returns the text after "data: " in each event of a stream.
  std::vector<std::string> Events() const;
};

/// A plain blocking client on a socket of its own, that can also say what no client should.
class HttpClient {
 public:
  /// `receive_bytes`: of the kernel's buffer, for slow readers; 0: its default.
  explicit HttpClient(uint16_t port, int receive_bytes = 0);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  bool connected() const { return connected_; }
  /// False when the server has closed.
  bool Send(std::string_view bytes);
  /// The next reply; waits at most `timeout` for every piece of it.
  HttpReply Receive(bool is_head = false,
                    std::chrono::milliseconds timeout = std::chrono::seconds(20));
  /// Some bytes; nothing at the end of the connection or after `timeout`.
  std::string ReceiveSome(std::chrono::milliseconds timeout = std::chrono::seconds(20));
  /// Waits for some bytes, which the next Receive takes; false at the end or after `timeout`.
  bool AwaitBytes(std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    return !buffer_.empty() || Fill(timeout);
  }
  /// Takes one byte from the kernel, and waits for none.
  void ReceiveByte();
  /// True when the server closes within `timeout`; what comes before is dropped.
  bool AwaitClose(std::chrono::milliseconds timeout = std::chrono::seconds(20));
  /// No more bytes from this side.
  void ShutdownSend();
  /// The end of this client is a reset, as of a process that was killed; without it, a FIN.
  void ResetAtEnd();

  HttpReply Get(const std::string& target, const std::string& headers = "");
  HttpReply Post(const std::string& target, const std::string& body,
                 const std::string& headers = "");
  HttpReply Post(const std::string& target, const std::same_as<nlohmann::json> auto& body) {
    return Post(target, body.dump());
  }

 private:
  bool Fill(std::chrono::milliseconds timeout);

  int socket_ = -1;
  bool connected_ = false;
  std::string buffer_;  // received, not taken
};

/// "POST target HTTP/1.1" with a JSON body; `headers` are whole lines with their ends.
std::string PostRequest(const std::string& target, const std::string& body,
                        const std::string& headers = "");

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SERVE_HTTP_CLIENT_H_
