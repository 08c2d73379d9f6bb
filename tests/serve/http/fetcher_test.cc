#include "serve/http/fetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace shortlist {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

std::string Reply(const std::string& body, const std::string& head = "HTTP/1.1 200 OK") {
  return absl::StrCat(head, "\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
}

/// A host on the fetcher's thread that answers each request with the reply of its path. After
/// "..." the reply repeats without end; after "|" nothing comes and the connection stays.
class FakeHost {
 public:
  explicit FakeHost(asio::io_context& io)
      : acceptor_(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    asio::co_spawn(
        io, [this] { return Accept(); }, asio::detached);
  }

  std::string authority() const {
    return absl::StrCat("127.0.0.1:", acceptor_.local_endpoint().port());
  }
  void UseTls(asio::ssl::context& context) { tls_ = &context; }

  std::map<std::string, std::string> replies;
  std::vector<std::string> received;  // heads

 private:
  asio::awaitable<void> Accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(kTuple);
      if (error) co_return;
      if (tls_ == nullptr) {
        auto plain = std::make_shared<tcp::socket>(std::move(socket));
        asio::co_spawn(
            acceptor_.get_executor(), [this, plain] { return Serve(plain); }, asio::detached);
        continue;
      }
      auto tls = std::make_shared<asio::ssl::stream<tcp::socket>>(std::move(socket), *tls_);
      auto [failed] = co_await tls->async_handshake(asio::ssl::stream_base::server, kTuple);
      if (failed) continue;
      asio::co_spawn(
          acceptor_.get_executor(), [this, tls] { return Serve(tls); }, asio::detached);
    }
  }

  template <typename Stream>
  asio::awaitable<void> Serve(std::shared_ptr<Stream> stream) {
    std::string text;
    auto [read_error, head] =
        co_await asio::async_read_until(*stream, asio::dynamic_buffer(text), "\r\n\r\n", kTuple);
    if (read_error) co_return;
    received.push_back(text);
    std::string reply = replies[text.substr(4, text.find(' ', 4) - 4)];
    const bool is_endless = reply.ends_with("..."), is_silent = reply.ends_with("|");
    if (is_endless) reply.resize(reply.size() - 3);
    if (is_silent) reply.pop_back();
    auto [error, count] = co_await asio::async_write(*stream, asio::buffer(reply), kTuple);
    asio::steady_timer timer(acceptor_.get_executor());
    const std::string more = absl::StrCat("40\r\n", std::string(64, 'a'), "\r\n");
    while (!error && (is_endless || is_silent)) {
      timer.expires_after(is_silent ? milliseconds(60'000) : milliseconds(1));
      co_await timer.async_wait(kTuple);
      auto [failed, written] = co_await asio::async_write(*stream, asio::buffer(more), kTuple);
      if (failed) co_return;
    }
  }

  tcp::acceptor acceptor_;
  asio::ssl::context* tls_ = nullptr;
};

class FetcherTest : public testing::Test {
 protected:
  FetcherTest() : host_(io_) {
    options_.hosts = {host_.authority()};
    options_.timeout = milliseconds(300);
    options_.max_bytes = 1000;
  }

  /// Fetches several addresses in one Turn.
  std::vector<absl::StatusOr<std::string>> Get(const std::vector<std::string>& urls) {
    auto fetcher = Fetcher::Create(io_.get_executor(), options_);
    EXPECT_TRUE(fetcher.ok()) << fetcher.status();
    std::vector<absl::StatusOr<std::string>> bodies;
    asio::co_spawn(
        io_,
        [&]() -> asio::awaitable<void> {
          Fetcher::Turn turn(**fetcher, "somebody");
          EXPECT_TRUE((co_await turn.Wait()).ok());
          for (const std::string& url : urls) {
            absl::StatusOr<std::string> body = co_await turn.Get(url);
            bodies.push_back(std::move(body));
          }
          io_.stop();
        },
        asio::detached);
    io_.run();
    io_.restart();
    return bodies;
  }
  std::string ErrorOf(const std::string& url) {
    const absl::StatusOr<std::string> body = Get({url}).front();
    EXPECT_EQ(body.status().code(), absl::StatusCode::kInvalidArgument) << body.status();
    return std::string(body.status().message());
  }
  std::string Url(const std::string& path) {
    return absl::StrCat("http://", host_.authority(), path);
  }

  asio::io_context io_{1};
  FakeHost host_;
  Fetcher::Options options_;
};

TEST_F(FetcherTest, ReadsFromListedHost) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  host_.replies["/length?a=b"] = Reply("a picture");
  host_.replies["/chunks"] =
      head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  host_.replies["/end"] = head + "\r\nuntil the end";
  const auto bodies = Get({Url("/length?a=b#c"), Url("/chunks"), Url("/end")});
  ASSERT_TRUE(bodies[0].ok() && bodies[1].ok() && bodies[2].ok()) << bodies[0].status();
  EXPECT_EQ(*bodies[0], "a picture");
  EXPECT_EQ(*bodies[1], "abcde");
  EXPECT_EQ(*bodies[2], "until the end");
  EXPECT_THAT(host_.received[0], HasSubstr(absl::StrCat("Host: ", host_.authority(), "\r\n")));
}

