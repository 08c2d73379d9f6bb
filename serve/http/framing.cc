#include "serve/http/framing.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "serve/http/api_error.h"

namespace shortlist {
namespace {

constexpr HttpHeadParser::Limits kTrailerLimits{.max_bytes = 8 << 10, .max_fields = 100};
constexpr int64_t kMaxSizeLineBytes = 4 << 10;
constexpr int64_t kMaxExcessBytes = 16 << 10;
constexpr int64_t kMaxSizeDigits = 16;
constexpr int64_t kMaxEmptyLines = 1;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

bool SameName(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(View(a), View(b));
}

absl::Status Malformed(std::string_view what) {
  return HttpError(400, absl::StrCat("no HTTP message: ", View(what)));
}

bool IsTokenCharacter(char c) {
  static constexpr auto kTable = [] {
    std::array<bool, 256> table{};
    for (int i = '0'; i <= '9'; ++i) table[i] = true;
    for (int i = 'a'; i <= 'z'; ++i) table[i] = table[i - 'a' + 'A'] = true;
    for (const char other : std::string_view("!#$%&'*+-.^_`|~")) {
      table[static_cast<unsigned char>(other)] = true;
    }
    return table;
  }();
  return kTable[static_cast<unsigned char>(c)];
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenCharacter);
}

bool IsSpace(char c) { return c == ' ' || c == '\t'; }

/// True for characters allowed in a line: no control characters except tab.
bool IsText(char c) { return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != '\x7f'); }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Returns the only field with this name; nullopt: none. More than one is an error.
absl::StatusOr<std::optional<std::string_view>> OnlyField(const HttpFields& fields,
                                                          std::string_view name) {
  std::optional<std::string_view> found;
  for (const auto& [key, value] : fields) {
    if (!SameName(key, name)) continue;
    if (found.has_value()) return Malformed(absl::StrCat("more than one ", View(name)));
    found = value;
  }
  return found;
}

absl::StatusOr<int64_t> ParseLength(std::string_view text, int64_t max_body_bytes) {
  const bool has_digits =
      !text.empty() && text.size() <= 18 &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!has_digits) return Malformed("Content-Length is not a number below 10^18");
  int64_t length = 0;
  for (const char c : text) length = 10 * length + (c - '0');
  if (length > max_body_bytes) {
    return HttpError(413, absl::StrCat("the body's ", length, " bytes exceed ", max_body_bytes));
  }
  return length;
}

/// Returns nullopt if there is neither chunked encoding nor a length.
absl::StatusOr<std::optional<HttpBodyDecoder>> Frame(const HttpFields& fields,
                                                     int64_t max_body_bytes) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto encoding, OnlyField(fields, "Transfer-Encoding"));
  SHORTLIST_ASSIGN_OR_RETURN(const auto length, OnlyField(fields, "Content-Length"));
  if (encoding.has_value()) {
    if (!SameName(*encoding, "chunked")) {
      return Malformed("Transfer-Encoding is not \"chunked\" alone");
    }
    if (length.has_value()) return Malformed("both Transfer-Encoding and Content-Length");
    return HttpBodyDecoder::Chunked(max_body_bytes);
  }
  if (!length.has_value()) return std::nullopt;
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_bytes, ParseLength(*length, max_body_bytes));
  return HttpBodyDecoder::OfLength(num_bytes);
}

bool HasField(const HttpFields& fields, std::string_view name) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const auto& field) { return SameName(field.first, name); });
}

/// True for a host with or without a port, and for an empty text.
bool IsHost(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsTokenCharacter(c) || (std::string_view("[]:();=").find(c) != std::string_view::npos);
  });
}

}  // namespace

absl::StatusOr<size_t> HttpHeadParser::Feed(std::string_view bytes) {
  size_t used = 0;
  while (!done_ && used < bytes.size()) {
    const std::string_view rest = bytes.substr(used);
    const size_t end = rest.find('\n');
    const size_t count = end == rest.npos ? rest.size() : end + 1;
    num_bytes_ += static_cast<int64_t>(count);
    if (num_bytes_ > limits_.max_bytes) {
      return HttpError(
          431, absl::StrCat(kind_ == Kind::kMessage ? "request line and headers" : "trailers",
                            " exceed ", limits_.max_bytes, " bytes"));
    }
    line_.append(rest.substr(0, count));
    used += count;
    if (end == rest.npos) break;
    SHORTLIST_RETURN_IF_ERROR(TakeLine(line_));
    line_.clear();
  }
  return used;
}

