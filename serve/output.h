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

/// All that came of one request of a Generation.
struct Output {
  std::string text;
  std::vector<OutputToken> tokens;
  std::vector<PromptToken> prompt;
  GenerationEvent last;  // without its text and tokens
};

/// Adds what is new; `last` becomes the event.
void Append(GenerationEvent event, Output& output);

/// Waits for the end of all `count` requests, told by their index. The first error ends the wait
/// and is returned.
boost::asio::awaitable<absl::StatusOr<std::vector<Output>>> CollectOutputs(Generation& generation,
                                                                           size_t count);

/// About what these take up in a reply.
int64_t NumBytes(const std::vector<Output>& outputs);

/// Sends events as they come. Until there is a first one nothing is sent, so that a refusal is
/// still a status line: an error as the first event is returned. `format` makes the bytes of one
/// event (nothing is fine), `ping` is sent when there was none for fifteen seconds, `tail` last.
struct StreamFormat {
  std::string_view content_type = kEventStreamType;
  std::function<std::string(GenerationEvent event)> format;
  std::string_view ping = ": ping\n\n";
  std::string_view tail = "data: [DONE]\n\n";
};
boost::asio::awaitable<absl::Status> StreamEvents(Generation& generation, HttpResponse& response,
                                                  const StreamFormat& format);

/// "data: <json>\n\n".
std::string ServerSentEvent(std::string_view json);

/// Counts an event's tokens in the record of the request, and notes its error.
void Record(const GenerationEvent& event, RequestRecord& record);

/// A token as text: its bytes, those that are not UTF-8 replaced; the spelling of a control token.
std::string TokenText(const Tokenizer& tokenizer, TokenId id);

/// The likeliest tokens as OpenAI's dialects tell them: behind them `id`, the token that came,
/// where it is none of them.
std::vector<std::pair<TokenId, float>> TopWithChosen(TokenId id, const TokenInfo& info);

/// Of UTF-8 text: its length as Python counts it, which offsets into texts follow.
int64_t NumCodePoints(std::string_view text);

/// A log-probability that JSON can write.
double JsonLogprob(float logprob);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OUTPUT_H_
