#ifndef SHORTLIST_SERVE_FASTCHAT_WORKER_H_
#define SHORTLIST_SERVE_FASTCHAT_WORKER_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "serve/fastchat/frame.h"
#include "serve/fastchat/request.h"
#include "serve/http/concurrency_limit.h"
#include "serve/http/message.h"
#include "serve/http/route_table.h"
#include "serve/service.h"

namespace shortlist {

/// The routes of a FastChat model worker (lm-sys/FastChat 0.2.36, fastchat/serve), which the
/// controller and the API server call. Used on the I/O thread.
///
/// A request that reached a generating route always gets status 200: FastChat reads errors only
/// from "error_code". While a request waits for its turn or for tokens, its stream sends empty
/// objects to stay alive. FastChat skips them.
class FastchatWorker {
 public:
  struct Options {
    std::vector<std::string> model_names;  // empty: the service's
    // For /worker_get_conv_template, which is NotFound without it.
    std::optional<FastchatFrame> frame;
    // Requests running at a time; 0: as many as the engine runs.
    int64_t limit_worker_concurrency = 0;
    std::chrono::milliseconds keep_alive{15'000};  // FastChat gives up after 100 s of silence
  };

  /// `service` must outlive this, and this must outlive the coroutines of the routes.
  FastchatWorker(boost::asio::any_io_executor executor, const Service& service, Options options);

  /// Internal if a route is taken.
  absl::Status AddRoutes(RouteTable& table);

  /// Returns {"model_names", "speed", "queue_length"} as JSON text, for /worker_get_status and the
  /// controller.
  std::string StatusJson() const;
  /// Number of live requests of any dialect, including FastChat's requests that wait for their
  /// turn.
  int64_t queue_length() const { return service_.generator->num_live() + num_waiting_; }

 private:
  boost::asio::awaitable<absl::Status> GenerateStream(const HttpRequest& http,
                                                      HttpResponse& response);
  boost::asio::awaitable<absl::Status> Generate(const HttpRequest& http, HttpResponse& response);
  boost::asio::awaitable<absl::Status> CountToken(const HttpRequest& http, HttpResponse& response);
  /// Reads the request, waits for its turn and generates. Returns the last object of the stream, as
  /// JSON text. Writes earlier objects to `stream` as they come, unless it is null.
  boost::asio::awaitable<absl::StatusOr<std::string>> Run(const HttpRequest& http,
                                                          RequestRecord& record,
                                                          HttpResponse* stream);
  absl::StatusOr<int64_t> NumTokens(const std::string& body) const;
  const FastchatFrame* frame() const { return options_.frame ? &*options_.frame : nullptr; }
  const Tokenizer& tokenizer() const { return *service_.generator->options().tokenizer; }

  const Service& service_;
  const Options options_;
  ConcurrencyLimit limit_;
  int64_t num_waiting_ = 0;  // requests that have not started to generate
  std::random_device seeds_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_WORKER_H_
