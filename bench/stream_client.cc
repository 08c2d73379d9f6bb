#include "bench/stream_client.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>

namespace shortlist {
namespace {

constexpr const char* kWords[] = {"the",   "vector", "class", "of",    "an",     "old",
                                  "river", "ship",   "time",  "under", "return", "every"};

int Connect(uint16_t port, int receive_bytes) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (receive_bytes > 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace

StreamClient::StreamClient(uint16_t port, const std::string& body, int receive_bytes)
    : socket_(Connect(port, receive_bytes)) {
  const std::string request =
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  if (socket_ < 0 || !SendAll(socket_, request)) {
    state_ = State::kBroken;
    return;
  }
  fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
}

StreamClient::~StreamClient() {
  if (socket_ >= 0) close(socket_);
}

int64_t StreamClient::Read(size_t max_bytes) {
  char bytes[16 << 10];
  int64_t num_events = 0;
  const ssize_t count = recv(socket_, bytes, std::min(max_bytes, sizeof bytes), 0);
  if (count > 0) {
    pending_.append(bytes, static_cast<size_t>(count));
    Scan(num_events);
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    state_ = State::kBroken;
  }
  return num_events;
}

/// Scans complete lines. Chunk sizes are lines with other beginnings.
void StreamClient::Scan(int64_t& num_events) {
  size_t begin = 0;
  for (size_t end; (end = pending_.find('\n', begin)) != pending_.npos; begin = end + 1) {
    const std::string_view line = std::string_view(pending_).substr(begin, end - begin);
    if (status_line_.empty()) {
      status_line_ = line;
      if (!line.starts_with("HTTP/1.1 200")) state_ = State::kRefused;
    } else if (line.starts_with("data: [DONE]")) {
      state_ = State::kDone;
    } else if (line.starts_with("data: ")) {
      ++num_events;
    }
  }
  pending_.erase(0, begin);
}

std::string CompletionBody(const std::string& model, int64_t number, int64_t num_prompt_words,
                           int64_t max_tokens) {
  std::mt19937_64 random(static_cast<uint64_t>(number));
  std::string prompt;
  for (int64_t i = 0; i < num_prompt_words; ++i) {
    prompt += kWords[random() % std::size(kWords)];
    prompt += ' ';
  }
  return R"({"model": ")" + model + R"(", "prompt": ")" + prompt + R"(", "max_tokens": )" +
         std::to_string(max_tokens) + R"(, "temperature": 0, "ignore_eos": true, "stream": true})";
}

std::string HttpGet(uint16_t port, const std::string& path) {
  const int fd = Connect(port, 0);
  std::string reply;
  if (fd < 0) return reply;
  SendAll(fd, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  char bytes[16 << 10];
  for (ssize_t count; (count = recv(fd, bytes, sizeof bytes, 0)) > 0;) {
    reply.append(bytes, static_cast<size_t>(count));
  }
  close(fd);
  const size_t body = reply.find("\r\n\r\n");
  return body == reply.npos ? "" : reply.substr(body + 4);
}

}  // namespace shortlist
