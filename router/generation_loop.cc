#include "router/generation_loop.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "draft/drafter.h"

namespace shortlist {
namespace {

absl::Status StatusOf(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return absl::ResourceExhaustedError("out of memory");
  }
  return absl::InternalError(error.what());
}

}  // namespace

absl::StatusOr<std::unique_ptr<GenerationLoop>> GenerationLoop::Create(
    SpeculativeEngine& engine, SchedulerOptions scheduling) {
  const int64_t context_len = engine.context_len();
  if (scheduling.context_length == 0) scheduling.context_length = context_len;
  if (scheduling.context_length > context_len) {
    return absl::InvalidArgumentError(absl::StrCat("context_length ", scheduling.context_length,
                                                   " exceeds the model's of ", context_len));
  }
  if (scheduling.max_total_tokens > engine.options().num_slots) {
    return absl::InvalidArgumentError(absl::StrCat("max_total_tokens ", scheduling.max_total_tokens,
                                                   " exceeds the engine's ",
                                                   engine.options().num_slots, " KV slots"));
  }
  scheduling.context_length = std::min(scheduling.context_length, scheduling.max_total_tokens);
  const Drafter* const drafter = engine.drafter();
  scheduling.num_draft_tokens = engine.options().num_draft_tokens;
  scheduling.bigram_keys = drafter != nullptr && drafter->kv_sees_next_token();
  SHORTLIST_ASSIGN_OR_RETURN(
      std::unique_ptr<Scheduler> scheduler,
      Scheduler::Create(scheduling, [&engine](std::span<const int32_t> slots) {
        return engine.ResumableLen(slots);
      }));
  return std::unique_ptr<GenerationLoop>(new GenerationLoop(engine, std::move(scheduler)));
}

GenerationLoop::GenerationLoop(SpeculativeEngine& engine, std::unique_ptr<Scheduler> scheduler)
    : engine_(engine),
      runner_(engine, /*shares_prompts=*/!scheduler->options().disable_radix_cache),
      scheduler_(std::move(scheduler)) {}

void GenerationLoop::Add(TokenizedGenerateReqInput input, double now_s) {
  absl::Status status;
  try {
    status = AddRequest(input, now_s);
  } catch (const std::exception& error) {
    status = StatusOf(error);
  }
  if (status.ok()) return;
  out_.rows.push_back({.rid = std::move(input.rid),
                       .receiver = std::move(input.receiver),
                       .finished = true,
                       .status = std::move(status)});
}

absl::Status GenerationLoop::AddRequest(TokenizedGenerateReqInput& input, double now_s) {
  if (reqs_.contains(input.rid)) {
    return absl::AlreadyExistsError(absl::StrCat("request id ", input.rid, " is being served"));
  }
  auto req = std::make_unique<GenerateReq>();
  req->max_new_tokens = input.sampling_params.max_new_tokens;
  if (input.sampling_params.prompt_logprobs_start >= 0) {
    req->max_prefix_len = input.sampling_params.prompt_logprobs_start;
  }
  if (!(input.timeout_s >= 0.0)) {
    return absl::InvalidArgumentError(absl::StrCat("timeout_s ", input.timeout_s, " below 0"));
  }
  for (size_t i = 0; i < input.dynamic_token_ids.size(); ++i) {
    const TokenId id = input.dynamic_token_ids[i];
    // no other ids are emitted or have a draft row
    const int64_t size = engine_.options().emit_size;
    if (Raw(id) >= 0 && Raw(id) < size) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("dynamic_token_ids[", i, "]: token id ", Raw(id), " not in [0, ", size, ")"));
  }
  const int64_t num_requests =
      std::min<int64_t>(std::ssize(reqs_) + 1, scheduler_->options().max_running_requests);
  const bool speculates =
      input.speculates && engine_.DraftingPays(num_requests, std::ssize(input.input_ids),
                                               input.sampling_params.max_new_tokens);
  Sequence::Options options{.sampling = std::move(input.sampling_params),
                            .max_tail_rows = input.max_tail_rows,
                            .speculates = speculates,
                            .stop = {},
                            .cache_salt = input.cache_salt};
  if (input.stop) {
    options.stop = [stop = std::move(input.stop), req = req.get()](TokenId token) {
      try {
        return stop(token);
      } catch (const std::exception& error) {
        req->status = absl::InternalError(absl::StrCat("stop callback: ", error.what()));
        return true;
      }
    };
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      req->sequence,
      Sequence::Create(std::move(input.input_ids), std::move(options), engine_.vocab_size()));
  req->rid = input.rid;
  req->receiver = input.receiver;
  req->vocab = input.vocab;
  req->new_dynamic_tokens = std::move(input.dynamic_token_ids);
  req->input_ids = &req->sequence->tokens();
  req->prompt_len = req->num_tokens();
  req->priority = input.priority;
  req->arrival_s = now_s;
  req->deadline_s = req->arrival_s + input.timeout_s;
  // Prefixes are shared among requests that need the drafter's keys and values there, and among the
  // others.
  req->cache_salt =
      absl::StrCat(input.cache_salt, engine_.NeedsDraftedPrefix(*req->sequence) ? "+" : "-");
  req->client = std::move(input.client);

  GenerateReq& added = *req;
  const auto entry = reqs_.emplace(input.rid, std::move(req)).first;
  absl::Status status;
  try {
    status = scheduler_->Add(added);
  } catch (const std::exception& error) {
    status = StatusOf(error);
  }
  if (!status.ok()) reqs_.erase(entry);
  return status;
}

