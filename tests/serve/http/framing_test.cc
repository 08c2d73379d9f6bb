#include "serve/http/framing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "serve/http/api_error.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxBody = 1 << 20;

struct Read {
  int status = 0;  // 200: a whole message
  std::string error;
  std::string body;
  size_t num_used = 0;
};

/// `bytes` as a request, in pieces of `piece` bytes at most.
Read ReadRequest(const std::string& bytes, size_t piece = std::string::npos) {
  Read read;
  const auto feed = [&](auto&& object, auto&&... more) {
    while (!object.done() && read.num_used < bytes.size()) {
      const absl::StatusOr<size_t> used =
          object.Feed(std::string_view(bytes).substr(read.num_used, piece), more...);
      if (!used.ok()) {
        read.status = HttpStatusOf(used.status());
        read.error = std::string(used.status().message());
        return false;
      }
      read.num_used += *used;
    }
    return object.done();
  };
  HttpHeadParser head(HttpHeadParser::Kind::kMessage, {.max_bytes = 32 << 10, .max_fields = 100});
  if (!feed(head)) return read;
  const auto line = HttpRequestLine::Parse(head.start_line());
  if (!line.ok()) return {.status = HttpStatusOf(line.status())};
  auto body = FrameRequest(line->is_http11, head.fields(), kMaxBody);
  if (!body.ok()) return {.status = HttpStatusOf(body.status())};
  if (feed(*body, read.body)) read.status = 200;
  return read;
}

const std::string kPost = "POST / HTTP/1.1\r\nHost: a\r\n";
const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";

