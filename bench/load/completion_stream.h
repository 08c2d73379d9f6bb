#ifndef SHORTLIST_BENCH_LOAD_COMPLETION_STREAM_H_
#define SHORTLIST_BENCH_LOAD_COMPLETION_STREAM_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace shortlist {

/// Body of a request for a streamed completion of `num_tokens` tokens. It sets ignore_eos, so that
/// no end of text cuts the output short if the server supports it, and requests usage in every
/// event. Prompts of different `number`s differ from their start. An empty `model` omits the field.
std::string StreamBody(const std::string& model, int64_t number, int64_t num_tokens);

/// Counts the tokens of a streamed completion by the usage in its events, without parsing their
/// JSON: one event may carry several tokens. If a server reports usage only at the end, the tokens
/// are counted then.
class CompletionTokens {
 public:
  /// Reads a piece of the stream, cut at any byte. Returns the number of tokens reported since the
  /// previous call.
  int64_t Read(std::string_view piece);
  /// True if the stream has ended and has reported a number of tokens.
  bool is_done() const { return saw_end_ && num_tokens_ > 0; }

 private:
  void ReadLine(std::string_view line);

  std::string pending_;  // an incomplete line
  int64_t num_tokens_ = 0;
  bool saw_end_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_BENCH_LOAD_COMPLETION_STREAM_H_
