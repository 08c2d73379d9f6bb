#ifndef SHORTLIST_SERVE_HTTP_FETCHER_H_
#define SHORTLIST_SERVE_HTTP_FETCHER_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/http/concurrency_limit.h"
#include "serve/http/host_lookup.h"
#include "serve/http/url.h"

namespace shortlist {

/// Fetches web addresses for clients, without giving them access to hosts that they cannot reach
/// themselves. Connects only to listed hosts and their listed ports, and follows no redirects.
/// Looks a name up once per fetch and connects only to those of its addresses that are public
/// (IsPublicAddress). So a name that resolves differently elsewhere or later does no harm. An
/// address that is itself listed need not be public. Trusts the certificates that the system
/// trusts. Used on the I/O thread, which it never blocks; must outlive its Turns.
class Fetcher {
 public:
  struct Options {
    /// "host" for port 80 of http and 443 of https, or "host:port"; IPv6 addresses in brackets.
    /// Empty: nothing is fetched.
    std::vector<std::string> hosts;
    int64_t max_bytes = int64_t{8} << 20;       // of one body
    int64_t max_total = int64_t{64} << 20;      // of all bodies of one Turn
    std::chrono::milliseconds timeout{10'000};  // of one fetch, from the look-up to the last byte
    // Of one Turn, from its beginning to its last byte.
    std::chrono::milliseconds max_turn{30'000};
    int64_t num_turns = 8;  // at a time; a client with half of them starts no other
    HostLookup::Resolve resolve = ResolveHost;
  };

  /// The fetches of one client request, in sequence.
  class Turn {
   public:
    Turn(Fetcher& fetcher, std::string client)
        : fetcher_(fetcher),
          client_(std::move(client)),
          end_(std::chrono::steady_clock::now() + fetcher.options_.max_turn),
          num_left_(fetcher.options_.max_total) {}

    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// Waits for a place. Call once, before the first Get(). ResourceExhausted if none becomes free
    /// within max_turn, or the client already has or waits for its share of places.
    boost::asio::awaitable<absl::Status> Wait();

    /// Returns the body of the reply to a GET. InvalidArgument names the host and the error: it is
    /// not listed, has no public address, does not answer in time, or returns a status other than
    /// 200 or too many bytes.
    boost::asio::awaitable<absl::StatusOr<std::string>> Get(std::string url);

   private:
    using Deadline = std::chrono::steady_clock::time_point;
    boost::asio::awaitable<absl::StatusOr<std::string>> GetFrom(const WebUrl& url);

    Fetcher& fetcher_;
    const std::string client_;
    std::optional<ConcurrencyLimit::Ticket> ticket_;  // set by Wait() if the client may wait
    const Deadline end_;
    int64_t num_left_;  // bytes left of max_total
  };

  /// InvalidArgument names an entry of `hosts` that is not a host.
  static absl::StatusOr<std::unique_ptr<Fetcher>> Create(boost::asio::any_io_executor executor,
                                                         Options options);
  ~Fetcher();

  /// InvalidArgument if `url` is not a URL, or its host is not listed. Fetches nothing.
  absl::Status Check(const std::string& url) const;

 private:
  struct Tls;

  Fetcher(boost::asio::any_io_executor executor, Options options);
  bool Lists(const WebUrl& url) const;
  boost::asio::awaitable<absl::StatusOr<Endpoints>> Find(
      const UrlAuthority& authority, std::chrono::steady_clock::time_point deadline);

  const Options options_;
  std::vector<UrlAuthority> hosts_;
  ConcurrencyLimit limit_;
  std::map<std::string, int64_t> num_turns_of_;  // per client, waiting ones included; above 0
  std::map<std::string, HostLookup> lookups_;    // by authority; only of listed hosts
  const std::unique_ptr<Tls> tls_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_FETCHER_H_
