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
#include "serve/shared_prompt.h"
#include "text/tokenizer.h"

namespace shortlist {

class Metrics;

/// Of the results of one EncodeBatch, and of texts that are read again for each of its inputs.
inline constexpr int64_t kMaxResultBytes = int64_t{256} << 20;

/// One generation as a dialect asks for it. Sampling is complete: dialects bring their own
/// defaults.
struct GenerateRequest {
  std::shared_ptr<SharedPrompt> prompt;
  std::string_view prompt_field = "prompt";  // what the dialect calls it, for errors; a literal
  SamplingParams sampling;  // its max_new_tokens and bans are not read; stop_token_ids beside the
                            // model's own
  std::shared_ptr<SharedBans> bans;       // null: none
  std::optional<int64_t> max_new_tokens;  // nullopt: as many as the context has room for; 0: the
                                          // prompt is computed, and what follows is not told
  bool clamps_max_new_tokens = false;     // true: where the context has less room, that much
  // How many tokens are kept of the end of the prompt, behind the begin-of-text token that a text
  // gets; -1: as many as leave room for max_new_tokens. nullopt: a prompt that is too long is
  // refused.
  std::optional<int64_t> truncate_prompt_tokens;
  bool ignore_eos = false;           // the model's own stop tokens do not end it
  std::vector<std::string> stop;     // texts that end it; not part of the output
  int64_t stop_after = 0;            // such a text counts that ends behind so many tokens
  bool trims_stop = true;            // false: the stop text is part of the output
  bool skips_special_tokens = true;  // false: control tokens are written as they are spelled
  bool speculates = true;            // false: no tokens are drafted for it
  // TokenizedGenerateReqInput's; null: none.
  std::shared_ptr<const std::vector<TokenId>> dynamic_token_ids;
  int32_t priority = 0;                                        // larger goes first
  double timeout_s = std::numeric_limits<double>::infinity();  // from arrival to the last token
  std::string cache_salt;  // prefixes are shared inside one salt only
};

/// One output token.
struct OutputToken {
  TokenId id;
  std::string text;  // what it added to the text, before a stop cut it; whole code points, so the
                     // bytes of one that takes several tokens come with the last of these
  TokenInfo info;
};

/// A prompt's token whose log-probability was asked for.
struct PromptToken {
  TokenId id;
  TokenInfo info;  // logprob and top; of the first token that is told, neither
};

/// What came of one request since its last event.
struct GenerationEvent {
  size_t index = 0;  // of the request, as given to Start
  std::string text;  // new; never half a code point, never part of a stop text (unless it is kept)
  std::vector<OutputToken> tokens;  // new; those of a stop text and the stop token are among them
  // Those from prompt_logprobs_start on, where that is asked for; in the first event only.
  std::vector<PromptToken> prompt;
  int64_t prompt_tokens = 0;      // constant
  int64_t completion_tokens = 0;  // so far

  bool finished = false;  // the last event of this request; the following are set in it only
  absl::Status status;    // BatchTokenIdOut::Row's
  FinishReason finish_reason = FinishReason::kNone;
  std::optional<TokenId> matched_token;  // what ended it with kStop: a stop token,
  std::string matched_text;              // or a stop text
  int64_t cached_tokens = 0;
  SequenceStats stats;  // zero where nothing was to be drafted (GenerateRequest::speculates)
  std::vector<int64_t> accepted_counts;  // [k]: steps that accepted exactly k drafted tokens
  double seconds = 0.0;                  // since Start
  double decode_seconds = 0.0;           // of these, from the first token to the last
};

/// Requests that were started together. Used on the I/O thread. Its destruction aborts what is not
/// finished: within two steps the engine holds nothing for it.
class Generation {
 public:
  virtual ~Generation() = default;

  /// Waits for something to tell, and tells all there is of one request, requests by turns.
  /// Precondition: not finished().
  virtual boost::asio::awaitable<GenerationEvent> Next() = 0;
  /// The same, but nullopt when there is nothing for `wait`.
  virtual boost::asio::awaitable<std::optional<GenerationEvent>> NextWithin(
      std::chrono::milliseconds wait) = 0;
  /// The last event of every request has been taken.
  virtual bool finished() const = 0;
};

/// What the draft policy goes by (draft/draft_policy.h), with as many requests as run now.
struct DecodingCosts {
  static constexpr int64_t kMostRows = 64;

