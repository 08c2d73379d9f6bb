// Pipelined HTTP requests, cut at any byte, through the parser of heads and the decoder of bodies.
// The result is compared with an independent parser. The first four bytes seed the cuts.
//
//   fuzz_http -max_len=8192 CORPUS fuzz/seeds/http

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "serve/http/framing.h"

namespace shortlist {
namespace {

constexpr HttpHeadParser::Limits kLimits{.max_bytes = 1024, .max_fields = 20};
constexpr size_t kMaxBody = 2048;
constexpr size_t kMaxSizeLine = 4096;
constexpr size_t kMaxTrailer = 8192, kMaxTrailerFields = 100;

struct Request {
  std::string body;
  size_t num_bytes = 0;
};

bool IsTokenCharacter(char c) {
  return c > ' ' && c < 127 && std::strchr("\"(),/:;<=>?@[\\]{}", c) == nullptr;
}

bool IsText(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return (c < ' ' && c != '\t') || c == 127; });
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return lower;
}

/// Splits lines up to an empty one. Returns the bytes they take, nullopt if they are invalid.
std::optional<size_t> SplitLines(std::string_view text, size_t max_bytes,
                                 std::vector<std::string_view>& lines) {
  size_t at = 0;
  while (true) {
    const size_t end = text.find("\r\n", at);
    if (end == text.npos || end + 2 > max_bytes) return std::nullopt;
    const std::string_view line = text.substr(at, end - at);
    at = end + 2;
    if (!IsText(line)) return std::nullopt;
    if (line.empty()) return at;
    lines.push_back(line);
  }
}

struct Field {
  std::string name, value;
};

std::optional<Field> SplitField(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == line.npos || colon == 0) return std::nullopt;
  const std::string_view name = line.substr(0, colon);
  if (!std::all_of(name.begin(), name.end(), IsTokenCharacter)) return std::nullopt;
  const size_t begin = line.find_first_not_of(" \t", colon + 1);
  if (begin == line.npos) return Field{Lower(name), ""};
  return Field{Lower(name),
               std::string(line.substr(begin, line.find_last_not_of(" \t") + 1 - begin))};
}

std::optional<Request> OracleChunks(std::string_view text) {
  Request read;
  while (true) {
    const size_t end = text.find("\r\n", read.num_bytes);
    if (end == text.npos || end + 2 - read.num_bytes > kMaxSizeLine) return std::nullopt;
    const std::string_view line = text.substr(read.num_bytes, end - read.num_bytes);
    read.num_bytes = end + 2;
    const size_t num_digits =
        std::min(line.find_first_not_of("0123456789abcdefABCDEF"), line.size());
    if (num_digits == 0 || num_digits > 16 || !IsText(line)) return std::nullopt;
    const std::string_view rest = line.substr(num_digits);
    const size_t mark = rest.find_first_not_of(" \t");
    if (!rest.empty() && (mark == rest.npos || rest[mark] != ';')) return std::nullopt;
    const uint64_t size = std::stoull(std::string(line.substr(0, num_digits)), nullptr, 16);
    if (size > kMaxBody - read.body.size()) return std::nullopt;
    if (size == 0) break;
    if (text.size() < read.num_bytes + size + 2) return std::nullopt;
    read.body += text.substr(read.num_bytes, size);
    if (text.substr(read.num_bytes + size, 2) != "\r\n") return std::nullopt;
    read.num_bytes += size + 2;
  }
  std::vector<std::string_view> trailer;
  const auto count = SplitLines(text.substr(read.num_bytes), kMaxTrailer, trailer);
  if (!count || trailer.size() > kMaxTrailerFields) return std::nullopt;
  for (const std::string_view line : trailer) {
    if (!SplitField(line)) return std::nullopt;
  }
  read.num_bytes += *count;
  return read;
}