/// `line` ends with the only "\n" in it.
absl::Status HttpHeadParser::TakeLine(std::string_view line) {
  if (!line.ends_with("\r\n")) return Malformed("a line does not end with \\r\\n");
  line.remove_suffix(2);
  if (!std::all_of(line.begin(), line.end(), IsText)) {
    return Malformed("a control character in a line");
  }
  if (kind_ == Kind::kMessage && start_line_.empty()) {
    if (line.empty() && ++num_empty_ > kMaxEmptyLines) return Malformed("empty lines");
    start_line_ = line;
    return absl::OkStatus();
  }
  if (line.empty()) {
    done_ = true;
    return absl::OkStatus();
  }
  return TakeField(line);
}

absl::Status HttpHeadParser::TakeField(std::string_view line) {
  if (std::ssize(fields_) == limits_.max_fields) {
    return HttpError(431, absl::StrCat("more than ", limits_.max_fields, " headers"));
  }
  if (IsSpace(line.front())) return Malformed("a folded header");
  const size_t colon = std::min(line.find(':'), line.size());
  if (!IsToken(line.substr(0, colon))) return Malformed("a header's name is not a token");
  if (colon == line.size()) return Malformed("a header without a colon");
  fields_.emplace_back(line.substr(0, colon), Trim(line.substr(colon + 1)));
  return absl::OkStatus();
}

absl::StatusOr<HttpRequestLine> HttpRequestLine::Parse(std::string_view line) {
  const size_t first = std::min(line.find(' '), line.size());
  const size_t last = line.rfind(' ');
  HttpRequestLine parsed;
  parsed.method = line.substr(0, first);
  if (!IsToken(parsed.method)) return Malformed("the method is not a token");
  if (first == line.size() || last <= first + 1) return Malformed("no target and version");
  parsed.target = line.substr(first + 1, last - first - 1);
  if (std::any_of(parsed.target.begin(), parsed.target.end(), IsSpace)) {
    return Malformed("white space in the target");
  }
  const std::string_view version = line.substr(last + 1);
  parsed.is_http11 = version == "HTTP/1.1";
  if (!parsed.is_http11 && version != "HTTP/1.0") {
    return Malformed("the version is neither HTTP/1.1 nor HTTP/1.0");
  }
  return parsed;
}

absl::StatusOr<int> ParseStatusLine(std::string_view line) {
  const bool is_http = line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ");
  const std::string_view digits = is_http ? line.substr(9, 3) : std::string_view();
  const bool is_status =
      digits.size() == 3 && digits[0] >= '1' && digits[0] <= '9' &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_status || (line.size() > 12 && line[12] != ' ')) return Malformed("no status line");
  return 100 * (digits[0] - '0') + 10 * (digits[1] - '0') + (digits[2] - '0');
}

HttpBodyDecoder::HttpBodyDecoder(Kind kind, State state, int64_t num_left, int64_t max_bytes)
    : kind_(kind),
      state_(state),
      num_left_(num_left),
      limit_(max_bytes),
      max_bytes_(max_bytes),
      trailer_(HttpHeadParser::Kind::kTrailer, kTrailerLimits) {}

HttpBodyDecoder HttpBodyDecoder::OfLength(int64_t length) {
  return {Kind::kLength, length == 0 ? State::kDone : State::kData, length, length};
}

HttpBodyDecoder HttpBodyDecoder::Chunked(int64_t max_bytes) {
  return {Kind::kChunked, State::kSize, 0, max_bytes};
}

HttpBodyDecoder HttpBodyDecoder::UntilEnd(int64_t max_bytes) {
  return {Kind::kUntilEnd, State::kData, max_bytes, max_bytes};
}

std::optional<int64_t> HttpBodyDecoder::num_missing() const {
  if (done()) return 0;
  if (kind_ == Kind::kLength) return num_left_;
  return std::nullopt;
}

absl::StatusOr<size_t> HttpBodyDecoder::Feed(std::string_view bytes, std::string& body) {
  size_t used = 0;
  while (used < bytes.size() && !done()) {
    const std::string_view rest = bytes.substr(used);
    if (state_ == State::kTrailer) {
      SHORTLIST_ASSIGN_OR_RETURN(const size_t count, trailer_.Feed(rest));
      used += count;
      if (trailer_.done()) state_ = State::kDone;
    } else if (state_ == State::kData) {
      if (num_left_ == 0) return TooLong();  // kUntilEnd
      const size_t count = std::min(rest.size(), static_cast<size_t>(num_left_));
      body.append(rest.substr(0, count));
      used += count;
      num_left_ -= static_cast<int64_t>(count);
      max_bytes_ -= static_cast<int64_t>(count);
      if (num_left_ > 0) continue;
      if (kind_ == Kind::kChunked) state_ = State::kDataEnd;
      if (kind_ == Kind::kLength) state_ = State::kDone;
    } else {
      SHORTLIST_RETURN_IF_ERROR(TakeFraming(rest.front()));
      ++used;
    }
  }
  return used;
}

