#include "serve/openai/response_writer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/http/json_fields.h"
#include "serve/openai/request.h"

namespace shortlist {

using nlohmann::ordered_json;

namespace {

using Kind = ReplyPart::Kind;

ordered_json Single(const char* name, ordered_json value) {
  ordered_json object = ordered_json::object();
  object[name] = std::move(value);
  return object;
}

/// Returns the part of a message's content.
ordered_json TextPart(const std::string& text) {
  return {{"type", "output_text"},
          {"text", text},
          {"annotations", ordered_json::array()},
          {"logprobs", ordered_json::array()}};
}

const char* IdPrefix(Kind kind) {
  if (kind == Kind::kReasoning) return "rs_";
  return kind == Kind::kContent ? "msg_" : "fc_";
}

}  // namespace

ResponseWriter::ResponseWriter(const ReplyPlan& plan, Options options)
    : plan_(plan), options_(std::move(options)), created_at_(UnixNow()), reader_(plan) {}

std::string ResponseWriter::Events(GenerationEvent event) {
  std::string events;
  if (num_events_ == 0) {
    events += Event("response.created", Single("response", Response("in_progress")));
    events += Event("response.in_progress", Single("response", Response("in_progress")));
  }
  Output output;
  Append(std::move(event), output);
  last_ = output.last;
  for (const ReplyPart& part : reader_.Read(output)) Add(part, events);
  if (!last_.finished) return events;
  const std::string status = Status();
  if (status == "failed") {
    // The response lists its last item as incomplete, but no event ends the item.
    if (!items_.empty()) items_.back().is_done = true;
  } else {
    if (items_.empty()) Open({.kind = Kind::kContent}, events);
    Close(events);
  }
  return events + Event(absl::StrCat("response.", status), Single("response", Response(status)));
}

std::string ResponseWriter::Whole(const Output& output) {
  last_ = output.last;
  std::string ignored;
  for (const ReplyPart& part : reader_.Read(output)) Add(part, ignored);
  if (items_.empty()) Open({.kind = Kind::kContent}, ignored);
  Close(ignored);
  return Dump(Response(Status()));
}

const char* ResponseWriter::Status() const {
  if (!last_.status.ok()) return "failed";
  return last_.finish_reason == FinishReason::kLength ? "incomplete" : "completed";
}

/// Adds the part to the last item, or opens the next one.
void ResponseWriter::Add(const ReplyPart& part, std::string& events) {
  const Kind of_item = part.kind == Kind::kArguments ? Kind::kCall : part.kind;
  if (part.kind == Kind::kCall || items_.empty() || items_.back().kind != of_item) {
    Close(events);
    Open(part, events);
  }
  if (part.kind == Kind::kCall) return;
  items_.back().text += part.text;
  ordered_json delta = {{"delta", part.text}};
  const char* type = "response.function_call_arguments.delta";
  if (part.kind == Kind::kContent) {
    type = "response.output_text.delta";
    delta["logprobs"] = ordered_json::array();
  } else if (part.kind == Kind::kReasoning) {
    type = "response.reasoning_text.delta";
  }
  events += ItemEvent(type, delta);
}

void ResponseWriter::Open(const ReplyPart& part, std::string& events) {
  std::string id = absl::StrCat(IdPrefix(part.kind), options_.rid);
  if (!items_.empty()) absl::StrAppend(&id, "_", items_.size());
  items_.push_back({.kind = part.kind, .id = std::move(id), .text = ""});
  Item& item = items_.back();
  if (part.kind == Kind::kCall) {
    item.name = part.text;
    item.call_id = part.call_id;
  }
  ordered_json json = Json(item);
  if (part.kind != Kind::kCall) json["content"] = ordered_json::array();
  events += Event("response.output_item.added",
                  {{"output_index", items_.size() - 1}, {"item", std::move(json)}});
  if (part.kind == Kind::kContent) {
    events += ItemEvent("response.content_part.added", {{"part", TextPart("")}});
  }
}

/// Ends the last item, if it is open.
void ResponseWriter::Close(std::string& events) {
  if (items_.empty() || items_.back().is_done) return;
  Item& item = items_.back();
  item.is_done = true;
  if (item.kind == Kind::kContent) {
    events += ItemEvent("response.output_text.done",
                        {{"text", item.text}, {"logprobs", ordered_json::array()}});
    events += ItemEvent("response.content_part.done", {{"part", TextPart(item.text)}});
  } else if (item.kind == Kind::kReasoning) {
    events += ItemEvent("response.reasoning_text.done", {{"text", item.text}});
  } else {
    events += ItemEvent("response.function_call_arguments.done",
                        {{"name", item.name}, {"arguments", item.text}});
  }
  events += Event("response.output_item.done",
                  {{"output_index", items_.size() - 1}, {"item", Json(item)}});
}

std::string ResponseWriter::Event(const std::string& type, const ordered_json& members) {
  ordered_json event = {{"type", type}, {"sequence_number", num_events_++}};
  event.update(members);
  return absl::StrCat("event: ", type, "\n", ServerSentEvent(Dump(event)));
}

/// An event of the last item: `members` after those that locate it in the response.
std::string ResponseWriter::ItemEvent(const std::string& type, const ordered_json& members) {
  const Item& item = items_.back();
  ordered_json event = {{"item_id", item.id}, {"output_index", items_.size() - 1}};
  if (item.kind != Kind::kCall) event["content_index"] = 0;
  event.update(members);
  return Event(type, event);
}

ordered_json ResponseWriter::Json(const Item& item) const {
  // The last item of a reply that was cut is not complete.
  const bool is_cut = last_.finished && &item == &items_.back() &&
                      (!last_.status.ok() || last_.finish_reason == FinishReason::kLength ||
                       (item.kind == Kind::kCall && reader_.ends_within_call()));
  const char* const status = !item.is_done ? "in_progress" : is_cut ? "incomplete" : "completed";
  ordered_json json = {{"id", item.id}};
  switch (item.kind) {
    case Kind::kReasoning: {
      const ordered_json part = {{"type", "reasoning_text"}, {"text", item.text}};
      json.update({{"type", "reasoning"},
                   {"summary", ordered_json::array()},
                   {"content", ordered_json::array({part})},
                   {"status", status}});
      return json;
    }
    case Kind::kContent:
      json.update({{"type", "message"},
                   {"status", status},
                   {"role", "assistant"},
                   {"content", ordered_json::array({TextPart(item.text)})}});
      return json;
    default:
      json.update({{"type", "function_call"},
                   {"status", status},
                   {"call_id", item.call_id},
                   {"name", item.name},
                   {"arguments", item.text}});
      return json;
  }
}

ordered_json ResponseWriter::Usage() const {
  return {{"input_tokens", last_.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", last_.cached_tokens}}},
          {"output_tokens", last_.completion_tokens},
          {"output_tokens_details", {{"reasoning_tokens", reader_.num_reasoning_tokens()}}},
          {"total_tokens", last_.prompt_tokens + last_.completion_tokens}};
}

ordered_json ResponseWriter::Response(const std::string& status) const {
  ordered_json response = {{"id", absl::StrCat("resp_", options_.rid)},
                           {"object", "response"},
                           {"created_at", created_at_},
                           {"status", status},
                           {"error", nullptr},
                           {"incomplete_details", nullptr},
                           {"model", options_.model},
                           {"output", ordered_json::array()},
                           {"parallel_tool_calls", !plan_.parser.is_single},
                           {"previous_response_id", nullptr},
                           {"store", false},
                           {"text", {{"format", {{"type", "text"}}}}},
                           {"tool_choice", "auto"},
                           {"tools", ordered_json::array()},
                           {"truncation", "disabled"},
                           {"usage", nullptr}};
  response.update(options_.echoed);
  if (status == "failed") {
    response["error"] = {{"code", "server_error"},
                         {"message", std::string(last_.status.message())}};
  }
  if (status == "incomplete") response["incomplete_details"] = {{"reason", "max_output_tokens"}};
  if (status == "in_progress") return response;
  for (const Item& item : items_) response["output"].push_back(Json(item));
  response["usage"] = Usage();
  return response;
}

}  // namespace shortlist
