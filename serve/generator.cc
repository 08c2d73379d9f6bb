#include "serve/generator.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "serve/http/api_error.h"
#include "serve/live_encoding.h"
#include "serve/live_request.h"
#include "serve/metrics.h"
#include "serve/output_text.h"
#include "serve/token_rate.h"

namespace shortlist {

namespace asio = boost::asio;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMaxTruncatedContexts = 8;  // longest prompt encoded for truncation, in contexts

double SecondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// Returns a request's name, unique among all clients; empty: it has none.
std::string NameOf(const Client& client, const std::string& rid) {
  return rid.empty() ? "" : absl::StrCat(client.name.size(), ":", client.name, rid);
}

/// Returns the prompt tokens to report. All but the first have an entry in `infos`.
std::vector<PromptToken> PromptTokens(const LiveRequest& live, std::vector<TokenInfo> infos) {
  std::vector<PromptToken> tokens;
  if (live.scored_ids.empty()) return tokens;
  SHORTLIST_CHECK(infos.size() + 1 == live.scored_ids.size());
  tokens.push_back({live.scored_ids[0], TokenInfo()});
  for (size_t i = 0; i < infos.size(); ++i) {
    tokens.push_back({live.scored_ids[i + 1], std::move(infos[i])});
  }
  return tokens;
}

/// Drops tokens at the beginning as `request` asks, except the begin-of-text token of a text
/// prompt.
void Truncate(const GenerateRequest& request, int64_t context_len, std::optional<TokenId> bos,
              std::vector<TokenId>& ids) {
  if (!request.truncate_prompt_tokens.has_value()) return;
  const int64_t most = *request.truncate_prompt_tokens > 0
                           ? *request.truncate_prompt_tokens
                           : context_len - std::max<int64_t>(request.max_new_tokens.value_or(1), 1);
  const int64_t excess = std::ssize(ids) - std::max<int64_t>(most, 1);
  if (excess <= 0) return;
  const bool keeps_bos = request.prompt->is_text() && ids.front() == bos;
  const auto begin = ids.begin() + (keeps_bos ? 1 : 0);
  ids.erase(begin, begin + excess);
}

/// The result of one chunk of an EncodeBatch.
struct EncodedChunk {
  std::shared_ptr<LiveChunk> live;
  absl::Status status;
  std::vector<EncodeResult> results;
};

class GeneratorImpl final : public Generator {
 public:
  GeneratorImpl(asio::any_io_executor executor, Options options)
      : executor_(std::move(executor)),
        options_(std::move(options)),
        load_(options_.load()),
        pipeline_(
            {[this](std::vector<RouterMessage> messages) { return Step(std::move(messages)); },
             options_.router.idle},
            [this](BatchTokenIdOut out) { Detokenize(std::move(out)); }, options_.pipeline) {
    registry_->pipeline = &pipeline_;
  }
  ~GeneratorImpl() override { registry_->pipeline = nullptr; }

  absl::StatusOr<std::unique_ptr<Generation>> Start(std::vector<GenerateRequest> requests,
                                                    const Client& client,
                                                    const std::string& rid) override;
  asio::awaitable<absl::StatusOr<EncodedBatch>> Encode(EncodeBatch batch, const Client& client,
                                                       const std::string& rid) override;

  bool Abort(const Client& client, const std::string& rid) override {
    const auto named = registry_->by_name.find(NameOf(client, rid));
    if (named == registry_->by_name.end()) return false;
    named->second->Abort();
    return true;
  }

  void AbortAll() override {
    ++registry_->num_abort_alls;
    pipeline_.AbortAll();
  }

  int64_t num_abort_alls() const override { return registry_->num_abort_alls; }

  void Drain() override { draining_ = true; }
  bool draining() const override { return draining_; }
  void ShutDown() override {
    Drain();
    shut_down_ = true;
    AbortAll();
  }
  int64_t num_live() const override { return registry_->num_live; }

  EngineLoad Load() const override;
  double Throughput() const override { return rate_.PerSecond(); }
  absl::Status FlushCache() override;
  const Options& options() const override { return options_; }

 private:
  absl::Status CheckStart(const std::string& name, const std::string& rid) const;
  absl::StatusOr<TokenizedGenerateReqInput> Tokenize(GenerateRequest& request, LiveRequest& live);
  BatchTokenIdOut Step(std::vector<RouterMessage> messages);
  void Detokenize(BatchTokenIdOut out);
  GenerationEvent ToEvent(BatchTokenIdOut::Row& row, LiveRequest& live, Clock::time_point now);
  /// True if ShutDown ended the request.
  bool IsCutShort(const absl::Status& status) const {
    return shut_down_ && absl::IsCancelled(status);
  }
  void SetPending(LiveRequest& live, int64_t num_tokens);
  void StoreLoad(const std::vector<LiveRequest*>& arrived);

