#include "serve/http/url.h"

#include <algorithm>
#include <boost/asio/ip/address_v6.hpp>
#include <charconv>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

constexpr std::string_view kHttp = "http://", kHttps = "https://";
constexpr size_t kMaxUrlBytes = 2048;

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(absl::string_view(what.data(), what.size()));
}

bool BeginsWith(std::string_view text, std::string_view scheme) {
  return absl::StartsWithIgnoreCase(absl::string_view(text.data(), text.size()),
                                    absl::string_view(scheme.data(), scheme.size()));
}

}  // namespace

bool IsUrlCharacter(char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '<' && c != '>'; }

absl::StatusOr<UrlAuthority> UrlAuthority::Parse(std::string_view text) {
  if (text.find('@') != text.npos) return Wrong("a user");
  UrlAuthority parsed;
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == text.npos) return Wrong("no ] after the address");
    const std::string address(text.substr(1, end - 1));
    boost::system::error_code error;
    const auto parsed_address = boost::asio::ip::make_address_v6(address, error);
    if (error || address.find('%') != address.npos) return Wrong("no IPv6 address in brackets");
    parsed.host = parsed_address.to_string();  // one spelling of several
    port = text.substr(end + 1);
    if (!port.empty() && port.front() != ':') return Wrong("no : before the port");
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    parsed.host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (parsed.host.empty()) return Wrong("no host");
  if (port.empty()) return parsed;

  port.remove_prefix(1);
  uint16_t number = 0;
  const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || stop != port.data() + port.size() || number == 0) {
    return Wrong(absl::StrCat("port ", std::string(port.substr(0, 100)), " not in [1, 65535]"));
  }
  parsed.port = absl::StrCat(number);
  return parsed;
}

std::string UrlAuthority::Text() const {
  const bool is_ipv6 = host.find(':') != host.npos;
  const std::string name = is_ipv6 ? absl::StrCat("[", host, "]") : host;
  return port.empty() ? name : absl::StrCat(name, ":", port);
}

bool WebUrl::Begins(std::string_view text) {
  return BeginsWith(text, kHttp) || BeginsWith(text, kHttps);
}

absl::StatusOr<WebUrl> WebUrl::Parse(std::string_view url) {
  if (url.size() > kMaxUrlBytes) {
    return Wrong(absl::StrCat("an address of ", url.size(), " bytes, more than ", kMaxUrlBytes));
  }
  if (!std::all_of(url.begin(), url.end(), IsUrlCharacter)) {
    return Wrong("an address with white space, quotes, or bytes beyond ASCII");
  }
  if (!Begins(url)) return Wrong("an address that does not begin with http:// or https://");
  WebUrl parsed{.is_tls = BeginsWith(url, kHttps)};
  std::string_view rest = url.substr((parsed.is_tls ? kHttps : kHttp).size());
  rest = rest.substr(0, rest.find('#'));
  // Some programs read a backslash as a slash, and would see another host.
  const size_t end = std::min(rest.find_first_of("/?\\"), rest.size());
  auto authority = UrlAuthority::Parse(rest.substr(0, end));
  if (!authority.ok()) {
    return Wrong(absl::StrCat("an address with ", authority.status().message()));
  }
  parsed.authority = *std::move(authority);
  absl::AsciiStrToLower(&parsed.authority.host);
  if (parsed.authority.port.empty()) parsed.authority.port = parsed.is_tls ? "443" : "80";
  rest.remove_prefix(end);
  if (rest.find('\\') != rest.npos) return Wrong("an address with a backslash");
  parsed.target = rest.starts_with('/') ? std::string(rest) : absl::StrCat("/", std::string(rest));
  return parsed;
}

}  // namespace shortlist
