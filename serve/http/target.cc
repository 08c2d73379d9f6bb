#include "serve/http/target.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hex.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "serve/http/message.h"

namespace shortlist {
namespace {

constexpr size_t kMaxQueryParameters = 100;

bool IsLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

absl::StatusOr<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigitValue(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigitValue(text[i + 2]) : -1;
    if (high < 0 || low < 0 || 16 * high + low == 0) {
      return absl::InvalidArgumentError("the request target has a broken percent escape");
    }
    decoded += static_cast<char>(16 * high + low);
    i += 2;
  }
  if (FindInvalidUtf8(decoded)) {
    return absl::InvalidArgumentError("the request target is not valid UTF-8");
  }
  return decoded;
}

}  // namespace

absl::StatusOr<HttpTarget> ParseHttpTarget(std::string_view target) {
  HttpTarget parsed;
  if (const size_t scheme = target.find("://"); scheme != target.npos && target[0] != '/') {
    const std::string_view rest = target.substr(scheme + 3);
    const size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    parsed.authority = rest.substr(0, end);
    target = end < rest.size() && rest[end] == '/' ? rest.substr(end) : std::string_view("/");
  }
  target = target.substr(0, target.find('#'));
  if (target.empty() || target[0] != '/') {
    return absl::InvalidArgumentError("the request target does not begin with '/'");
  }
  const size_t mark = target.find('?');
  SHORTLIST_ASSIGN_OR_RETURN(parsed.path, PercentDecode(target.substr(0, mark), false));
  std::string_view rest = mark == target.npos ? std::string_view() : target.substr(mark + 1);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    if (parsed.query.size() == kMaxQueryParameters) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMaxQueryParameters, " query parameters"));
    }
    const size_t equals = std::min(pair.find('='), pair.size());
    SHORTLIST_ASSIGN_OR_RETURN(std::string name, PercentDecode(pair.substr(0, equals), true));
    SHORTLIST_ASSIGN_OR_RETURN(std::string value,
                               PercentDecode(pair.substr(std::min(equals + 1, pair.size())), true));
    parsed.query.emplace_back(std::move(name), std::move(value));
  }
  return parsed;
}

bool IsSoundRequestId(std::string_view id) {
  return !id.empty() && id.size() <= 128 &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool IsTraceparent(std::string_view value) {
  // 00-<32 hex digits>-<16 hex digits>-<2 hex digits>; neither id is all zeros.
  if (value.size() != 55 || !value.starts_with("00-")) return false;
  for (size_t i = 0; i < value.size(); ++i) {
    const bool dash = i == 2 || i == 35 || i == 52;
    if (dash ? value[i] != '-' : !IsLowerHex(value[i])) return false;
  }
  return value.substr(3, 32).find_first_not_of('0') != value.npos &&
         value.substr(36, 16).find_first_not_of('0') != value.npos;
}

std::string NewRequestId() {
  // A request can be aborted by its id, so ids must not be predictable. A call of getrandom takes
  // half a microsecond; one of up to 256 bytes cannot be interrupted.
  constexpr size_t kIdBytes = 16;
  thread_local std::array<char, 256> random;
  thread_local size_t num_used = random.size();
  if (num_used == random.size()) {
    const ssize_t num_bytes = getrandom(random.data(), random.size(), /*flags=*/0);
    SHORTLIST_CHECK(num_bytes == std::ssize(random));
    num_used = 0;
  }
  const std::string id =
      absl::BytesToHexString(absl::string_view(random.data() + num_used, kIdBytes));
  num_used += kIdBytes;
  return id;
}

bool IsJsonType(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  return absl::EqualsIgnoreCase(absl::string_view(type.data(), type.size()), "application/json");
}

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (absl::EqualsIgnoreCase(key, absl::string_view(name.data(), name.size()))) return value;
  }
  return {};
}

std::string_view HttpRequest::Query(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return {};
}

}  // namespace shortlist