bool GenerationLoop::Abort(const std::string& rid) {
  const auto entry = reqs_.find(rid);
  if (entry == reqs_.end()) return false;
  Fail(*entry->second, absl::CancelledError("aborted"));
  return true;
}

void GenerationLoop::FailOverdue(double now_s) {
  std::vector<GenerateReq*> overdue;
  for (const auto& [rid, req] : reqs_) {
    if (req->deadline_s <= now_s) overdue.push_back(req.get());
  }
  for (GenerateReq* req : overdue) {
    Fail(*req, absl::DeadlineExceededError(absl::StrCat(
                   "not finished ", req->deadline_s - req->arrival_s, " s after its arrival")));
  }
}

void GenerationLoop::Step(double now_s) {
  try {
    FailOverdue(now_s);
    const Batch batch = GetNewPrefillBatch(now_s);
    RunBatch(batch);
    if (scheduler_->DecodeIsDue(!batch.IsEmpty())) RunBatch(scheduler_->PrepareDecode());
  } catch (const std::bad_alloc&) {
    // Nothing was being computed. Waiting requests keep waiting.
  }
}

/// Lets the engine know the prefixes of all requests that were just admitted, before a pass can
/// evict what they go on from. Fails those for which memory does not suffice; returns false then.
bool GenerationLoop::AdoptPrefixes() {
  std::vector<GenerateReq*> failed;
  std::vector<TokenId> rows;
  for (Req* req : scheduler_->prefilling()) {
    GenerateReq& admitted = AsGenerate(req);
    if (admitted.retractions_seen == admitted.num_retractions) continue;
    try {
      rows.clear();
      scheduler_->cache().AppendRows(admitted.last_node, rows);
      engine_.AdoptPrefix(*admitted.sequence,
                          std::span(admitted.kv_slots).first(admitted.prefix_len), rows);
      admitted.retractions_seen = admitted.num_retractions;
    } catch (const std::bad_alloc&) {
      failed.push_back(&admitted);
    }
  }
  for (GenerateReq* req : failed) {
    Fail(*req, absl::ResourceExhaustedError("out of memory for the state of another request"));
  }
  return failed.empty();
}

Batch GenerationLoop::GetNewPrefillBatch(double now_s) {
  Batch batch = scheduler_->GetNewPrefillBatch(now_s);
  return AdoptPrefixes() ? batch : Batch();
}

/// Runs one pass and handles its results. If the pass fails, all of its requests fail.
void GenerationLoop::RunBatch(const Batch& batch) {
  if (batch.IsEmpty()) return;
  // an exception here has no effect on the requests
  out_.rows.reserve(out_.rows.size() + 2 * batch.reqs.size());
  const absl::StatusOr<std::span<const StepResult>> results = runner_.Forward(batch);
  for (size_t i = 0; i < batch.reqs.size(); ++i) {
    GenerateReq& computed = AsGenerate(batch.reqs[i]);
    if (!results.ok()) {
      Fail(computed, results.status());
      continue;
    }
    try {
      HandleResult(computed, (*results)[i]);
    } catch (const std::exception& error) {
      Fail(computed, StatusOf(error));
    }
  }
  HandleFinishedRequests();
}

