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

/// Where an HTTP/1.x message ends and the next one begins (RFC 9112), for requests and replies. Who
/// reads leniently here can be made to see two messages where another sees one, so whatever the RFC
/// forbids, or leaves to the reader, is refused.
///
/// Nothing here does I/O. Time is linear in the bytes, whatever pieces they come in; memory is
/// bounded by the limits. Errors have an HTTP status: 400, 413 for a body and 431 for a head that
/// is too long. After an error, neither object may be fed again.

/// Names compare without case. In the order they came.
using HttpFields = std::vector<std::pair<std::string, std::string>>;

/// Takes the lines up to the first empty one: start line and fields, or the fields of a trailer.
class HttpHeadParser {
 public:
  struct Limits {
    int64_t max_bytes;  // of all lines with their ends
    int64_t max_fields;
  };
  enum class Kind { kMessage, kTrailer };  // a trailer has no start line

  HttpHeadParser(Kind kind, Limits limits) : kind_(kind), limits_(limits) {}

  /// How many of `bytes` it took: all, unless it is done.
  absl::StatusOr<size_t> Feed(std::string_view bytes);
  bool done() const { return done_; }
  /// Something but an empty line has come.
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
  std::string line_;  // not complete yet
  std::string start_line_;
  HttpFields fields_;
};

/// "POST /generate HTTP/1.1", taken apart; the target is not empty and has no white space.
struct HttpRequestLine {
  std::string method;
  std::string target;
  bool is_http11 = true;  // else HTTP/1.0; other versions are refused

  static absl::StatusOr<HttpRequestLine> Parse(std::string_view line);
};

/// The status of "HTTP/1.1 200 OK".
absl::StatusOr<int> ParseStatusLine(std::string_view line);

/// Takes a body. One of a length that is over its limit is refused before its first byte.
class HttpBodyDecoder {
 public:
  static HttpBodyDecoder OfLength(int64_t length);
  static HttpBodyDecoder Chunked(int64_t max_bytes);
  /// Up to the end of the connection; never done.
  static HttpBodyDecoder UntilEnd(int64_t max_bytes);

  /// Appends what it finds in `bytes` to `body`; how many of `bytes` it took: all, unless it is
  /// done. Chunk extensions and trailers are dropped; they may be as long as some KiB, and a little
  /// longer than the content.
  absl::StatusOr<size_t> Feed(std::string_view bytes, std::string& body);
  bool done() const { return state_ == State::kDone; }
  /// Made by UntilEnd.
  bool ends_with_connection() const { return kind_ == Kind::kUntilEnd; }
  /// Bytes that are still to come, or nullopt where that is not known.
  std::optional<int64_t> num_missing() const;

 private:
  enum class Kind { kLength, kChunked, kUntilEnd };
  enum class State {
    kSize,       // hexadecimal digits
    kSpace,      // behind them, before an extension
    kExtension,  // up to the end of the line
    kSizeEnd,    // its line feed
    kData,
    kDataEnd,      // "\r" behind the data of a chunk
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
  int64_t max_bytes_;  // that may still come
  int64_t num_digits_ = 0;
  int64_t line_bytes_ = 0;    // of the chunk's size line
  int64_t excess_bytes_ = 0;  // of framing over what content of this length needs
  HttpHeadParser trailer_;
};

/// How the body of a request is framed. Refuses every doubt: a Transfer-Encoding that is not
/// "chunked" alone, one in HTTP/1.0 or beside a Content-Length, more than one Content-Length, more
/// than one Host, and none in HTTP/1.1.
absl::StatusOr<HttpBodyDecoder> FrameRequest(bool is_http11, const HttpFields& fields,
                                             int64_t max_body_bytes);
/// Likewise of the reply to a POST.
absl::StatusOr<HttpBodyDecoder> FrameReply(int status, const HttpFields& fields,
                                           int64_t max_body_bytes);

/// Whether the connection goes on behind this message.
bool KeepsAlive(bool is_http11, const HttpFields& fields);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_FRAMING_H_
