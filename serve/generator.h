#ifndef SHORTLIST_SERVE_GENERATOR_H_
#define SHORTLIST_SERVE_GENERATOR_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "router/pipeline.h"
#include "router/scheduler.h"
#include "serve/http/message.h"
#include "serve/served_encoder.h"
#include "serve/shared_bans.h"
#include "serve/shared_grammar.h"
#include "serve/shared_prompt.h"
#include "text/tokenizer.h"

namespace shortlist {

class Metrics;

/// Limit for the results of one EncodeBatch, and for the texts that are read again for each input.
inline constexpr int64_t kMaxResultBytes = int64_t{256} << 20;

/// One generation as a dialect requests it. `sampling` is complete: each dialect applies its own
/// defaults.
struct GenerateRequest {
  std::shared_ptr<SharedPrompt> prompt;
  // What the dialect calls the prompt, for error messages; a string literal.
  std::string_view prompt_field = "prompt";
  // Its max_new_tokens, bans and grammar are ignored. Its stop_token_ids apply in addition to the
  // model's own.
  SamplingParams sampling;
  std::shared_ptr<SharedBans> bans;        // null: none
  std::shared_ptr<SharedGrammar> grammar;  // what the output must follow; null: nothing
  // nullopt: as many as the context has room for. 0: the prompt is computed and no output token is
  // returned.
  std::optional<int64_t> max_new_tokens;
  // true: max_new_tokens is reduced to the room left in the context.
  bool clamps_max_new_tokens = false;
  // Number of tokens kept at the end of the prompt, after the begin-of-text token of a text prompt.
  // -1: as many as leave room for max_new_tokens. nullopt: a prompt that is too long is rejected.
  std::optional<int64_t> truncate_prompt_tokens;
  bool ignore_eos = false;           // true: the model's own stop tokens do not end it
  std::vector<std::string> stop;     // stop strings; not part of the output
  int64_t stop_after = 0;            // a stop string counts only if it ends after this many tokens
  bool trims_stop = true;            // false: the stop string is part of the output
  bool skips_special_tokens = true;  // false: control tokens are written as they are spelled
  std::vector<TokenId> shown_controls;  // control tokens that are written in any case
  bool speculates = true;               // false: no tokens are drafted for it
  // TokenizedGenerateReqInput::dynamic_token_ids; null: none.
  std::shared_ptr<const std::vector<TokenId>> dynamic_token_ids;
  int32_t priority = 0;                                        // larger goes first
  double timeout_s = std::numeric_limits<double>::infinity();  // from arrival to the last token
  std::string cache_salt;  // prefixes are shared only within one salt
};

/// One output token.
struct OutputToken {
  TokenId id;
  // Text that the token added, before a stop cut it. Contains whole code points only: the bytes of
  // a code point that takes several tokens come with the last of them.
  std::string text;
  TokenInfo info;
};

/// A prompt token whose log-probability was requested.
struct PromptToken {
  TokenId id;
  TokenInfo info;  // logprob and top; the first returned token has neither
};

/// Output of one request since its last event.
struct GenerationEvent {
  size_t index = 0;  // index of the request in Start's `requests`
  // New text; never half a code point, and never part of a stop string (unless that is kept).
  std::string text;
  // New tokens, including those of a stop string and the stop token.
  std::vector<OutputToken> tokens;
  // Prompt tokens from prompt_logprobs_start on, if requested; only in the first event.
  std::vector<PromptToken> prompt;
  int64_t prompt_tokens = 0;      // constant
  int64_t cached_tokens = 0;      // of them, found in the radix cache; zero before the first token
  int64_t completion_tokens = 0;  // so far

  bool finished = false;  // true: the request's last event; only it sets the following fields
  absl::Status status;    // as BatchTokenIdOut::Row::status
  FinishReason finish_reason = FinishReason::kNone;
  std::optional<TokenId> matched_token;  // the stop token that ended the request (kStop)
  std::string matched_text;              // the stop string that ended it (kStop)
  SequenceStats stats;                   // zero if drafting was off (GenerateRequest::speculates)
  std::vector<int64_t> accepted_counts;  // [k]: steps that accepted exactly k drafted tokens
  double seconds = 0.0;                  // since Start
  double decode_seconds = 0.0;           // of `seconds`, from the first token to the last
};

/// Requests that were started together. Used on the I/O thread. The destructor aborts unfinished
/// requests: within two steps the engine holds nothing for them.
class Generation {
 public:
  virtual ~Generation() = default;

  /// Waits for new output and returns all there is for one request; requests take turns.
  /// Precondition: not finished().
  virtual boost::asio::awaitable<GenerationEvent> Next() = 0;
  /// Same as Next(), but returns nullopt if there is no output within `wait`.
  virtual boost::asio::awaitable<std::optional<GenerationEvent>> NextWithin(
      std::chrono::milliseconds wait) = 0;
  /// True if the last event of every request has been taken.
  virtual bool finished() const = 0;
};

/// Costs that the draft policy uses (draft/draft_policy.h), for the current number of running
/// requests.
struct DecodingCosts {
  static constexpr int64_t kMostRows = 64;