TEST_F(FetcherTest, HostileReplyIsRejectedWithReason) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const struct {
    const char* path;
    std::string reply;
    const char* error;
  } kCases[] = {
      {"/moved", "HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\n\r\n", "status 302"},
      {"/gone", Reply("no", "HTTP/1.1 404 Not Found"), "status 404"},
      {"/long", Reply(std::string(1001, 'a')), "1001"},
      {"/endless", ok + "Transfer-Encoding: chunked\r\n\r\n...", "1000"},
      {"/endless/end", ok + "\r\n...", "1000"},
      {"/cut", ok + "Content-Length: 20\r\n\r\nhalf", "not complete"},
      {"/nothing", "", "not complete"},
      {"/nonsense", "SSH-2.0-OpenSSH\r\n\r\n", ""},
      {"/two", ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc", ""},
      {"/head", ok + "X: " + std::string(20'000, 'a') + "\r\n\r\n", ""},
      {"/silent", "|", "no answer in time"},
      {"/silent/body", ok + "Content-Length: 20\r\n\r\nhalf|", "no answer in time"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.path);
    host_.replies[c.path] = c.reply;
    options_.timeout = milliseconds(c.reply.ends_with("|") ? 300 : 4'000);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT(ErrorOf(Url(c.path)),
                testing::AllOf(HasSubstr(host_.authority()), HasSubstr(c.error)));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  }
}

TEST_F(FetcherTest, SlowBodyIsCutAtDeadline) {
  options_.max_bytes = 1 << 30;
  host_.replies["/"] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n...";
  EXPECT_THAT(ErrorOf(Url("/")), HasSubstr("no answer in time"));
}

TEST_F(FetcherTest, OnlyListedHostsAndPortsAreContacted) {
  options_.hosts = {"127.0.0.1", "Example.org", "[::1]:7"};
  for (const char* url :
       {"http://127.0.0.1:81/", "https://127.0.0.1:80/", "http://localhost/",
        "http://www.example.org/", "http://example.org.evil.net/", "http://example.org:8080/",
        "http://[::1]/", "http://2130706433/", "http://127.1/", "http://[::ffff:127.0.0.1]/"}) {
    EXPECT_THAT(ErrorOf(url), HasSubstr("none of --image-url-hosts")) << url;
  }
  EXPECT_TRUE(host_.received.empty());
}

TEST_F(FetcherTest, ConnectsToPublicAddressesOnly) {
  options_.hosts = {absl::StrCat("inside.example:", tcp::endpoint().port() + 9)};
  int num_asked = 0;
  std::vector<const char*> addresses;
  options_.resolve = [&](const std::string& name, const std::string& port) {
    EXPECT_EQ(name, "inside.example");
    ++num_asked;
    Endpoints endpoints;
    for (const char* address : addresses) {
      endpoints.emplace_back(asio::ip::make_address(address), std::stoi(port));
    }
    return endpoints;
  };
  for (const char* address : {"127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1",
                              "::ffff:127.0.0.1", "fe80::1"}) {
    addresses = {address, "192.168.0.1"};
    num_asked = 0;
    EXPECT_THAT(ErrorOf("http://inside.example:9/"), HasSubstr("has no public address")) << address;
    EXPECT_EQ(num_asked, 1);
  }
}

TEST_F(FetcherTest, NameResolutionHasDeadline) {
  options_.hosts = {"slow.example"};
  options_.resolve = [](const std::string&, const std::string&) -> absl::StatusOr<Endpoints> {
    std::this_thread::sleep_for(milliseconds(1'000));
    return absl::UnavailableError("late");
  };
  EXPECT_THAT(ErrorOf("http://slow.example/"), HasSubstr("not resolved"));
}

TEST_F(FetcherTest, TotalBytesPerTurnAreBounded) {
  options_.max_total = 12;
  host_.replies["/"] = Reply("12345");
  const auto bodies = Get({Url("/"), Url("/"), Url("/")});
  EXPECT_TRUE(bodies[0].ok() && bodies[1].ok());
  EXPECT_FALSE(bodies[2].ok());
}

TEST_F(FetcherTest, OneClientGetsHalfOfTurns) {
  options_.num_turns = 2;
  options_.max_turn = milliseconds(50);
  auto fetcher = Fetcher::Create(io_.get_executor(), options_);
  ASSERT_TRUE(fetcher.ok());
  asio::co_spawn(
      io_,
      [&]() -> asio::awaitable<void> {
        Fetcher::Turn first(**fetcher, "a"), second(**fetcher, "a"), other(**fetcher, "b"),
            third(**fetcher, "c");
        EXPECT_TRUE((co_await first.Wait()).ok());
        EXPECT_TRUE(absl::IsResourceExhausted(co_await second.Wait()));
        EXPECT_TRUE((co_await other.Wait()).ok());
        EXPECT_TRUE(absl::IsResourceExhausted(co_await third.Wait()));  // none is free in time
        io_.stop();
      },
      asio::detached);
  io_.run();
}

TEST_F(FetcherTest, InvalidHostsAreNamed) {
  for (const char* host :
       {"", "http://example.org", "example.org/a", "*.example.org", "a b", "a:0", "u@a", ":80"}) {
    options_.hosts = {host};
    const auto fetcher = Fetcher::Create(io_.get_executor(), options_);
    EXPECT_EQ(fetcher.status().code(), absl::StatusCode::kInvalidArgument) << host;
    EXPECT_THAT(std::string(fetcher.status().message()), HasSubstr("neither a host nor host:port"));
  }
}

/// Writes a self-signed certificate of 127.0.0.1 and its key to one file.
void WriteCertificate(const std::string& path) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* const name = X509_get_subject_name(certificate);
  const auto* const text = reinterpret_cast<const unsigned char*>("test");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_EXTENSION* const names =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
  X509_add_ext(certificate, names, -1);
  X509_sign(certificate, key, EVP_sha256());
  std::FILE* const file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  PEM_write_X509(file, certificate);
  PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  X509_EXTENSION_free(names);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

TEST_F(FetcherTest, TlsAcceptsSystemTrustedCertificatesOnly) {
  const std::string path = absl::StrCat(testing::TempDir(), "fetcher_test.", getpid(), ".pem");
  WriteCertificate(path);
  asio::ssl::context context(asio::ssl::context::tls_server);
  context.use_certificate_file(path, asio::ssl::context::pem);
  context.use_private_key_file(path, asio::ssl::context::pem);
  host_.UseTls(context);
  host_.replies["/"] = Reply("a picture");
  options_.timeout = milliseconds(5'000);
  const std::string url = absl::StrCat("https://", host_.authority(), "/");
  EXPECT_THAT(ErrorOf(url), HasSubstr("certificate verify failed"));
  ASSERT_EQ(setenv("SSL_CERT_FILE", path.c_str(), 1), 0);
  const absl::StatusOr<std::string> body = Get({url}).front();
  unsetenv("SSL_CERT_FILE");
  std::remove(path.c_str());
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ(*body, "a picture");
}

}  // namespace
}  // namespace shortlist