/// Applies the result of a pass for one request.
void GenerationLoop::HandleResult(GenerateReq& req, const StepResult& result) {
  const Sequence& sequence = *req.sequence;
  const std::span<const TokenId> news = sequence.output().last(result.num_emitted);
  const int64_t shareable_len = std::max(result.shareable_len, req.prefix_len);
  const bool ends = sequence.finished() || !req.status.ok();
  const std::span<const TokenInfo> infos = std::span(sequence.token_infos).last(news.size());
  BatchTokenIdOut::Row row{.rid = req.rid,
                           .receiver = req.receiver,
                           .token_ids = {news.begin(), news.end()},
                           .token_infos = {infos.begin(), infos.end()},
                           .cached_tokens = req.num_hit_tokens};
  if (req.num_sent == 0 && result.num_emitted > 0) row.prompt_infos = sequence.prompt_infos;
  out_.rows.reserve(out_.rows.size() + 1);
  finished_.reserve(finished_.size() + 1);
  const bool was_running = req.state == Req::State::kRunning;
  scheduler_->Computed(req, result.cached_len, shareable_len);
  if (!was_running && req.state == Req::State::kRunning) DiscoverContinuations(req);
  if (!row.token_ids.empty()) {
    out_.rows.push_back(std::move(row));
    req.num_sent += result.num_emitted;
  }
  if (ends) finished_.push_back(&req);
}

/// The prompt is in the tree now. Tokens that followed it in other requests may follow again.
void GenerationLoop::DiscoverContinuations(GenerateReq& req) {
  const int64_t max_tokens = engine_.num_continuations(*req.sequence);
  if (max_tokens == 0) return;
  try {
    const RadixCache& cache = scheduler_->cache();
    const std::span<const TokenId> prompt = std::span(*req.input_ids).first(req.prompt_len);
    std::vector<TokenId> tokens;
    cache.AppendContinuations(cache.MatchPrefix(req.root, prompt), max_tokens, tokens);
    engine_.AddContinuations(*req.sequence, std::move(tokens));
  } catch (const std::bad_alloc&) {
    // Guesses are optional; ignore the failure.
  }
}

void GenerationLoop::HandleFinishedRequests() {
  for (GenerateReq* req : std::exchange(finished_, {})) {
    try {
      HandleFinished(*req);
    } catch (const std::exception& error) {
      Fail(*req, StatusOf(error));
    }
  }
}

void GenerationLoop::HandleFinished(GenerateReq& req) {
  const Sequence& sequence = *req.sequence;
  if (!req.status.ok()) return Fail(req, req.status);
  if (sequence.finish_reason() == FinishReason::kError) return Fail(req, sequence.error());
  req.rows = engine_.TailRows(sequence);
  out_.rows.push_back({.rid = req.rid,
                       .receiver = req.receiver,
                       .cached_tokens = req.num_hit_tokens,
                       .finished = true,
                       .finish_reason = sequence.finish_reason(),
                       .prompt_tokens = req.prompt_len,
                       .completion_tokens = req.num_sent,
                       .stats = sequence.stats});
  const bool shares = !scheduler_->options().disable_radix_cache;
  const int64_t shared_len = shares ? std::min(req.shareable_len, sequence.cached_len) : 0;
  try {
    engine_.End(*req.sequence, std::span<const int32_t>(req.kv_slots).first(shared_len));
  } catch (const std::bad_alloc&) {
    // The request has its terminal row. Others compute what it does not leave behind.
  }
  scheduler_->Finish(req);
  reqs_.erase(reqs_.find(req.rid));
}

void GenerationLoop::Fail(GenerateReq& req, absl::Status status) {
  scheduler_->Drop(req);
  out_.rows.push_back({.rid = req.rid,
                       .receiver = req.receiver,
                       .cached_tokens = req.num_hit_tokens,
                       .finished = true,
                       .status = std::move(status),
                       .prompt_tokens = req.prompt_len,
                       .completion_tokens = req.num_sent,
                       .stats = req.sequence->stats});
  reqs_.erase(reqs_.find(req.rid));
}

}  // namespace shortlist
