#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "serve/openapi.h"
#include "serve/output.h"
#include "serve/sglang/generate_reply.h"
#include "serve/sglang/generate_request.h"
#include "serve/sglang/routes.h"

namespace shortlist {
namespace {

using boost::asio::awaitable;

awaitable<absl::Status> SendWhole(const Service& service, const Client& client,
                                  Generation& generation, const GenerateAsked& asked,
                                  const GenerateWriter& writer, HttpResponse& response) {
  std::vector<Output> outputs(asked.num_results);
  while (!generation.finished()) {
    GenerationEvent event = co_await generation.Next();
    // After an abort, the client gets the output so far.
    if (!event.status.ok() && !absl::IsCancelled(event.status)) co_return event.status;
    Record(event, response.record());
    Output& output = outputs[event.index];
    Append(std::move(event), output);
  }
  const auto write = [&] { return writer.Whole(std::move(outputs)); };
  std::string body = co_await service.workers->RunIfLarge(client, NumBytes(outputs), write);
  co_await response.Send(200, kJsonType, std::move(body));
  co_return absl::OkStatus();
}

awaitable<absl::Status> Generate(const Service& service, const HttpRequest& http,
                                 HttpResponse& response) {
  const auto parse = [&] { return ParseGenerate(service, http); };
  absl::StatusOr<GenerateAsked> asked =
      co_await service.workers->RunIfLarge(http.client, std::ssize(http.body), parse);
  if (!asked.ok()) co_return asked.status();
  http.DropBody();
  absl::StatusOr<std::unique_ptr<Generation>> generation =
      service.generator->Start(std::move(asked->requests), http.client, asked->rid);
  if (!generation.ok()) co_return generation.status();
  GenerateWriter writer(service, *asked);
  if (asked->stream) {
    StreamFormat format;
    format.format = [&writer](GenerationEvent event) { return writer.Event(std::move(event)); };
    absl::Status status = co_await StreamEvents(**generation, response, format);
    co_return status;
  }
  absl::Status status =
      co_await SendWhole(service, http.client, **generation, *asked, writer, response);
  co_return status;
}

}  // namespace

absl::Status AddSglangGenerateRoutes(const Service& service, RouteTable& routes) {
  for (const char* method : {"POST", "PUT"}) {
    SHORTLIST_RETURN_IF_ERROR(
        routes.Add({.method = method,
                    .path = "/generate",
                    .takes_json = true,
                    .handler =
                        [&service](const HttpRequest& request, HttpResponse& response) {
                          return Generate(service, request, response);
                        },
                    .openapi = openapi::Generate()}));
  }
  return absl::OkStatus();
}

}  // namespace shortlist
