#ifndef SHORTLIST_SERVE_HTTP_CONNECTION_H_
#define SHORTLIST_SERVE_HTTP_CONNECTION_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <utility>

#include "serve/http/admission.h"
#include "serve/http/host_policy.h"
#include "serve/http/running_time.h"
#include "serve/http/server.h"

namespace shortlist {

class HttpConnection;

/// State that the connections of one server share and own. Used on the I/O thread.
struct HttpConnections {
  HttpConnections(const boost::asio::any_io_executor& executor, const RouteTable& routes,
                  HttpServer::Options options)
      : routes(routes),
        options(std::move(options)),
        time(std::make_shared<RunningTime>(executor)),
        admission(this->options.limits) {}

  const RouteTable& routes;
  const HttpServer::Options options;
  const std::shared_ptr<RunningTime> time;
  HostPolicy host_policy;  // set before the first connection
  HttpAdmission admission;
  std::unordered_set<HttpConnection*> open;
  int64_t num_requests = 0;  // requests read and not answered completely
  bool draining = false;
};

/// Starts a coroutine that serves requests from `socket` until it ends, if HttpAdmission has a
/// place for it.
void ServeConnection(boost::asio::ip::tcp::socket socket,
                     std::shared_ptr<HttpConnections> connections);

/// Closes connections that wait for a request, and lets others end after their reply.
void DrainConnections(HttpConnections& connections);

/// Ends all connections, as described at HttpServer::Close.
void CloseConnections(HttpConnections& connections);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_CONNECTION_H_
