#include "serve/http/unknown_fields.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>
#include <set>
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

constexpr size_t kMaxIgnored = 16;  // distinct paths
// Bounds for bodies read again, once per field removed: of known paths, and of all.
constexpr int64_t kMaxReadBytes = int64_t{8} << 20;
constexpr int64_t kMaxReadBytesOfNewPaths = int64_t{32} << 20;
constexpr size_t kMaxNameBytes = 64;

/// Removes the field; `where` is the rest of its path: "messages[3].content.".
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

/// Returns the path of the field without the indices of lists: "messages[].weight".
std::string PathOf(const UnknownField& field) {
  std::string path;
  bool is_index = false;
  for (const char c : field.where) {
    is_index = is_index && c != ']';
    if (!is_index) path += c;
    if (c == '[') is_index = true;
  }
  return path + field.name;
}

awaitable<absl::Status> Handle(const Handler& handler, WorkerThreads& workers,
                               const HttpRequest& request, HttpResponse& response) {
  std::set<std::string> paths;
  int64_t num_read_bytes = 0;
  while (true) {
    absl::Status status = co_await handler(request, response);
    const std::optional<UnknownField> field = UnknownFieldOf(status);
    if (!field || response.started()) co_return status;
    const bool is_new = paths.insert(PathOf(*field)).second;
    if (paths.size() > kMaxIgnored) co_return status;
    num_read_bytes += std::ssize(request.body);
    if (num_read_bytes > (is_new ? kMaxReadBytesOfNewPaths : kMaxReadBytes)) co_return status;
    if (is_new) NoteIgnored(HeaderName(*field), response);
    const auto erase = [&] { return WithoutField(request.body, *field); };
    std::string rest = co_await workers.RunIfLarge(request.client, std::ssize(request.body), erase);
    if (rest == request.body) co_return status;  // the field is not at its reported path
    request.body = std::move(rest);
    co_await boost::asio::post(co_await boost::asio::this_coro::executor,
                               boost::asio::use_awaitable);  // yield to other work
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
  // The coroutine refers to the handler, which outlives the coroutine.
  return [handler = std::make_shared<const Handler>(std::move(handler)), &workers](
             const HttpRequest& request, HttpResponse& response) {
    return Handle(*handler, workers, request, response);
  };
}

}  // namespace shortlist