/// Parses the request that `text` begins with; nullopt if it is incomplete or must be rejected.
std::optional<Request> Oracle(std::string_view text) {
  const size_t skipped = text.starts_with("\r\n") ? 2 : 0;
  std::vector<std::string_view> lines;
  const auto head = SplitLines(text.substr(skipped), kLimits.max_bytes - skipped, lines);
  if (!head || lines.empty() || lines.size() > kLimits.max_fields + 1) return std::nullopt;
  const std::string_view start = lines[0];
  const size_t space = start.find(' ');
  const bool is_http11 = start.ends_with(" HTTP/1.1");
  if (space == 0 || space == start.npos || (!is_http11 && !start.ends_with(" HTTP/1.0"))) {
    return std::nullopt;
  }
  if (space + 1 >= start.size() - 9) return std::nullopt;
  const std::string_view method = start.substr(0, space);
  const std::string_view target = start.substr(space + 1, start.size() - 9 - space - 1);
  if (!std::all_of(method.begin(), method.end(), IsTokenCharacter)) return std::nullopt;
  if (target.find_first_of(" \t") != target.npos) return std::nullopt;

  std::vector<std::string> hosts, lengths, encodings;
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto field = SplitField(lines[i]);
    if (!field) return std::nullopt;
    if (field->name == "host") hosts.push_back(field->value);
    if (field->name == "content-length") lengths.push_back(field->value);
    if (field->name == "transfer-encoding") encodings.push_back(Lower(field->value));
  }
  if (hosts.size() > 1 || (is_http11 && hosts.empty())) return std::nullopt;
  for (const char c : hosts.empty() ? std::string() : hosts[0]) {
    if (!IsTokenCharacter(c) && std::strchr("[]:()=;", c) == nullptr) return std::nullopt;
  }
  const std::string_view rest = text.substr(skipped + *head);
  std::optional<Request> read = Request();
  if (!encodings.empty()) {
    if (!is_http11 || encodings != std::vector<std::string>{"chunked"} || !lengths.empty()) {
      return std::nullopt;
    }
    read = OracleChunks(rest);
  } else if (!lengths.empty()) {
    const std::string& digits = lengths[0];
    if (lengths.size() > 1 || digits.empty() || digits.size() > 18 ||
        digits.find_first_not_of("0123456789") != digits.npos) {
      return std::nullopt;
    }
    const size_t length = std::stoull(digits);
    if (length > kMaxBody || length > rest.size()) return std::nullopt;
    read->body = rest.substr(0, length);
    read->num_bytes = length;
  }
  if (read) read->num_bytes += skipped + *head;
  return read;
}

/// Feeds pieces of `text` until `object` is done. Returns false if it is rejected or `text` ends.
template <typename Object, typename... Into>
bool Feed(Object& object, std::string_view text, size_t& at, std::mt19937& random, Into&... into) {
  while (!object.done()) {
    if (at == text.size()) return false;
    const size_t most = random() % 4 == 0 ? 1 : 1 + random() % 300;
    const std::string_view piece = text.substr(at, most);
    const absl::StatusOr<size_t> used = object.Feed(piece, into...);
    if (!used.ok()) return false;
    SHORTLIST_CHECK(*used == piece.size() || (object.done() && *used < piece.size()));
    at += *used;
  }
  return true;
}

std::optional<Request> Read(std::string_view text, std::mt19937& random) {
  Request read;
  HttpHeadParser head(HttpHeadParser::Kind::kMessage, kLimits);
  if (!Feed(head, text, read.num_bytes, random)) return std::nullopt;
  size_t num_kept = head.start_line().size();
  for (const auto& [name, value] : head.fields()) num_kept += name.size() + value.size();
  SHORTLIST_CHECK(num_kept <= read.num_bytes && read.num_bytes <= kLimits.max_bytes);
  const auto line = HttpRequestLine::Parse(head.start_line());
  if (!line.ok()) return std::nullopt;
  KeepsAlive(line->is_http11, head.fields());
  auto body = FrameRequest(line->is_http11, head.fields(), kMaxBody);
  if (!body.ok()) return std::nullopt;
  const bool is_read = Feed(*body, text, read.num_bytes, random, read.body);
  SHORTLIST_CHECK(read.body.size() <= kMaxBody && read.body.size() <= text.size());
  if (!is_read) return std::nullopt;
  return read;
}

void Run(std::string_view input) {
  uint32_t seed = 0;
  if (input.size() < sizeof seed) return;
  std::memcpy(&seed, input.data(), sizeof seed);
  std::mt19937 random(seed);
  std::string_view rest = input.substr(sizeof seed);
  while (!rest.empty()) {
    const std::optional<Request> read = Read(rest, random), expected = Oracle(rest);
    SHORTLIST_CHECK(read.has_value() == expected.has_value());
    if (!read) return;
    SHORTLIST_CHECK(read->num_bytes == expected->num_bytes && read->body == expected->body);
    rest.remove_prefix(read->num_bytes);
  }
}

}  // namespace
}  // namespace shortlist

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shortlist::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
