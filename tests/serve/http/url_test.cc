#include "serve/http/url.h"

#include <gtest/gtest.h>

#include <string>

#include "serve/http/public_address.h"

namespace shortlist {
namespace {

TEST(WebUrlTest, SplitsUrl) {
  const struct {
    const char *url, *host, *authority, *target;
    bool is_tls;
  } kCases[] = {
      {"http://example.org", "example.org", "example.org:80", "/", false},
      {"HTTPS://Example.ORG/a.png?b=c&d#e", "example.org", "example.org:443", "/a.png?b=c&d", true},
      {"http://10.0.0.7:8080?x", "10.0.0.7", "10.0.0.7:8080", "/?x", false},
      {"https://[::1]:080/a//b/../c", "::1", "[::1]:80", "/a//b/../c", true},
      {"http://[0:0:0:0:0:0:0:1]/", "::1", "[::1]:80", "/", false},
      {"http://example.org#@10.0.0.7/", "example.org", "example.org:80", "/", false},
  };
  for (const auto& c : kCases) {
    ASSERT_TRUE(WebUrl::Begins(c.url));
    const auto url = WebUrl::Parse(c.url);
    ASSERT_TRUE(url.ok()) << c.url << url.status();
    EXPECT_EQ(url->authority.host, c.host);
    EXPECT_EQ(url->authority.Text(), c.authority);
    EXPECT_EQ(url->target, c.target);
    EXPECT_EQ(url->is_tls, c.is_tls);
  }
}

TEST(WebUrlTest, RejectsAmbiguousUrl) {
  for (const std::string& url :
       {std::string("ftp://example.org/"), std::string("http:example.org"), std::string("http://"),
        std::string("http:///a"), std::string("http://user@example.org/"),
        std::string("http://listed.org\\@other.org/"), std::string("http://example.org/a\\b"),
        std::string("http://example.org/a b"), std::string("http://example.org/\r\nX: y"),
        std::string("http://example.org/\0", 20), std::string("http://example.org:0/"),
        std::string("http://example.org:65536/"), std::string("http://example.org:80:81/"),
        std::string("http://[127.0.0.1]/"), std::string("http://[::1%lo]/"),
        std::string("http://[::1/"), std::string("http://[::1]8/"),
        std::string("http://\xc3\xa4.org/"), "http://example.org/" + std::string(2048, 'a')}) {
    const auto parsed = WebUrl::Parse(url);
    EXPECT_FALSE(parsed.ok()) << url.substr(0, 80);
    EXPECT_LT(parsed.status().message().size(), 300u);
  }
  EXPECT_FALSE(WebUrl::Begins("data:image/png;base64,AAAA"));
  EXPECT_FALSE(WebUrl::Begins("http:/"));
}

TEST(PublicAddressTest, OnlyGlobalAddressesArePublic) {
  const auto is_public = [](const char* address) {
    return IsPublicAddress(boost::asio::ip::make_address(address));
  };
  for (const char* address :
       {"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255",
        "172.32.0.0", "192.0.1.0", "192.167.255.255", "198.17.255.255", "223.255.255.255",
        "2606:4700::1111", "2001:4860::8888", "::ffff:1.1.1.1"}) {
    EXPECT_TRUE(is_public(address)) << address;
  }
  for (const char* address : {"0.0.0.0",
                              "0.1.2.3",
                              "10.0.0.1",
                              "100.64.0.1",
                              "100.127.255.255",
                              "127.0.0.1",
                              "127.255.255.255",
                              "169.254.169.254",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.0.0.1",
                              "192.0.2.1",
                              "192.88.99.1",
                              "192.168.0.1",
                              "198.18.0.1",
                              "198.19.255.255",
                              "198.51.100.7",
                              "203.0.113.9",
                              "224.0.0.1",
                              "239.255.255.255",
                              "240.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "::ffff:127.0.0.1",
                              "::ffff:169.254.169.254",
                              "::7f00:1",
                              "64:ff9b::7f00:1",
                              "100::1",
                              "2001::1",
                              "2001:db8::1",
                              "2002:7f00:1::",
                              "3fff::1",
                              "4000::1",
                              "fc00::1",
                              "fd12::1",
                              "fe80::1",
                              "fec0::1",
                              "ff02::1"}) {
    EXPECT_FALSE(is_public(address)) << address;
  }
}

}  // namespace
}  // namespace shortlist
