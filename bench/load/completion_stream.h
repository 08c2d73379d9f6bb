#ifndef SHORTLIST_BENCH_LOAD_COMPLETION_STREAM_H_
#define SHORTLIST_BENCH_LOAD_COMPLETION_STREAM_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace shortlist {

/// The body of a streamed completion of `num_tokens` tokens that no end of text cuts short where
/// the server knows ignore_eos, and whose events tell how many there are. Prompts of different
/// `number`s are different from the start. `model` empty: the field is left out.
std::string StreamBody(const std::string& model, int64_t number, int64_t num_tokens);

/// Counts the tokens of a streamed completion by what its events say of usage, without parsing
/// them: several tokens may come with one event. A server that tells usage at the end alone is
/// counted then.
class CompletionTokens {
 public:
  /// Takes a piece of the stream, cut anywhere; returns the number of tokens that it tells of
  /// beyond those before.
  int64_t Read(std::string_view piece);
  /// The stream came to its end and told a number.
  bool is_done() const { return saw_end_ && num_tokens_ > 0; }

 private:
  void ReadLine(std::string_view line);

  std::string pending_;  // read, not a whole line
  int64_t num_tokens_ = 0;
  bool saw_end_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_BENCH_LOAD_COMPLETION_STREAM_H_
