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

/// Reads what addresses of the web hold, for clients that are not to reach by it what they cannot
/// reach themselves. Only listed hosts are asked, under the ports that are listed; no redirect is
/// followed. A name is looked up once for each request, and only those of its addresses that are
/// public (IsPublicAddress) are connected to, so that it does not matter what else it resolves to,
/// or will the next time; an address that is itself listed may be any. Certificates are those that
/// the system trusts. Used on the I/O thread, which it never holds up; must outlive its Turns.
class Fetcher {
 public:
  struct Options {
    /// "host" for ports 80 of http and 443 of https, or "host:port"; an address of IPv6 in
    /// brackets. Without one nothing is fetched.
    std::vector<std::string> hosts;
    int64_t max_bytes = int64_t{8} << 20;        // of one body
    int64_t max_total = int64_t{64} << 20;       // of those of one Turn
    std::chrono::milliseconds timeout{10'000};   // of one, from the look-up to the last byte
    std::chrono::milliseconds max_turn{30'000};  // of a Turn, from its beginning to its last byte
    int64_t num_turns = 8;                       // at a time; who has half of them begins no other
    HostLookup::Resolve resolve = ResolveHost;
  };

  /// What one request of a client fetches, one after the other.
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

    /// Once, before the first Get: waits for a place. ResourceExhausted where there is none, or the
    /// client has its share of them or waits for it.
    boost::asio::awaitable<absl::Status> Wait();

    /// The body of the reply to a GET. InvalidArgument names the host and what went wrong: one that
    /// is not listed, has no public address, does not answer in time, or with another status than
    /// 200, or too much.
    boost::asio::awaitable<absl::StatusOr<std::string>> Get(std::string url);

   private:
    using Deadline = std::chrono::steady_clock::time_point;
    boost::asio::awaitable<absl::StatusOr<std::string>> GetFrom(const WebUrl& url);

    Fetcher& fetcher_;
    const std::string client_;
    std::optional<ConcurrencyLimit::Ticket> ticket_;  // once Wait has found that it may wait
    const Deadline end_;
    int64_t num_left_;  // bytes
  };

  /// InvalidArgument names a host that is none.
  static absl::StatusOr<std::unique_ptr<Fetcher>> Create(boost::asio::any_io_executor executor,
                                                         Options options);
  ~Fetcher();

  /// InvalidArgument for what is no URL, and for one whose host is not listed: nothing of it is
  /// fetched.
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
  std::map<std::string, int64_t> num_turns_of_;  // clients: those that wait, too; above 0
  std::map<std::string, HostLookup> lookups_;    // by authority; of those that are listed alone
  const std::unique_ptr<Tls> tls_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_FETCHER_H_