  double draft_pass_ms = 0.0;
  std::vector<double> verify_pass_ms;  // over 1, 2, 4 .. kMostRows rows
  double speed_up = 0.0;               // of drafting over plain decoding; 0: not known yet
};

/// The engine after a step.
struct EngineLoad {
  int64_t num_running = 0;  // being filled or decoded
  int64_t num_queued = 0;   // waiting, to be encoded or for admission
  // Of prompts that wait for admission, output of retracted requests included; of these, what the
  // radix cache did not hold when it was last asked. Those that are not encoded yet are not known.
  int64_t num_waiting_tokens = 0;
  int64_t num_waiting_uncached_tokens = 0;
  int64_t num_used_tokens = 0;    // KV slots that requests hold or share
  int64_t num_cached_tokens = 0;  // KV slots that the radix cache alone holds
  int64_t max_total_tokens = 0;
  double new_token_ratio = 0.0;
  SchedulerStats scheduling;
  int64_t num_steps = 0;  // of the engine, and what it spent on them
  int64_t num_draft_passes = 0;
  int64_t num_resting_steps = 0;  // that drafted nothing, since it did not pay
  int64_t num_draft_failures = 0;
  absl::Status draft_error;  // why drafting failed last
  double draft_ms = 0.0, verify_ms = 0.0;
  std::optional<DecodingCosts> costs;  // null: not known yet, or nothing is drafted
  int64_t base_rows = 0;               // of the active vocabulary; all rows of the full head
  int64_t num_size_changes = 0;        // that it made by itself
  std::vector<EncoderLoad> encoders;
};

/// The bridge between HTTP's coroutines and the threads of a Pipeline: prompts are rendered and
/// encoded by the tokenizer threads, text is made by the detokenizer thread, events arrive on the
/// I/O thread. Members without a note are called on the I/O thread.
class Generator {
 public:
  struct Options {
    bool generates = true;  // false: there are encoders alone, and Start refuses
    std::vector<ServedEncoder> encoders;
    // Of the generating model, else of the first encoder.
    const Tokenizer* tokenizer = nullptr;           // must outlive this
    const PromptEncoder* prompt_encoder = nullptr;  // likewise
    std::vector<TokenId> stop_token_ids;            // the model's end of text
    int64_t context_length = 0;  // longest request, prompt and output, that always fits
    int64_t max_tail_rows = 0;   // of each request
    // The vocabulary of a client's own; empty, or null: it has none. Any thread.
    std::function<DynamicVocabularyManager*(const std::string& client)> vocab_of_client;
    Pipeline::Options pipeline;
    Metrics* metrics = nullptr;  // may be null
    // The engine; called by one thread at a time, never two of them at once.
    Pipeline::Stepper router;
    std::function<EngineLoad()> load;
    std::function<void()> flush_cache;
  };

  /// `executor` is the I/O thread's. Destroy on that thread or when it has ended; requests that are
  /// still served are aborted.
  static std::unique_ptr<Generator> Create(boost::asio::any_io_executor executor, Options options);
  virtual ~Generator() = default;

  /// Starts `requests` (at least one) of `client`, all or none. `rid`: the client's name for them,
  /// until all have ended or the Generation goes, empty for none; AlreadyExists when it is taken.
  /// ResourceExhausted when the queue of the tokenizers has no room for it, ShuttingDown
  /// behind Drain. What is wrong with a request itself (its prompt, its length, the
  /// queue of the scheduler) comes as its only event.
  virtual absl::StatusOr<std::unique_ptr<Generation>> Start(std::vector<GenerateRequest> requests,
                                                            const Client& client,
                                                            const std::string& rid) = 0;

  /// Encodes a batch of any size for `client`, in order; waits for all of it. Errors: those of
  /// Start; InvalidArgument or OutOfRange names the input that is wrong, DeadlineExceeded,
  /// Cancelled; Internal where the model gave nothing usable. InvalidArgument for results that are
  /// larger than what is held for one request (kMaxResultBytes), ResourceExhausted while all
  /// requests together hold too much. Precondition: batch.model is an index into
  /// options().encoders.
  virtual boost::asio::awaitable<absl::StatusOr<EncodedBatch>> Encode(EncodeBatch batch,
                                                                      const Client& client,
                                                                      const std::string& rid) = 0;

  /// Ends the requests of this name that `client` started; their last events tell Cancelled. False
  /// when there are none.
  virtual bool Abort(const Client& client, const std::string& rid) = 0;
  virtual void AbortAll() = 0;
  /// How often that was called: what waits to be started somewhere goes by it.
  virtual int64_t num_abort_alls() const = 0;

  /// Starts nothing any more: ShuttingDown (serve/http/api_error.h).
  virtual void Drain() = 0;
  virtual bool draining() const = 0;
  /// Drains, and ends all requests: in place of Cancelled they tell ShuttingDown.
  virtual void ShutDown() = 0;
  /// Requests without their last event.
  virtual int64_t num_live() const = 0;

  /// As of the last step, but for waiting tokens: as of now. Any thread.
  virtual EngineLoad Load() const = 0;
  /// Output tokens a second over the last ten seconds. Any thread.
  virtual double Throughput() const = 0;
  /// Empties the radix cache. FailedPrecondition while requests are served.
  virtual absl::Status FlushCache() = 0;

  virtual const Options& options() const = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_GENERATOR_H_
