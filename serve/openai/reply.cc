#include "serve/openai/reply.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/http/api_error.h"
#include "serve/http/json_fields.h"

namespace shortlist {

using boost::asio::awaitable;
using nlohmann::ordered_json;

OpenAiReply::OpenAiReply(const Service& service, const OpenAiRequest& openai, Names names)
    : service_(service), openai_(openai), names_(names), created_(UnixNow()), usage_(openai.n) {}

/// Returns the object without its choices.
ordered_json OpenAiReply::Object(const char* kind) const {
  return {{"id", absl::StrCat(names_.id_prefix, openai_.rid)},
          {"object", kind},
          {"created", created_},
          {"model", service_.model_name}};
}

std::vector<ordered_json> OpenAiReply::NextChoices(const Output& output) {
  const size_t index = output.last.index;
  std::vector<ordered_json> choices = Choices(output, /*is_first=*/!begun_[index]);
  if (!choices.empty()) begun_[index] = true;
  if (output.last.finished) {
    usage_.Add(output.last);
    ++num_finished_;
  }
  return choices;
}

ordered_json OpenAiReply::Usage() const {
  ordered_json usage = usage_.Json();
  if (const std::optional<int64_t> count = NumReasoningTokens()) {
    usage["completion_tokens_details"] = {{"reasoning_tokens", *count}};
  }
  return usage;
}

/// Several choices have no metrics, as in vLLM.
void OpenAiReply::AddMetrics(const GenerationEvent& last, ordered_json& object) const {
  if (begun_.size() != 1 || !last.finished) return;
  ordered_json metrics = OpenAiMetrics(last, service_.num_draft_tokens);
  if (!metrics.is_null()) object["metrics"] = std::move(metrics);
}

std::string OpenAiReply::Event(GenerationEvent event) {
  if (!event.status.ok()) return ServerSentEvent(OpenAiErrorBody(event.status));
  Output output;
  Append(std::move(event), output);
  std::string bytes;
  std::vector<ordered_json> choices = NextChoices(output);
  for (size_t i = 0; i < choices.size(); ++i) {
    ordered_json object = Object(names_.chunk);
    object["choices"] = ordered_json::array({std::move(choices[i])});
    if (openai_.include_usage) object["usage"] = nullptr;
    if (openai_.continuous_usage) {
      OpenAiUsage usage(/*n=*/1);
      usage.Add(output.last);
      object["usage"] = usage.Json();
    }
    if (!openai_.include_usage && i + 1 == choices.size()) AddMetrics(output.last, object);
    bytes += ServerSentEvent(Dump(object));
  }
  if (output.last.finished && num_finished_ == begun_.size() && openai_.include_usage) {
    ordered_json last = Object(names_.chunk);
    last["choices"] = ordered_json::array();
    last["usage"] = Usage();
    AddMetrics(output.last, last);
    bytes += ServerSentEvent(Dump(last));
  }
  return bytes;
}

/// Writes text choice by choice: JSON values of log-probabilities would take many times the memory.
std::string OpenAiReply::Whole(std::vector<Output> outputs) {
  std::string text = Dump(Object(names_.object));
  text.back() = ',';
  text += "\"choices\":[";
  ordered_json metrics = ordered_json::object();
  if (!outputs.empty()) AddMetrics(outputs.front().last, metrics);
  for (Output& output : outputs) {
    if (text.back() != '[') text += ',';
    text += Dump(NextChoices(output).front());
    output = {};
  }
  ordered_json tail = {{"usage", Usage()}};
  tail.update(metrics);
  absl::StrAppend(&text, "],", Dump(tail).substr(1));
  return text;
}

awaitable<absl::Status> OpenAiReply::Run(std::vector<GenerateRequest> requests,
                                         const Client& client, HttpResponse& response) {
  const size_t num_choices = requests.size();
  begun_.assign(num_choices, false);
  absl::StatusOr<std::unique_ptr<Generation>> generation =
      service_.generator->Start(std::move(requests), client, openai_.rid);
  if (!generation.ok()) co_return generation.status();
  if (openai_.stream) {
    StreamFormat format;
    format.format = [this](GenerationEvent event) { return Event(std::move(event)); };
    absl::Status status = co_await StreamEvents(**generation, response, format);
    co_return status;
  }
  absl::StatusOr<std::vector<Output>> outputs = co_await CollectOutputs(**generation, num_choices);
  if (!outputs.ok()) co_return outputs.status();
  for (const Output& output : *outputs) Record(output.last, response.record());
  const auto write = [&] { return Whole(*std::move(outputs)); };
  std::string body = co_await service_.workers->RunIfLarge(client, NumBytes(*outputs), write);
  co_await response.Send(200, kJsonType, std::move(body));
  co_return absl::OkStatus();
}

}  // namespace shortlist
