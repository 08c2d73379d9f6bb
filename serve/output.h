#ifndef SHORTLIST_SERVE_OUTPUT_H_
#define SHORTLIST_SERVE_OUTPUT_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/generator.h"
#include "serve/http/message.h"

namespace shortlist {

/// The complete output of one request of a Generation.
struct Output {
  std::string text;
  std::vector<OutputToken> tokens;
  std::vector<PromptToken> prompt;
  GenerationEvent last;  // its text, tokens and prompt are moved to the members above
};

/// Appends new text and tokens to `output`; `last` becomes the event.
void Append(GenerationEvent event, Output& output);

/// Waits for the end of all `count` requests and returns their outputs by index. The first error
/// ends the wait and is returned.
boost::asio::awaitable<absl::StatusOr<std::vector<Output>>> CollectOutputs(Generation& generation,
                                                                           size_t count);

/// Approximate number of bytes of `outputs` in a reply.
int64_t NumBytes(const std::vector<Output>& outputs);

/// How StreamEvents() writes events. `format` makes the bytes of one event (may be none), `ping` is
/// sent after fifteen seconds without an event, `tail` at the end.
struct StreamFormat {
  std::string_view content_type = kEventStreamType;
  std::function<std::string(GenerationEvent event)> format;
  std::string_view ping = ": ping\n\n";
  std::string_view tail = "data: [DONE]\n\n";
};
/// Sends events as they come. Sends nothing before the first one: an error as the first event is
/// returned, so that it can still become an HTTP status.
boost::asio::awaitable<absl::Status> StreamEvents(Generation& generation, HttpResponse& response,
                                                  const StreamFormat& format);

/// Returns "data: <json>\n\n".
std::string ServerSentEvent(std::string_view json);

/// Adds the token counts of a last event, and its error, to the record of the HTTP request.
void Record(const GenerationEvent& event, RequestRecord& record);

/// Returns a token as text: the spelling of a control token, else its bytes with invalid UTF-8
/// replaced.
std::string TokenText(const Tokenizer& tokenizer, TokenId id);

/// Returns the most likely tokens, and after them the chosen token `id` if it is not among them, as
/// OpenAI's dialects do.
std::vector<std::pair<TokenId, float>> TopWithChosen(TokenId id, const TokenInfo& info);

/// Returns the length of UTF-8 text as Python counts it. Offsets into texts use this unit.
int64_t NumCodePoints(std::string_view text);

/// Returns how many leading code points of `text`, which token `id` completed, belong to tokens
/// before it: U+FFFD for a code point that they left unfinished, or a space held back.
int64_t NumEarlierCodePoints(const Tokenizer& tokenizer, TokenId id, std::string_view text);

/// Returns a log-probability that JSON can represent (at least -9999).
double JsonLogprob(float logprob);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OUTPUT_H_
