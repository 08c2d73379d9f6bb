#include "serve/openai_reply.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/api_error.h"
#include "serve/json_fields.h"

namespace shortlist {

using boost::asio::awaitable;
using nlohmann::ordered_json;

OpenAiReply::OpenAiReply(const Service& service, const OpenAiRequest& openai, Names names)
    : service_(service), openai_(openai), names_(names), created_(UnixNow()), usage_(openai.n) {}

ordered_json OpenAiReply::Object(const char* kind, ordered_json choices) const {
  return {{"id", absl::StrCat(names_.id_prefix, openai_.rid)},
          {"object", kind},
          {"created", created_},
          {"model", service_.model_name},
          {"choices", std::move(choices)}};
}

ordered_json OpenAiReply::NextChoice(const Output& output) {
  const size_t index = output.last.index;
  ordered_json choice = Choice(output, /*is_first=*/!begun_[index]);
  begun_[index] = true;
  choice["finish_reason"] = OpenAiFinishReason(output.last);
  if (output.last.finished) {
    usage_.Add(output.last);
    ++num_finished_;
  }
  return choice;
}

std::string OpenAiReply::Event(GenerationEvent event) {
  if (!event.status.ok()) return ServerSentEvent(OpenAiErrorBody(event.status));
  Output output;
  Append(std::move(event), output);
  ordered_json choices = ordered_json::array({NextChoice(output)});
  ordered_json object = Object(names_.chunk, std::move(choices));
  if (openai_.include_usage) object["usage"] = nullptr;
  std::string bytes = ServerSentEvent(Dump(object));
  if (output.last.finished && num_finished_ == begun_.size() && openai_.include_usage) {
    ordered_json last = Object(names_.chunk, ordered_json::array());
    last["usage"] = usage_.Json();
    bytes += ServerSentEvent(Dump(last));
  }
  return bytes;
}

awaitable<absl::Status> OpenAiReply::Run(const std::vector<GenerateRequest>& requests,
                                         HttpResponse& response) {
  begun_.assign(requests.size(), false);
  absl::StatusOr<std::unique_ptr<Generation>> generation =
      service_.generator->Start(requests, openai_.rid);
  if (!generation.ok()) co_return generation.status();
  if (openai_.stream) {
    StreamFormat format;
    format.format = [this](GenerationEvent event) { return Event(std::move(event)); };
    absl::Status status = co_await StreamEvents(**generation, response, format);
    co_return status;
  }
  absl::StatusOr<std::vector<Output>> outputs =
      co_await CollectOutputs(**generation, requests.size());
  if (!outputs.ok()) co_return outputs.status();
  ordered_json choices = ordered_json::array();
  for (const Output& output : *outputs) {
    Record(output.last, response.record());
    choices.push_back(NextChoice(output));
  }
  ordered_json object = Object(names_.object, std::move(choices));
  object["usage"] = usage_.Json();
  std::string body = Dump(object);
  co_await response.Send(200, kJsonType, std::move(body));
  co_return absl::OkStatus();
}

}  // namespace shortlist
