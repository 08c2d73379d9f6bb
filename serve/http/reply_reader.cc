#include "serve/http/reply_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/http/framing.h"

namespace shortlist {

using boost::asio::awaitable;

namespace {

constexpr HttpHeadParser::Limits kHeadLimits{.max_bytes = 16 << 10, .max_fields = 100};
constexpr int kMaxInterimReplies = 5;

/// Returns the status and sets the fields of a reply; leaves in `text` the bytes after the head.
awaitable<absl::StatusOr<int>> ReadHead(const ReadMore& read_more, std::string& text,
                                        HttpFields& fields) {
  for (int i = 0; i <= kMaxInterimReplies; ++i) {
    HttpHeadParser head(HttpHeadParser::Kind::kMessage, kHeadLimits);
    while (true) {
      const absl::StatusOr<size_t> used = head.Feed(text);
      if (!used.ok()) co_return used.status();
      text.erase(0, *used);
      if (head.done()) break;
      absl::Status status = co_await read_more(text);
      if (!status.ok()) co_return status;
    }
    const absl::StatusOr<int> status = ParseStatusLine(head.start_line());
    if (!status.ok() || *status >= 200 || *status == 101) {
      fields = std::move(head.fields());
      co_return status;
    }
  }
  co_return absl::UnavailableError("interim replies without an end");
}

}  // namespace

awaitable<absl::StatusOr<std::string>> ReadReply(const ReadMore& read_more, int64_t max_bytes) {
  std::string text, reply;
  HttpFields fields;
  const absl::StatusOr<int> code = co_await ReadHead(read_more, text, fields);
  if (!code.ok()) co_return code.status();
  if (*code != 200) co_return absl::UnavailableError(absl::StrCat("status ", *code));
  absl::StatusOr<HttpBodyDecoder> body = FrameReply(*code, fields, max_bytes);
  if (!body.ok()) co_return body.status();
  while (true) {
    const absl::StatusOr<size_t> used = body->Feed(text, reply);
    if (!used.ok()) co_return used.status();
    if (body->done()) co_return reply;
    text.clear();
    absl::Status status = co_await read_more(text);
    if (absl::IsOutOfRange(status) && body->ends_with_connection()) co_return reply;
    if (!status.ok()) co_return status;
  }
}

}  // namespace shortlist
