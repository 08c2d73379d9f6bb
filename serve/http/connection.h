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

/// What the connections of one server share; they own it. Used on the I/O thread.
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
  int64_t num_requests = 0;  // read, not answered completely
  bool draining = false;
};

/// Serves requests from `socket` until it ends, as far as HttpAdmission has a place for it: starts
/// a coroutine and returns.
void ServeConnection(boost::asio::ip::tcp::socket socket,
                     std::shared_ptr<HttpConnections> connections);

/// Closes connections that wait for a request, and lets the others end with their reply.
void DrainConnections(HttpConnections& connections);

/// Ends all, as HttpServer::Close says.
void CloseConnections(HttpConnections& connections);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_CONNECTION_H_
