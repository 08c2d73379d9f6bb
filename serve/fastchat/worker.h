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

/// The routes of a FastChat model worker (lm-sys/FastChat 0.2.36, fastchat/serve): what its
/// controller and its API server call. Used on the I/O thread.
///
/// A request that reached a generating route is answered with status 200 whatever happens: FastChat
/// reads errors from "error_code" alone. While one waits, for its turn or for tokens, a stream is
/// kept alive by empty objects, which FastChat skips.
class FastchatWorker {
 public:
  struct Options {
    std::vector<std::string> model_names;  // empty: the service's
    std::optional<FastchatFrame> frame;  // of /worker_get_conv_template, which is NotFound without
    int64_t limit_worker_concurrency = 0;  // requests that run at a time; 0: as many as the engine
    std::chrono::milliseconds keep_alive{15'000};  // FastChat gives up after 100 s of silence
  };

  /// `service` must outlive this, and this the coroutines of the routes.
  FastchatWorker(boost::asio::any_io_executor executor, const Service& service, Options options);

  /// Internal when a route is taken.
  absl::Status AddRoutes(RouteTable& table);

  /// {"model_names", "speed", "queue_length"} as JSON text, for /worker_get_status and the
  /// controller.
  std::string StatusJson() const;
  /// Requests of any dialect that run or wait, FastChat's that wait for their turn among them.
  int64_t queue_length() const { return service_.generator->num_live() + num_waiting_; }

 private:
  boost::asio::awaitable<absl::Status> GenerateStream(const HttpRequest& http,
                                                      HttpResponse& response);
  boost::asio::awaitable<absl::Status> Generate(const HttpRequest& http, HttpResponse& response);
  boost::asio::awaitable<absl::Status> CountToken(const HttpRequest& http, HttpResponse& response);
  /// Reads the request, waits for its turn and generates; the last object of the stream, as JSON
  /// text. `stream`: where the others are written to as they come; null: nowhere.
  boost::asio::awaitable<absl::StatusOr<std::string>> Run(const HttpRequest& http,
                                                          RequestRecord& record,
                                                          HttpResponse* stream);
  absl::StatusOr<int64_t> NumTokens(const std::string& body) const;
  const FastchatFrame* frame() const { return options_.frame ? &*options_.frame : nullptr; }
  const Tokenizer& tokenizer() const { return *service_.generator->options().tokenizer; }

  const Service& service_;
  const Options options_;
  ConcurrencyLimit limit_;
  int64_t num_waiting_ = 0;  // requests that have not begun to generate
  std::random_device seeds_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_WORKER_H_