  const asio::any_io_executor executor_;
  const Options options_;
  const std::shared_ptr<LiveRegistry> registry_ = std::make_shared<LiveRegistry>();
  bool draining_ = false;
  std::atomic<bool> shut_down_ = false;  // also read by the detokenizer thread

  std::mutex router_mutex_;  // held during a step, and by other users of the engine
  mutable std::mutex load_mutex_;
  EngineLoad load_;
  int64_t num_pending_tokens_ = 0;  // of all requests; guarded by load_mutex_
  TokenRate rate_;

  Pipeline pipeline_;  // last: its threads use the members above
};

/// Runs on a tokenizer thread.
absl::StatusOr<TokenizedGenerateReqInput> GeneratorImpl::Tokenize(GenerateRequest& request,
                                                                  LiveRequest& live) {
  TokenizedGenerateReqInput input;
  const int64_t context_len = options_.context_length;
  // Keeping the end of a text requires encoding all of it, so bound its length.
  const int64_t longest =
      (request.truncate_prompt_tokens ? kMaxTruncatedContexts : 1) * context_len;
  const auto& ids = request.prompt->Encode(*options_.prompt_encoder, longest);
  if (absl::IsOutOfRange(ids.status()) && request.truncate_prompt_tokens) {
    const absl::Status status = absl::InvalidArgumentError(
        absl::StrCat("truncate_prompt_tokens: the prompt has more than ", longest, " tokens, ",
                     kMaxTruncatedContexts, " contexts, and no more are encoded to keep its end"));
    return WithCode(WithParam(status, request.prompt_field), kContextLengthExceeded);
  }
  if (absl::IsOutOfRange(ids.status())) {
    return ContextLengthExceeded(context_len, request.prompt_field, std::nullopt,
                                 std::max<int64_t>(request.max_new_tokens.value_or(1), 1));
  }
  SHORTLIST_ASSIGN_OR_RETURN(input.input_ids, ids);
  Truncate(request, context_len, options_.tokenizer->bos(), input.input_ids);
  request.prompt.reset();
  if (request.bans != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(request.sampling.bans, request.bans->Encode(*options_.tokenizer));
    request.bans.reset();
  }
  if (request.grammar != nullptr) {
    if (options_.grammars == nullptr) {
      return absl::InvalidArgumentError(
          "the output of this model cannot follow a grammar: its tokenizer changes spaces when it "
          "decodes");
    }
    SHORTLIST_ASSIGN_OR_RETURN(request.sampling.grammar,
                               request.grammar->Compile(*options_.grammars, request.cache_salt));
    request.grammar.reset();
  }
  live.prompt_tokens = std::ssize(input.input_ids);
  if (const int64_t start = request.sampling.prompt_logprobs_start; start >= 0) {
    if (start >= live.prompt_tokens) {
      return WithParam(absl::InvalidArgumentError(absl::StrCat("logprob_start_len ", start,
                                                               " not below the prompt's ",
                                                               live.prompt_tokens, " tokens")),
                       "logprob_start_len");
    }
    live.scored_ids.assign(input.input_ids.begin() + start, input.input_ids.end());
  }
  const int64_t room = context_len - live.prompt_tokens;
  const int64_t most = std::max<int64_t>(room, 1);
  int64_t max_new_tokens = request.max_new_tokens.value_or(most);
  if (request.clamps_max_new_tokens) max_new_tokens = std::min(max_new_tokens, most);
  if (max_new_tokens == 0) {
    // An engine request always generates; the one token comes from the pass that computes the
    // prompt.
    max_new_tokens = 1;
    live.tells_output = false;
  }
  if (max_new_tokens > room) {
    return ContextLengthExceeded(context_len, request.prompt_field, live.prompt_tokens,
                                 max_new_tokens);
  }
  SamplingParams& sampling = request.sampling;
  sampling.max_new_tokens = max_new_tokens;
  if (!request.ignore_eos) {
    sampling.stop_token_ids.insert(sampling.stop_token_ids.end(), options_.stop_token_ids.begin(),
                                   options_.stop_token_ids.end());
  }
  OutputText::Options text{.stop = std::move(request.stop),
                           .stop_after = request.stop_after,
                           .stop_token_ids = sampling.stop_token_ids,
                           .trims_stop = request.trims_stop,
                           .skips_special_tokens = request.skips_special_tokens,
                           .shown_controls = std::move(request.shown_controls)};
  if (!text.stop.empty()) {
    // The router thread must detect stops at once, so it has a detokenizer of its own.
    auto own = std::make_shared<OutputText>(*options_.tokenizer, text);
    input.stop = [own](TokenId id) {
      std::string ignored;
      own->Append(id, ignored);
      return own->ended();
    };
  }
  live.text = std::make_unique<OutputText>(*options_.tokenizer, std::move(text));
  input.sampling_params = std::move(sampling);
  input.max_tail_rows = options_.max_tail_rows;
  input.speculates = live.speculates = request.speculates;
  if (request.dynamic_token_ids != nullptr) input.dynamic_token_ids = *request.dynamic_token_ids;
  if (options_.vocab_of_client) input.vocab = options_.vocab_of_client(live.client);
  input.priority = request.priority;
  input.timeout_s = request.timeout_s;
  input.cache_salt = std::move(request.cache_salt);
  input.client = live.client;
  SetPending(live, live.prompt_tokens);
  return input;
}

EngineLoad GeneratorImpl::Load() const {
  const int64_t num_live = registry_->num_live;
  const std::lock_guard lock(load_mutex_);
  EngineLoad load = load_;
  load.num_queued = std::max(load.num_queued, num_live - load.num_running);
  load.num_waiting_tokens += num_pending_tokens_;
  load.num_waiting_uncached_tokens += num_pending_tokens_;
  return load;
}

void GeneratorImpl::SetPending(LiveRequest& live, int64_t num_tokens) {
  const std::lock_guard lock(load_mutex_);
  num_pending_tokens_ += num_tokens - std::exchange(live.num_pending_tokens, num_tokens);
}

/// Stores the engine's load. It now includes the requests of `arrived`.
void GeneratorImpl::StoreLoad(const std::vector<LiveRequest*>& arrived) {
  const EngineLoad load = options_.load();
  const std::lock_guard lock(load_mutex_);
  load_ = load;
  for (LiveRequest* live : arrived) {
    num_pending_tokens_ -= std::exchange(live->num_pending_tokens, 0);
  }
}

absl::Status GeneratorImpl::CheckStart(const std::string& name, const std::string& rid) const {
  if (draining_) return ShuttingDown();
  if (!registry_->by_name.contains(name)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("Duplicate request ID: ", rid));
}

absl::StatusOr<std::unique_ptr<Generation>> GeneratorImpl::Start(
    std::vector<GenerateRequest> requests, const Client& client, const std::string& rid) {
  SHORTLIST_CHECK(!requests.empty());
  if (!options_.generates) {
    return absl::FailedPreconditionError(
        "no model that generates text is loaded: give one with --model");
  }
  std::string name = NameOf(client, rid);
  SHORTLIST_RETURN_IF_ERROR(CheckStart(name, rid));
  auto generation = std::make_unique<LiveGeneration>(executor_, registry_, std::move(name));
  for (size_t i = 0; i < requests.size(); ++i) {
    auto live = std::make_shared<LiveRequest>();
    live->client = client.name;
    live->index = i;
    live->start = Clock::now();
    generation->Add(live);
    auto request = std::make_shared<GenerateRequest>(std::move(requests[i]));
    if (!client.cache_salt.empty()) {
      request->cache_salt = absl::StrCat(client.cache_salt, ":", request->cache_salt);
    }
    const Pipeline::Pace pace =
        request->grammar == nullptr ? Pipeline::Pace::kQuick : Pipeline::Pace::kMayBeSlow;
    const absl::Status status = pipeline_.Submit(
        live, client.name, [this, live, request] { return Tokenize(*request, *live); }, pace);
    // The destructor of `generation` aborts those that were started.
    if (!status.ok()) return status;
    ++registry_->num_live;
  }
  return generation;
}

asio::awaitable<absl::StatusOr<EncodedBatch>> GeneratorImpl::Encode(EncodeBatch batch,
                                                                    const Client& client,
                                                                    const std::string& rid) {
  SHORTLIST_CHECK(!batch.inputs.empty() && batch.model < options_.encoders.size());
  const ServedEncoder& encoder = options_.encoders[batch.model];
  std::string name = NameOf(client, rid);
  absl::Status status = CheckStart(name, rid);
  if (!status.ok()) co_return status;
  status = CheckBatchSize(encoder, batch);
  if (!status.ok()) co_return status;
  absl::StatusOr<ResultBytes> held = ResultBytes::Hold(registry_, client.name, encoder, batch);
  if (!held.ok()) co_return held.status();
  LiveEncoding encoding(executor_, registry_, std::move(name), encoder, std::move(batch),
                        client.name);
  auto running = encoding.Run();
  absl::StatusOr<EncodedBatch> encoded = co_await std::move(running);
  if (options_.metrics != nullptr) options_.metrics->OnEncoded(encoder.name, encoded);
  if (IsCutShort(encoded.status())) co_return ShuttingDown();
  co_return std::move(encoded);
}

/// Runs on the router thread.
BatchTokenIdOut GeneratorImpl::Step(std::vector<RouterMessage> messages) {
  const std::lock_guard lock(router_mutex_);
  std::vector<LiveRequest*> arriving;  // the pipeline owns these until their last rows
  for (const RouterMessage& message : messages) {
    const auto* input = std::get_if<TokenizedGenerateReqInput>(&message);
    if (input != nullptr) arriving.push_back(static_cast<LiveRequest*>(input->receiver.get()));
  }
  BatchTokenIdOut out = options_.router.exposed_step(std::move(messages));
  StoreLoad(arriving);
  return out;
}

absl::Status GeneratorImpl::FlushCache() {
  const std::unique_lock lock(router_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || num_live() > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the cache is not flushed while ",
                     Counted(num_live(), "request is", "requests are"), " being served"));
  }
  options_.flush_cache();
  StoreLoad({});
  return absl::OkStatus();
}

