#ifndef SHORTLIST_SERVE_HTTP_FRAMING_H_
#define SHORTLIST_SERVE_HTTP_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// Finds where an HTTP/1.x message ends and the next one begins (RFC 9112), for requests and
/// replies. A lenient reader can be made to see two messages where another program sees one. So
/// everything that the RFC forbids, or leaves to the reader, is rejected.
///
/// This code does no I/O. Time is linear in the number of bytes, for pieces of any size; the limits
/// bound memory. Errors have an HTTP status: 400, 413 for a body that is too long, and 431 for a
/// head that is too long. Do not feed an object again after an error.

/// Headers in order of arrival. Names are case-insensitive.
using HttpFields = std::vector<std::pair<std::string, std::string>>;

/// Parses lines up to the first empty one: start line and fields, or the fields of a trailer.
class HttpHeadParser {
 public:
  struct Limits {
    int64_t max_bytes;  // of all lines including their ends
    int64_t max_fields;
  };
  enum class Kind { kMessage, kTrailer };  // a trailer has no start line

  HttpHeadParser(Kind kind, Limits limits) : kind_(kind), limits_(limits) {}

  /// Returns the number of bytes consumed: all of `bytes`, unless done().
  absl::StatusOr<size_t> Feed(std::string_view bytes);
  bool done() const { return done_; }
  /// True if anything but an empty line has come.
  bool begun() const { return !start_line_.empty() || !line_.empty(); }

  const std::string& start_line() const { return start_line_; }
  HttpFields& fields() { return fields_; }
  const HttpFields& fields() const { return fields_; }

 private:
  absl::Status TakeLine(std::string_view line);
  absl::Status TakeField(std::string_view line);

  Kind kind_;
  Limits limits_;
  int64_t num_bytes_ = 0;
  int64_t num_empty_ = 0;  // lines before the start line
  bool done_ = false;
  std::string line_;  // the line that is not complete yet
  std::string start_line_;
  HttpFields fields_;
};

/// The parts of "POST /generate HTTP/1.1". The target is not empty and has no white space.
struct HttpRequestLine {
  std::string method;
  std::string target;
  bool is_http11 = true;  // false: HTTP/1.0; other versions are rejected

  static absl::StatusOr<HttpRequestLine> Parse(std::string_view line);
};

/// Returns the status of "HTTP/1.1 200 OK".
absl::StatusOr<int> ParseStatusLine(std::string_view line);

/// Decodes a body. A body whose declared length exceeds the limit is rejected before its first
/// byte.
class HttpBodyDecoder {
 public:
  static HttpBodyDecoder OfLength(int64_t length);
  static HttpBodyDecoder Chunked(int64_t max_bytes);
  /// For a body that ends with the connection; done() is never true.
  static HttpBodyDecoder UntilEnd(int64_t max_bytes);

  /// Appends the content in `bytes` to `body`. Returns the number of bytes consumed: all of
  /// `bytes`, unless done(). Drops chunk extensions and trailers. Their length is limited to some
  /// KiB beyond a small multiple of the content.
  absl::StatusOr<size_t> Feed(std::string_view bytes, std::string& body);
  bool done() const { return state_ == State::kDone; }
  /// True if made by UntilEnd().
  bool ends_with_connection() const { return kind_ == Kind::kUntilEnd; }
  /// Returns the number of bytes still to come, or nullopt if it is not known.
  std::optional<int64_t> num_missing() const;

 private:
  enum class Kind { kLength, kChunked, kUntilEnd };
  enum class State {
    kSize,       // hexadecimal digits
    kSpace,      // after the digits, before an extension
    kExtension,  // up to the end of the line
    kSizeEnd,    // the line feed of the size line
    kData,
    kDataEnd,      // "\r" after the data of a chunk
    kDataLineEnd,  // "\n"
    kTrailer,
    kDone
  };

  HttpBodyDecoder(Kind kind, State state, int64_t num_left, int64_t max_bytes);
  absl::Status TooLong() const;
  absl::Status TakeFraming(char c);
  absl::Status EndSizeLine();

  Kind kind_;
  State state_;
  int64_t num_left_;   // of the chunk, or of the body
  int64_t limit_;      // of the whole body
  int64_t max_bytes_;  // bytes that may still come
  int64_t num_digits_ = 0;
  int64_t line_bytes_ = 0;    // of the chunk's size line
  int64_t excess_bytes_ = 0;  // framing beyond what content of this length needs
  HttpHeadParser trailer_;
};

/// Returns the framing of a request's body. Rejects ambiguous requests: a Transfer-Encoding other
/// than "chunked" alone, in HTTP/1.0, or next to a Content-Length; more than one Content-Length or
/// Host; and a missing Host in HTTP/1.1.
absl::StatusOr<HttpBodyDecoder> FrameRequest(bool is_http11, const HttpFields& fields,
                                             int64_t max_body_bytes);
/// Returns the framing of a reply's body. Precondition: the request was a GET or POST.
absl::StatusOr<HttpBodyDecoder> FrameReply(int status, const HttpFields& fields,
                                           int64_t max_body_bytes);

/// True if the connection stays open after this message.
bool KeepsAlive(bool is_http11, const HttpFields& fields);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_FRAMING_H_
