#ifndef SHORTLIST_REQUEST_SEQUENCE_H_
#define SHORTLIST_REQUEST_SEQUENCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "request/sampling_params.h"
#include "request/sequence_stats.h"
#include "request/token_constraint.h"
#include "request/token_history.h"
#include "request/token_info.h"

namespace shortlist {

enum class FinishReason {
  kNone,    // still running
  kStop,    // a stop token, or the stop callback
  kLength,  // max_new_tokens, or the context is full
  kError,   // Sequence::error() says why
};

/// One generation request inside the speculation loop: its tokens and how they are chosen. Owned by
/// the caller of SpeculativeEngine, used by one thread at a time.
class Sequence {
 public:
  /// Called for each emitted token in order. Returning true ends the request after this token (such
  /// as at a stop string).
  using StopCallback = std::function<bool(TokenId)>;

  struct Options {
    SamplingParams sampling;
    int64_t max_tail_rows = 0;  // maximum number of rows added to the active vocabulary; 0: none
    bool speculates = true;     // false: no tokens are drafted for it
    StopCallback stop;          // may be empty
    std::string cache_salt;     // its output may be drafted for requests of this salt only
  };

  /// `prompt`: not empty, ids below vocab_size. InvalidArgument names the offending value and its
  /// bound.
  static absl::StatusOr<std::unique_ptr<Sequence>> Create(std::vector<TokenId> prompt,
                                                          Options options, int64_t vocab_size);

  const std::vector<TokenId>& tokens() const { return tokens_; }  // prompt, then output
  int64_t num_tokens() const { return static_cast<int64_t>(tokens_.size()); }
  int64_t prompt_len() const { return prompt_len_; }
  int64_t num_output() const { return num_tokens() - prompt_len_; }
  std::span<const TokenId> output() const {
    return std::span<const TokenId>(tokens_).subspan(prompt_len_);
  }
  const SamplingParams& sampling() const { return options_.sampling; }
  bool speculates() const { return options_.speculates; }
  int64_t max_tail_rows() const { return options_.max_tail_rows; }
  const std::string& cache_salt() const { return options_.cache_salt; }
  const TokenHistory& history() const { return history_; }
  /// A limit on the tokens of the output, and its state after the output.
  struct Constraint {
    std::shared_ptr<const TokenConstraint> of;
    TokenConstraint::State state;
  };
  /// All of them hold: bans first, then the grammar.
  std::span<const Constraint> constraints() const { return constraints_; }
  FinishReason finish_reason() const { return finish_reason_; }
  bool finished() const { return finish_reason_ != FinishReason::kNone; }
  /// True if SpeculativeEngine::Step can proceed: all tokens but the last are computed and the
  /// output has its first token, or the request has ended.
  bool prefilled() const {
    return finished() || (num_output() > 0 && cached_len == num_tokens() - 1);
  }

  /// Appends an emitted token and decides whether the request ends with it. `context_len`: maximum
  /// length, prompt included. Returns finished(). Precondition: not finished.
  bool Emit(TokenId token, int64_t context_len);

  /// Ends the request with kError, without a token.
  void Fail(absl::Status why) {
    finish_reason_ = FinishReason::kError;
    error_ = std::move(why);
  }
  /// InvalidArgument: no token may be emitted. Internal: the target's logits are no numbers.
  const absl::Status& error() const { return error_; }

  // Set by the engine.
  int64_t cached_len = 0;  // leading tokens whose keys and values are in the target's cache
  std::vector<TokenInfo> token_infos;  // [num_output()]
  // Log-probabilities of the prompt's tokens after prompt_logprobs_start, as far as computed; all
  // other fields have their defaults.
  std::vector<TokenInfo> prompt_infos;
  SequenceStats stats;
  /// Further state of the engine; made and read only by the engine.
  struct EngineState {
    virtual ~EngineState() = default;
  };
  std::unique_ptr<EngineState> engine_state;

 private:
  Sequence(std::vector<TokenId> prompt, Options options);

  std::vector<TokenId> tokens_;
  int64_t prompt_len_;
  Options options_;
  TokenHistory history_;
  std::vector<Constraint> constraints_;
  FinishReason finish_reason_ = FinishReason::kNone;
  absl::Status error_;
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_SEQUENCE_H_