  double draft_pass_ms = 0.0;
  std::vector<double> verify_pass_ms;  // [k]: pass over 2^k rows, up to kMostRows
  double speed_up = 0.0;               // drafting over plain decoding; 0: not known yet
};

/// State of the engine after a step.
struct EngineLoad {
  int64_t num_running = 0;  // in prefill or decode
  int64_t num_queued = 0;   // waiting for tokenization or for admission
  // Tokens of prompts that wait for admission, including the output of retracted requests; and
  // those of them that the radix cache did not contain at the last lookup. Prompts that are not
  // tokenized yet are not counted.
  int64_t num_waiting_tokens = 0;
  int64_t num_waiting_uncached_tokens = 0;
  int64_t num_used_tokens = 0;    // KV slots that requests hold or share
  int64_t num_cached_tokens = 0;  // KV slots that only the radix cache holds
  int64_t max_total_tokens = 0;
  double new_token_ratio = 0.0;
  SchedulerStats scheduling;
  int64_t num_steps = 0;  // of the engine; also the counts and times below
  int64_t num_draft_passes = 0;
  int64_t num_resting_steps = 0;  // steps without drafting because it did not pay
  int64_t num_draft_failures = 0;
  absl::Status draft_error;  // the last reason why drafting failed
  double draft_ms = 0.0, verify_ms = 0.0;
  std::optional<DecodingCosts> costs;  // nullopt: not known yet, or drafting is off
  int64_t base_rows = 0;         // rows of the active vocabulary's base; of the full head: all rows
  int64_t num_size_changes = 0;  // changes of the base size that the engine made on its own
  std::vector<EncoderLoad> encoders;
};

/// Bridge between the coroutines of HTTP and the threads of a Pipeline. The tokenizer threads
/// render and encode prompts, the detokenizer thread makes text, events arrive on the I/O thread.
/// Call members on the I/O thread unless stated otherwise.
class Generator {
 public:
  struct Options {
    bool generates = true;  // false: only encoders are loaded, and Start fails
    std::vector<ServedEncoder> encoders;
    // Tokenizer and prompt encoder of the generating model, else of the first encoder.
    const Tokenizer* tokenizer = nullptr;           // must outlive this
    const PromptEncoder* prompt_encoder = nullptr;  // must outlive this
    std::vector<TokenId> stop_token_ids;            // the model's end-of-text tokens
    // Compiles the grammars of requests; null: they are rejected. Must outlive this.
    GrammarCompiler* grammars = nullptr;
    int64_t context_length = 0;  // longest request, prompt and output, that always fits
    int64_t max_tail_rows = 0;   // per request
    // Returns a client's own vocabulary; null: the client has none. May be empty: no client has
    // one. Called on any thread.
    std::function<DynamicVocabularyManager*(const std::string& client)> vocab_of_client;
    Pipeline::Options pipeline;
    Metrics* metrics = nullptr;  // may be null
    // The engine. Its functions are called by one thread at a time, and never two of them at once.
    Pipeline::Stepper router;
    std::function<EngineLoad()> load;
    std::function<void()> flush_cache;
  };

  /// `executor` is the I/O thread's. Destroy the Generator on that thread or after that thread has
  /// ended. Destruction aborts live requests.
  static std::unique_ptr<Generator> Create(boost::asio::any_io_executor executor, Options options);
  virtual ~Generator() = default;

  /// Starts `requests` (at least one) of `client`, all or none. `rid` is the client's name for the
  /// requests until all have ended or the Generation is destroyed; empty: none. Returns
  /// AlreadyExists if `rid` is taken, ResourceExhausted if the tokenizer queue is full,
  /// ShuttingDown after Drain, FailedPrecondition without a generating model. An error of a single
  /// request (its prompt, its length, the scheduler queue) is reported as its only event.
  virtual absl::StatusOr<std::unique_ptr<Generation>> Start(std::vector<GenerateRequest> requests,
                                                            const Client& client,
                                                            const std::string& rid) = 0;

  /// Encodes a batch of any size for `client`, in order, and waits for all results. Returns
  /// AlreadyExists, ResourceExhausted and ShuttingDown as Start() does. InvalidArgument or
  /// OutOfRange names the invalid input. Also DeadlineExceeded, Cancelled, and Internal if the
  /// model returned a value that is not finite. InvalidArgument if the results exceed
  /// kMaxResultBytes; ResourceExhausted while live batches, of this client or of all, hold too much
  /// memory. Precondition: batch.model is an index into options().encoders.
  virtual boost::asio::awaitable<absl::StatusOr<EncodedBatch>> Encode(EncodeBatch batch,
                                                                      const Client& client,
                                                                      const std::string& rid) = 0;

  /// Ends the requests that `client` started under the name `rid`; their last events report
  /// Cancelled. Returns false if there are none.
  virtual bool Abort(const Client& client, const std::string& rid) = 0;
  virtual void AbortAll() = 0;
  /// Number of AbortAll() calls. Work that is yet to be started compares it with an earlier value
  /// to detect an abort.
  virtual int64_t num_abort_alls() const = 0;

  /// From now on Start and Encode return ShuttingDown (serve/http/api_error.h).
  virtual void Drain() = 0;
  virtual bool draining() const = 0;
  /// Drains, and ends all requests; their last events report ShuttingDown in place of Cancelled.
  virtual void ShutDown() = 0;
  /// Number of requests whose last event has not come.
  virtual int64_t num_live() const = 0;

  /// State as of the last step. num_queued and waiting tokens also count requests that the engine
  /// does not have yet. Any thread.
  virtual EngineLoad Load() const = 0;
  /// Output tokens per second over the last ten seconds. Any thread.
  virtual double Throughput() const = 0;
  /// Empties the radix cache. FailedPrecondition while requests are served.
  virtual absl::Status FlushCache() = 0;

  virtual const Options& options() const = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_GENERATOR_H_