TEST(HttpFramingTest, AcceptsValidMessageSplitAnywhere) {
  const struct {
    std::string bytes, body;
  } kCases[] = {
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", ""},
      {"GET / HTTP/1.0\r\n\r\n", ""},
      {"\r\nGET / HTTP/1.1\r\nHost:\r\n\r\n", ""},
      {kPost + "Content-Length: 3\r\n\r\nabc", "abc"},
      {kPost + "content-length:\t003 \r\n\r\nabc", "abc"},
      {kPost + "tRANSFER-eNCODING: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "abc"},
      {kChunked + "0\r\n\r\n", ""},
      {kChunked + "0000000000000A\r\n0123456789\r\n000\r\n\r\n", "0123456789"},
      {kChunked + "1;a=b\r\nx\r\n1 ;c=\"d;e\" ; f\r\ny\r\n0;last\r\nA: b\r\nC: d\r\n\r\n", "xy"},
  };
  for (const auto& c : kCases) {
    for (const size_t piece : {std::string::npos, size_t{1}, size_t{2}, size_t{7}}) {
      const Read read = ReadRequest(c.bytes + "GET", piece);
      EXPECT_EQ(read.status, 200) << c.bytes;
      EXPECT_EQ(read.body, c.body) << c.bytes;
      EXPECT_EQ(read.num_used, c.bytes.size()) << c.bytes;
    }
  }
}

TEST(HttpFramingTest, RejectsAmbiguousFraming) {
  const std::string chunk = "\r\n3\r\nabc\r\n0\r\n\r\n";
  const std::string get = "GET / HTTP/1.1\r\n";
  const std::string kCases[] = {
      kPost + "Transfer-Encoding: gzip\r\n" + chunk,
      kPost + "Transfer-Encoding: gzip, chunked\r\n" + chunk,
      kPost + "Transfer-Encoding: chunked, chunked\r\n" + chunk,
      kPost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" + chunk,
      kPost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n" + chunk,
      kPost + "Transfer-Encoding: \"chunked\"\r\n" + chunk,
      kPost + "Transfer-Encoding: chunked;q=1\r\n" + chunk,
      kPost + "Transfer-Encoding: xchunked\r\n" + chunk,
      kPost + "Transfer-Encoding:\r\n" + chunk,
      kPost + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n" + chunk,
      kPost + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n" + chunk,
      "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" + chunk,
      kPost + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
      kPost + "Content-Length: 3, 3\r\n\r\nabc",
      kPost + "Content-Length: +3\r\n\r\nabc",
      kPost + "Content-Length: -3\r\n\r\nabc",
      kPost + "Content-Length: 3x\r\n\r\nabc",
      kPost + "Content-Length: 0x3\r\n\r\nabc",
      kPost + "Content-Length: 3 3\r\n\r\nabc",
      kPost + "Content-Length:\r\n\r\nabc",
      kPost + "Content-Length: 99999999999999999999\r\n\r\nabc",
      kPost + "Content-Length : 3\r\n\r\nabc",
      kPost + "Content-Length\t: 3\r\n\r\nabc",
      get + "\r\n",
      get + "Host: a\r\nHost: a\r\n\r\n",
      get + "Host: a, b\r\n\r\n",
      get + "Host: a b\r\n\r\n",
      get + "Host: a/b\r\n\r\n",
      get + "Host: u@a\r\n\r\n",
      get + "Host: a\r\nX: a\r\n b\r\n\r\n",
      get + "Host: a\r\n\tX: a\r\n\r\n",
      get + " Host: a\r\n\r\n",
      get + "Host: a\r\nX: a\nY: b\r\n\r\n",
      get + "Host: a\nX: b\r\n\r\n",
      get + "Host: a\n\n",
      get + "Host: a\r\nX: a\rb\r\n\r\n",
      get + "Host: a\r\nX: a\r\r\n\r\n",
      get + "Host: a\r\n\n",
      get + std::string("Host: a\r\nX: \0\r\n\r\n", 18),
      get + "Host: a\r\nX: \x7f\r\n\r\n",
      get + "Host: a\r\nX\r\n\r\n",
      get + "Host: a\r\n: x\r\n\r\n",
      get + "Host: a\r\nX Y: x\r\n\r\n",
      get + "Host: a\r\nX(: x\r\n\r\n",
      get + "Host: a\r\n\xc3\xa4: x\r\n\r\n",
      "GET / HTTP/1.1\nHost: a\r\n\r\n",
      "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /  HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /\ta HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / a HTTP/1.1\r\nHost: a\r\n\r\n",
      " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
      "GET / http/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
      "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.10\r\nHost: a\r\n\r\n",
      "GET /\r\n\r\n",
      "GET\r\n\r\n",
      "G{T / HTTP/1.1\r\nHost: a\r\n\r\n",
      kChunked + "\r\nabc\r\n0\r\n\r\n",
      kChunked + "x\r\n",
      kChunked + "0x3\r\nabc\r\n0\r\n\r\n",
      kChunked + "-3\r\nabc\r\n0\r\n\r\n",
      kChunked + " 3\r\nabc\r\n0\r\n\r\n",
      kChunked + "3 \r\nabc\r\n0\r\n\r\n",
      kChunked + "3 3\r\nabc\r\n0\r\n\r\n",
      kChunked + "3\nabc\r\n0\r\n\r\n",
      kChunked + "3\r\r\nabc\r\n0\r\n\r\n",
      kChunked + "3\r\nabc\n0\r\n\r\n",
      kChunked + "3\r\nabc0\r\n\r\n",
      kChunked + "3\r\nabcd\r\n0\r\n\r\n",
      kChunked + "3;a\nb\r\nabc\r\n0\r\n\r\n",
      kChunked + "3;a\rb\r\nabc\r\n0\r\n\r\n",
      kChunked + "00000000000000003\r\nabc\r\n0\r\n\r\n",
      kChunked + "0\r\n\n",
      kChunked + "0\r\nA b: c\r\n\r\n",
      kChunked + "0\r\nA: b\n\r\n",
      kChunked + "0\r\n A: b\r\n\r\n",
  };
  for (const std::string& bytes : kCases) {
    for (const size_t piece : {std::string::npos, size_t{1}}) {
      EXPECT_EQ(ReadRequest(bytes, piece).status, 400) << testing::PrintToString(bytes);
    }
  }
}

TEST(HttpFramingTest, OversizedMessageGetsOwnStatus) {
  const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n";
  std::string many;
  for (int i = 0; i < 101; ++i) many += "a:\r\n";
  EXPECT_EQ(ReadRequest(get + many).status, 431);
  EXPECT_EQ(ReadRequest(get + "X: " + std::string(64 << 10, 'x')).status, 431);
  EXPECT_EQ(ReadRequest(std::string(64 << 10, 'x')).status, 431);
  EXPECT_EQ(ReadRequest(kChunked + "0\r\nX: " + std::string(64 << 10, 'x')).status, 431);
  EXPECT_EQ(ReadRequest(kPost + "Content-Length: 1048577\r\n\r\n").status, 413);
  EXPECT_EQ(ReadRequest(kChunked + "100001\r\n").status, 413);
  EXPECT_EQ(ReadRequest(kChunked + "ffffffffffffffff\r\n").status, 413);
  EXPECT_EQ(ReadRequest(kChunked + "ffffffff\r\nx").status, 413);
  const std::string half = "80000\r\n" + std::string(0x80000, 'x') + "\r\n";
  EXPECT_EQ(ReadRequest(kChunked + half + half + "0\r\n\r\n").status, 200);
  EXPECT_EQ(ReadRequest(kChunked + half + half + "1\r\nx").status, 413);
  for (const char* chunk : {"100001\r\n", "ffffffff\r\nx"}) {
    EXPECT_EQ(ReadRequest(kChunked + chunk).error, "the body is longer than 1048576 bytes");
  }
}

TEST(HttpFramingTest, TinyChunksAllowedEndlessExtensionsRejected) {
  std::string tiny = kChunked;
  for (int i = 0; i < 100'000; ++i) tiny += "1\r\nx\r\n";
  EXPECT_EQ(ReadRequest(tiny + "0\r\n\r\n").body.size(), 100'000u);
  EXPECT_EQ(ReadRequest(kChunked + "5;x=" + std::string(8 << 10, 'a')).status, 400);
  std::string extended = kChunked;
  for (int i = 0; i < 1000; ++i) extended += "1;" + std::string(100, 'e') + "\r\nx\r\n";
  const Read read = ReadRequest(extended);
  EXPECT_EQ(read.status, 400);
  EXPECT_LT(read.num_used, 32u << 10);
}

/// Seconds that `run` takes.
double Time(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(HttpFramingTest, ByteByByteIsLinear) {
  // One line: a parser that restarts at each byte reads 5e8 of them.
  const std::string bytes =
      "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(32'000, 'x') + "\r\n\r\n";
  EXPECT_LT(Time([&] { EXPECT_EQ(ReadRequest(bytes, 1).status, 200); }), 0.2);
}

TEST(HttpFramingTest, RepliesUseSameFraming) {
  const auto framed = [](int status, HttpFields fields) {
    return FrameReply(status, fields, kMaxBody);
  };
  std::string body;
  EXPECT_TRUE(framed(204, {{"Content-Length", "5"}})->done());
  EXPECT_EQ(framed(200, {{"Content-Length", "5"}})->num_missing(), 5);
  EXPECT_EQ(framed(200, {})->num_missing(), std::nullopt);
  EXPECT_EQ(
      framed(200, {{"Transfer-Encoding", "chunked"}})->Feed("1\r\nx\r\n0\r\n\r\n", body).value(),
      11u);
  EXPECT_FALSE(framed(200, {{"Transfer-Encoding", "gzip"}}).ok());
  EXPECT_FALSE(framed(200, {{"Content-Length", "5"}, {"Content-Length", "5"}}).ok());
  EXPECT_FALSE(framed(200, {{"Content-Length", "1048577"}}).ok());
  EXPECT_EQ(ParseStatusLine("HTTP/1.1 200 OK").value(), 200);
  EXPECT_EQ(ParseStatusLine("HTTP/1.0 503 ").value(), 503);
  EXPECT_EQ(ParseStatusLine("HTTP/1.1 404").value(), 404);
  for (const char* line : {"HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1  200", "HTTP/2 200 OK", "",
                           "ICY 200 OK", "HTTP/1.1 -20 OK", "HTTP/1.1 099 OK"}) {
    EXPECT_FALSE(ParseStatusLine(line).ok()) << line;
  }
}

TEST(HttpFramingTest, KeepAliveFollowsVersionAndHeader) {
  EXPECT_TRUE(KeepsAlive(true, {}));
  EXPECT_FALSE(KeepsAlive(false, {}));
  EXPECT_FALSE(KeepsAlive(true, {{"connection", "Close"}}));
  EXPECT_FALSE(KeepsAlive(true, {{"Connection", "x, close ,y"}}));
  EXPECT_FALSE(KeepsAlive(true, {{"Connection", "x"}, {"Connection", "close"}}));
  EXPECT_TRUE(KeepsAlive(false, {{"Connection", "Keep-Alive"}}));
  EXPECT_FALSE(KeepsAlive(false, {{"Connection", "keep-alive, close"}}));
}

}  // namespace
}  // namespace shortlist
