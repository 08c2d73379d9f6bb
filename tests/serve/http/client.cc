#include "tests/serve/http/client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace shortlist {

std::vector<std::string> HttpReply::Events() const {
  std::vector<std::string> events;
  size_t begin = 0;
  while (begin < body.size()) {
    const size_t end = std::min(body.find("\n\n", begin), body.size());
    const std::string event = body.substr(begin, end - begin);
    const size_t data = event.starts_with("event: ") ? event.find('\n') + 1 : 0;
    if (event.compare(data, 6, "data: ") == 0) events.push_back(event.substr(data + 6));
    begin = end + 2;
  }
  return events;
}

HttpClient::HttpClient(uint16_t port, int receive_bytes) {
  socket_ = socket(AF_INET, SOCK_STREAM, 0);
  if (receive_bytes > 0) {
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
  }
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

HttpClient::~HttpClient() { close(socket_); }

bool HttpClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool HttpClient::Fill(std::chrono::milliseconds timeout) {
  pollfd ready{socket_, POLLIN, 0};
  if (poll(&ready, 1, static_cast<int>(timeout.count())) != 1) return false;
  char bytes[16 << 10];
  const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
  if (count <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(count));
  return true;
}

std::string HttpClient::ReceiveSome(std::chrono::milliseconds timeout) {
  if (buffer_.empty()) Fill(timeout);
  return std::exchange(buffer_, {});
}

void HttpClient::ReceiveByte() {
  char byte = 0;
  if (recv(socket_, &byte, 1, MSG_DONTWAIT) == 1) buffer_ += byte;
}

bool HttpClient::AwaitClose(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    pollfd ready{socket_, POLLIN, 0};
    if (poll(&ready, 1, 50) != 1) continue;
    char bytes[16 << 10];
    if (recv(socket_, bytes, sizeof bytes, 0) <= 0) return true;
  }
  return false;
}

void HttpClient::ShutdownSend() { shutdown(socket_, SHUT_WR); }

void HttpClient::ResetAtEnd() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

HttpReply HttpClient::Receive(bool is_head, std::chrono::milliseconds timeout) {
  HttpReply reply;
  size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == buffer_.npos) {
    if (!Fill(timeout)) return reply;
  }
  const std::string header = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  reply.status = std::atoi(header.substr(9, 3).c_str());
  for (size_t line = header.find("\r\n") + 2; line < header.size();) {
    const size_t line_end = header.find("\r\n", line);
    const size_t colon = header.find(':', line);
    std::string name = header.substr(line, colon - line);
    std::transform(name.begin(), name.end(), name.begin(), ::tolower);
    reply.headers[name] = header.substr(colon + 2, line_end - colon - 2);
    line = line_end + 2;
  }
  if (reply.status == 100) return Receive(is_head, timeout);
  if (is_head) {
    reply.complete = true;
    return reply;
  }
  if (reply.headers.contains("transfer-encoding")) {
    while (true) {
      size_t size_end = 0;
      while ((size_end = buffer_.find("\r\n")) == buffer_.npos) {
        if (!Fill(timeout)) return reply;
      }
      const size_t size = std::strtoul(buffer_.c_str(), nullptr, 16);
      while (buffer_.size() < size_end + 2 + size + 2) {
        if (!Fill(timeout)) return reply;
      }
      reply.body += buffer_.substr(size_end + 2, size);
      buffer_.erase(0, size_end + 2 + size + 2);
      if (size > 0) continue;
      reply.complete = true;
      return reply;
    }
  }
  if (!reply.headers.contains("content-length")) {
    while (Fill(timeout)) {
    }
    reply.body = std::exchange(buffer_, {});
    reply.complete = true;
    return reply;
  }
  const size_t size = std::strtoul(reply.headers["content-length"].c_str(), nullptr, 10);
  while (buffer_.size() < size) {
    if (!Fill(timeout)) return reply;
  }
  reply.body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  reply.complete = true;
  return reply;
}

HttpReply HttpClient::Get(const std::string& target, const std::string& headers) {
  Send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  return Receive();
}

std::string PostRequest(const std::string& target, const std::string& body,
                        const std::string& headers) {
  return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

HttpReply HttpClient::Post(const std::string& target, const std::string& body,
                           const std::string& headers) {
  Send(PostRequest(target, body, headers));
  return Receive();
}

}  // namespace shortlist
