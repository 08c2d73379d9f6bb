#ifndef SHORTLIST_DRAFT_SEQUENCE_H_
#define SHORTLIST_DRAFT_SEQUENCE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "draft/acceptance_forecast.h"
#include "draft/prompt_lookup.h"
#include "draft/sampling_params.h"
#include "draft/token_history.h"
#include "vocab/request_tail.h"

namespace shortlist {

enum class FinishReason {
  kNone,    // still running
  kStop,    // a stop token, or the stop callback
  kLength,  // max_new_tokens, or the context is full
  kError,   // Sequence::error() says why
};

/// What speculation did for one request.
struct SequenceStats {
  int64_t num_verify_steps = 0;  // target passes after prefill
  int64_t num_step_tokens = 0;   // tokens emitted by them (correction and bonus included)
  int64_t num_drafted = 0;
  int64_t num_copied = 0;    // of these, copied from the request's text
  int64_t num_accepted = 0;  // drafted tokens that were emitted
  // Of num_step_tokens, those that the draft could have proposed: in the active vocabulary of their
  // step, in the request's tail, or among the successors of the token before. All, where the draft
  // scores the full head. The others are escapes.
  int64_t num_covered = 0;
  int64_t num_mapping_faults =
      0;                    // drafted tokens whose logit is not that of their row: a broken map
  int64_t active_rows = 0;  // rows the draft head scored for this request in a pass of its last
                            // step, at most

  /// Adds the counts of another request; active_rows becomes the larger of the two.
  void Add(const SequenceStats& other) {
    num_verify_steps += other.num_verify_steps;
    num_step_tokens += other.num_step_tokens;
    num_drafted += other.num_drafted;
    num_copied += other.num_copied;
    num_accepted += other.num_accepted;
    num_covered += other.num_covered;
    num_mapping_faults += other.num_mapping_faults;
    active_rows = std::max(active_rows, other.active_rows);
  }

  /// Drafted tokens per verify step.
  double draft_length() const { return Ratio(num_drafted, num_verify_steps); }
  double copied_length() const { return Ratio(num_copied, num_verify_steps); }
  double accept_length() const { return Ratio(num_step_tokens, num_verify_steps); }
  double acceptance_rate() const { return Ratio(num_accepted, num_drafted); }
  double coverage() const { return Ratio(num_covered, num_step_tokens); }
  int64_t num_escapes() const { return num_step_tokens - num_covered; }

 private:
  static double Ratio(int64_t a, int64_t b) { return b == 0 ? 0.0 : static_cast<double>(a) / b; }
};

/// Where an emitted token came from.
enum class TokenOrigin : uint8_t {
  kPlain,       // nothing was drafted in its step
  kAccepted,    // drafted, and the target agreed
  kCorrection,  // the target's, in place of a drafted token
  kBonus,       // the target's, after all drafted tokens were accepted
};

/// What is known of one emitted token beyond its id.
struct TokenInfo {
  TokenOrigin origin = TokenOrigin::kPlain;
  bool escape = false;  // SequenceStats::num_covered does not count it
  // Log-softmax of the target's raw logits, those of all its rows, before penalties, temperature
  // and filters. Not asked for (SamplingParams::num_logprobs): NaN and empty.
  float logprob = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::pair<TokenId, float>> top;  // likeliest first, ties by lower id
};

/// A drafter's own bookkeeping for one request; made by Drafter::NewState.
struct DrafterState {
  virtual ~DrafterState() = default;
};

/// One generation request inside the speculation loop: its tokens, its KV slots, and how they are
/// chosen. Owned by the caller of SpeculativeEngine, used by one thread at a time.
class Sequence {
 public:
  /// Called for each emitted token in order; true ends the request after this token (a stop string,
  /// say).
  using StopCallback = std::function<bool(TokenId)>;

  struct Options {
    SamplingParams sampling;
    int64_t max_tail_rows = 0;  // rows this request may add to the active vocabulary; 0: none
    bool speculates = true;     // false: no tokens are drafted for it
    StopCallback stop;          // may be empty
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
  const TokenHistory& history() const { return history_; }
  FinishReason finish_reason() const { return finish_reason_; }
  bool finished() const { return finish_reason_ != FinishReason::kNone; }
  /// True when SpeculativeEngine::Step can go on: all tokens but the last are computed and the
  /// first token of the output is there, or the request has ended.
  bool prefilled() const {
    return finished() || (num_output() > 0 && cached_len == num_tokens() - 1);
  }

  /// Appends an emitted token and decides whether the request ends with it; `context_len` bounds
  /// its length. Returns finished(). Precondition: not finished.
  bool Emit(TokenId token, int64_t context_len);

  /// Ends the request without a token, with kError.
  void Fail(absl::Status why) {
    finish_reason_ = FinishReason::kError;
    error_ = std::move(why);
  }
  /// InvalidArgument: no token was left that may be emitted; Internal: the target gave no number.
  const absl::Status& error() const { return error_; }

  // The caller's: KV slots by position. The engine writes the slots of the tokens it computes and,
  // when drafting, those right behind; it drafts fewer tokens where slots are missing.
  std::vector<int32_t> kv_slots;

  // The engine's.
  int64_t cached_len = 0;  // leading tokens whose keys and values the target's cache holds
  RequestTail tail;
  bool tail_has_prompt = false;
  std::vector<TokenInfo> token_infos;  // [num_output()]
  // Log-probabilities of the prompt's tokens behind prompt_logprobs_start, as far as they are
  // computed; nothing else is set in them.
  std::vector<TokenInfo> prompt_infos;
  std::unique_ptr<DrafterState> draft_state;
  PromptLookup lookup;                          // over tokens()
  std::array<AcceptanceForecast, 3> forecasts;  // by DraftSource
  SequenceStats stats;

 private:
  Sequence(std::vector<TokenId> prompt, Options options);

  std::vector<TokenId> tokens_;
  int64_t prompt_len_;
  Options options_;
  TokenHistory history_;
  FinishReason finish_reason_ = FinishReason::kNone;
  absl::Status error_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_SEQUENCE_H_
