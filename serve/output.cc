#include "serve/output.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "serve/http/api_error.h"
#include "text/detokenizer.h"

namespace shortlist {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::seconds kPingAfter{15};

}  // namespace

void Append(GenerationEvent event, Output& output) {
  output.text += std::exchange(event.text, {});
  output.tokens.insert(output.tokens.end(), std::make_move_iterator(event.tokens.begin()),
                       std::make_move_iterator(event.tokens.end()));
  event.tokens.clear();
  if (!event.prompt.empty()) output.prompt = std::exchange(event.prompt, {});
  output.last = std::move(event);
}

asio::awaitable<absl::StatusOr<std::vector<Output>>> CollectOutputs(Generation& generation,
                                                                    size_t count) {
  std::vector<Output> outputs(count);
  while (!generation.finished()) {
    GenerationEvent event = co_await generation.Next();
    if (!event.status.ok()) co_return event.status;
    Output& output = outputs[event.index];
    Append(std::move(event), output);
  }
  co_return outputs;
}

int64_t NumBytes(const std::vector<Output>& outputs) {
  constexpr size_t kTokenBytes = 64;  // per entry of a list of log-probabilities
  size_t num_bytes = 0;
  for (const Output& output : outputs) {
    num_bytes += output.text.size();
    for (const OutputToken& token : output.tokens) {
      num_bytes += kTokenBytes * (1 + token.info.top.size());
    }
    for (const PromptToken& token : output.prompt) {
      num_bytes += kTokenBytes * (1 + token.info.top.size());
    }
  }
  return static_cast<int64_t>(num_bytes);
}

asio::awaitable<absl::Status> StreamEvents(Generation& generation, HttpResponse& response,
                                           const StreamFormat& format) {
  GenerationEvent event = co_await generation.Next();
  if (!event.status.ok()) co_return event.status;
  co_await response.StartStream(format.content_type);
  while (true) {
    Record(event, response.record());
    std::string bytes = format.format(std::move(event));
    if (generation.finished()) bytes += format.tail;
    co_await response.Write(std::move(bytes));
    if (generation.finished()) co_return absl::OkStatus();
    std::optional<GenerationEvent> next = co_await generation.NextWithin(kPingAfter);
    while (!next.has_value()) {
      co_await response.Write(std::string(format.ping));
      next = co_await generation.NextWithin(kPingAfter);
    }
    event = *std::move(next);
  }
}

std::string ServerSentEvent(std::string_view json) {
  return absl::StrCat("data: ", absl::string_view(json.data(), json.size()), "\n\n");
}

void Record(const GenerationEvent& event, RequestRecord& record) {
  if (!event.finished) return;
  record.prompt_tokens += event.prompt_tokens;
  record.completion_tokens += event.completion_tokens;
  if (!event.status.ok()) record.error_code = CodeOf(event.status);
}

std::string TokenText(const Tokenizer& tokenizer, TokenId id) {
  const std::string_view control = tokenizer.ControlPiece(id);
  if (!control.empty()) return std::string(control);
  std::string text;
  AppendReplaced(AppendUtf8(tokenizer.TokenBytes(id), text), text, Replacement::kPerSubpart);
  return text;
}

std::vector<std::pair<TokenId, float>> TopWithChosen(TokenId id, const TokenInfo& info) {
  std::vector<std::pair<TokenId, float>> top = info.top;
  const bool is_there =
      std::any_of(top.begin(), top.end(), [id](const auto& entry) { return entry.first == id; });
  if (!is_there) top.emplace_back(id, info.logprob);
  return top;
}

int64_t NumCodePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

int64_t NumEarlierCodePoints(const Tokenizer& tokenizer, TokenId id, std::string_view text) {
  if (tokenizer.IsSpecial(id)) return 0;
  Detokenizer alone(tokenizer, /*at_start=*/false);
  const std::string own = alone.Append(id);
  return text.ends_with(own) ? NumCodePoints(text.substr(0, text.size() - own.size())) : 0;
}

double JsonLogprob(float logprob) { return std::max(static_cast<double>(logprob), -9999.0); }

}  // namespace shortlist
