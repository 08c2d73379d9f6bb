#include "serve/http/unknown_fields.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"

namespace shortlist {
namespace {

using boost::asio::awaitable;
using nlohmann::ordered_json;

constexpr int kMaxIgnored = 16;
constexpr size_t kMaxNameBytes = 64;

/// `where` is what is left of the way: "messages[3].content.".
void Erase(ordered_json& value, std::string_view where, const std::string& name) {
  if (value.is_array() && !where.starts_with('[')) {
    for (ordered_json& element : value) Erase(element, where, name);
    return;
  }
  if (where.empty() || where == ".") {
    if (value.is_object()) value.erase(name);
    return;
  }
  if (where.front() == '.') where.remove_prefix(1);
  const size_t end = std::min(where.find_first_of(".[", 1), where.size());
  const std::string_view step = where.substr(0, end);
  where.remove_prefix(end);
  if (step.front() == '[') {
    size_t index = 0;
    const absl::string_view digits(step.data() + 1, step.size() - 2);
    const bool is_there = value.is_array() && absl::SimpleAtoi(digits, &index);
    if (is_there && index < value.size()) Erase(value[index], where, name);
    return;
  }
  const auto member = value.is_object() ? value.find(std::string(step)) : value.end();
  if (member != value.end()) Erase(*member, where, name);
}

awaitable<absl::Status> Handle(const Handler& handler, WorkerThreads& workers,
                               const HttpRequest& request, HttpResponse& response) {
  for (int num_ignored = 0;; ++num_ignored) {
    absl::Status status = co_await handler(request, response);
    const std::optional<UnknownField> field = UnknownFieldOf(status);
    if (!field || num_ignored == kMaxIgnored || response.started()) co_return status;
    NoteIgnored(HeaderName(*field), response);
    const auto erase = [&] { return WithoutField(request.body, *field); };
    std::string rest = co_await workers.RunIfLarge(request.client, std::ssize(request.body), erase);
    request.body = std::move(rest);
  }
}

}  // namespace

std::string HeaderName(const UnknownField& field) {
  std::string name = absl::StrCat(field.where, field.name).substr(0, kMaxNameBytes);
  for (char& c : name) {
    const bool is_plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
                          c == '.' || c == '[' || c == ']' || c == '-';
    if (!is_plain) c = '?';
  }
  return name;
}

void NoteIgnored(std::string_view name, HttpResponse& response) {
  std::string& noted = response.record().ignored_fields;
  absl::StrAppend(&noted, noted.empty() ? "" : ",", std::string(name));
  response.SetHeader(kIgnoredFields, std::string(name));
}

std::string WithoutField(const std::string& body, const UnknownField& field) {
  ordered_json value = ParseOrderedJson(body);
  Erase(value, field.where, field.name);
  return Dump(value);
}

Handler IgnoreUnknownFields(Handler handler, WorkerThreads& workers) {
  // The coroutine refers to the handler, which outlives it.
  return [handler = std::make_shared<const Handler>(std::move(handler)), &workers](
             const HttpRequest& request, HttpResponse& response) {
    return Handle(*handler, workers, request, response);
  };
}

}  // namespace shortlist