absl::Status HttpBodyDecoder::TooLong() const {
  return HttpError(413, absl::StrCat("the body is longer than ", limit_, " bytes"));
}

/// Parses one character of the framing of chunks.
absl::Status HttpBodyDecoder::TakeFraming(char c) {
  if (state_ == State::kDataEnd || state_ == State::kDataLineEnd) {
    const bool is_return = state_ == State::kDataEnd;
    if (c != (is_return ? '\r' : '\n')) return Malformed("a chunk is longer than its size");
    state_ = is_return ? State::kDataLineEnd : State::kSize;
    return absl::OkStatus();
  }
  if (++line_bytes_ > kMaxSizeLineBytes) return Malformed("a chunk's extensions are too long");
  if (state_ == State::kSizeEnd) {
    if (c != '\n') return Malformed("a chunk's size does not end with \\r\\n");
    return EndSizeLine();
  }
  const int digit = state_ == State::kSize ? HexDigit(c) : -1;
  if (digit >= 0) {
    if (++num_digits_ > kMaxSizeDigits) return Malformed("a chunk's size has too many digits");
    if (num_left_ > max_bytes_ >> 4) {  // the next digit cannot fit, unless all are zero
      return TooLong();
    }
    num_left_ = num_left_ * 16 + digit;
    return absl::OkStatus();
  }
  if (num_digits_ == 0) return Malformed("a chunk's size is not a hexadecimal number");
  if (c == '\r' && state_ != State::kSpace) {
    state_ = State::kSizeEnd;
  } else if (state_ == State::kExtension && IsText(c)) {
    // Dropped.
  } else if (c == ';') {
    state_ = State::kExtension;
  } else if (IsSpace(c)) {
    state_ = State::kSpace;
  } else {
    return Malformed("a chunk's size is not a hexadecimal number");
  }
  return absl::OkStatus();
}

absl::Status HttpBodyDecoder::EndSizeLine() {
  if (num_left_ > max_bytes_) return TooLong();
  // As in Go's net/http: 16 bytes per chunk, and two per byte of content, do not count.
  excess_bytes_ = std::max<int64_t>(0, excess_bytes_ + line_bytes_ + 2 - 16 - 2 * num_left_);
  if (excess_bytes_ > kMaxExcessBytes) return Malformed("chunks of little but extensions");
  line_bytes_ = num_digits_ = 0;
  state_ = num_left_ == 0 ? State::kTrailer : State::kData;
  return absl::OkStatus();
}

absl::StatusOr<HttpBodyDecoder> FrameRequest(bool is_http11, const HttpFields& fields,
                                             int64_t max_body_bytes) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto host, OnlyField(fields, "Host"));
  if (is_http11 && !host.has_value()) return Malformed("no Host");
  if (host.has_value() && !IsHost(*host)) return Malformed("Host is not a host");
  if (!is_http11 && HasField(fields, "Transfer-Encoding")) {
    return Malformed("Transfer-Encoding in HTTP/1.0");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const auto framed, Frame(fields, max_body_bytes));
  return framed.has_value() ? *framed : HttpBodyDecoder::OfLength(0);
}

absl::StatusOr<HttpBodyDecoder> FrameReply(int status, const HttpFields& fields,
                                           int64_t max_body_bytes) {
  if (status < 200 || status == 204 || status == 304) return HttpBodyDecoder::OfLength(0);
  SHORTLIST_ASSIGN_OR_RETURN(const auto framed, Frame(fields, max_body_bytes));
  return framed.has_value() ? *framed : HttpBodyDecoder::UntilEnd(max_body_bytes);
}

bool KeepsAlive(bool is_http11, const HttpFields& fields) {
  bool keeps = is_http11;
  for (const auto& [name, value] : fields) {
    if (!SameName(name, "Connection")) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view option = Trim(rest.substr(0, comma));
      if (SameName(option, "close")) return false;
      if (SameName(option, "keep-alive")) keeps = true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return keeps;
}

}  // namespace shortlist