/// Runs on the detokenizer thread.
void GeneratorImpl::Detokenize(BatchTokenIdOut out) {
  std::vector<std::pair<std::shared_ptr<LiveRequest>, GenerationEvent>> events;
  std::vector<EncodedChunk> chunks;
  const Clock::time_point now = Clock::now();
  for (BatchTokenIdOut::Row& row : out.rows) {
    if (auto chunk = std::dynamic_pointer_cast<LiveChunk>(row.receiver)) {
      chunks.push_back({std::move(chunk), std::move(row.status), std::move(row.results)});
      continue;
    }
    auto live = std::static_pointer_cast<LiveRequest>(std::move(row.receiver));
    // The request may have ended before it reached the engine.
    if (row.finished) SetPending(*live, 0);
    GenerationEvent event = ToEvent(row, *live, now);
    events.emplace_back(std::move(live), std::move(event));
  }
  asio::post(executor_, [registry = registry_, events = std::move(events),
                         chunks = std::move(chunks)]() mutable {
    for (auto& [live, event] : events) Deliver(*registry, *live, std::move(event));
    for (EncodedChunk& chunk : chunks) {
      Deliver(*registry, *chunk.live, std::move(chunk.status), std::move(chunk.results));
    }
  });
}

GenerationEvent GeneratorImpl::ToEvent(BatchTokenIdOut::Row& row, LiveRequest& live,
                                       Clock::time_point now) {
  GenerationEvent event{.index = live.index, .prompt_tokens = live.prompt_tokens};
  if (!row.token_ids.empty() && live.completion_tokens == 0) {
    event.prompt = PromptTokens(live, std::move(row.prompt_infos));
  }
  if (!live.tells_output) row.token_ids.clear();
  int64_t num_accepted = 0;
  for (size_t i = 0; i < row.token_ids.size(); ++i) {
    TokenInfo& info = row.token_infos[i];
    if (WasAccepted(info.origin)) ++num_accepted;
    std::string piece = live.text->Append(row.token_ids[i], event.text);
    event.tokens.push_back({row.token_ids[i], std::move(piece), std::move(info)});
  }
  const int64_t num_tokens = std::ssize(row.token_ids);
  live.completion_tokens += num_tokens;
  event.completion_tokens = live.completion_tokens;
  event.cached_tokens = row.cached_tokens;
  if (num_tokens > 0) {
    rate_.Add(num_tokens);
    const bool is_first = live.completion_tokens == num_tokens;
    if (is_first) live.first_step = now;
    if (!is_first) {
      live.accepted_counts.resize(std::max<size_t>(live.accepted_counts.size(), num_accepted + 1));
      ++live.accepted_counts[num_accepted];
    }
    if (options_.metrics != nullptr && is_first) {
      options_.metrics->OnFirstToken(SecondsBetween(live.start, now));
    } else if (options_.metrics != nullptr) {
      options_.metrics->OnStep(SecondsBetween(live.last_step, now), num_tokens);
    }
    live.last_step = now;
  }
  if (!row.finished) return event;
  event.finished = true;
  event.status = std::move(row.status);
  if (absl::IsOutOfRange(event.status)) {
    event.status = WithCode(std::move(event.status), kContextLengthExceeded);
  }
  event.finish_reason = live.tells_output ? row.finish_reason : FinishReason::kLength;
  if (live.speculates) {
    event.stats = row.stats;
    event.accepted_counts = std::move(live.accepted_counts);
  }
  event.seconds = SecondsBetween(live.start, now);
  event.decode_seconds = SecondsBetween(live.first_step, live.last_step);
  if (live.text != nullptr) {
    live.text->Finish(event.text);
    event.matched_token = live.text->matched_token();
    event.matched_text = live.text->matched_text();
  }
  if (options_.metrics != nullptr) options_.metrics->OnFinished(event);
  if (IsCutShort(event.status)) event.status = ShuttingDown();
  return event;
}

}  // namespace

std::unique_ptr<Generator> Generator::Create(asio::any_io_executor executor, Options options) {
  return std::make_unique<GeneratorImpl>(std::move(executor), std::move(options));
}

}  // namespace shortlist
