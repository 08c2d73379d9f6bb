#include "router/scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/turn_queue.h"

namespace shortlist {
namespace {

// Expected share of the tokens that a request may still generate. It falls with every decode pass
// without a retraction and rises with one that needs a retraction, as SGLang's new_token_ratio.
constexpr double kFirstRatio = 0.7;
constexpr double kLeastRatio = 0.1;
constexpr double kRatioDecay = (kFirstRatio - kLeastRatio) / 600;
constexpr int64_t kHeadroomAfterRetraction = 20;  // tokens per request

absl::Status CheckRange(absl::string_view name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " ", value, " not in [", least, ", ", most, "]"));
}

/// True if `a` is retracted before `b`.
bool GoesBefore(const Req& a, const Req& b) {
  if (a.account->num_active != b.account->num_active) {
    return a.account->num_active > b.account->num_active;
  }
  if (a.priority != b.priority) return a.priority < b.priority;
  return a.arrival_number > b.arrival_number;
}

}  // namespace

absl::Status SchedulerOptions::Validate() const {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int64_t kMostRequests = 1 << 20;
  constexpr int64_t kMostSlots = 1 << 28;  // about 10 bytes of bookkeeping each
  SHORTLIST_RETURN_IF_ERROR(CheckRange("max_total_tokens", max_total_tokens, 1, kMostSlots));
  SHORTLIST_RETURN_IF_ERROR(CheckRange("context_length", context_length, 1, kMost));
  SHORTLIST_RETURN_IF_ERROR(CheckRange("max_prefill_tokens", max_prefill_tokens, 1, kMost));
  SHORTLIST_RETURN_IF_ERROR(CheckRange("chunked_prefill_size", chunked_prefill_size, 0, kMost));
  SHORTLIST_RETURN_IF_ERROR(
      CheckRange("max_running_requests", max_running_requests, 1, kMostRequests));
  SHORTLIST_RETURN_IF_ERROR(
      CheckRange("max_queued_requests", max_queued_requests, 1, kMostRequests));
  SHORTLIST_RETURN_IF_ERROR(CheckRange("max_prefill_passes", max_prefill_passes, 1, kMost));
  SHORTLIST_RETURN_IF_ERROR(CheckRange("num_draft_tokens", num_draft_tokens, 0, kMost));
  if (!(max_wait_s >= 0.0)) {
    return absl::InvalidArgumentError(absl::StrCat("max_wait_s ", max_wait_s, " below 0"));
  }
  if (!(ageing >= 0.0 && std::isfinite(ageing))) {
    return absl::InvalidArgumentError(absl::StrCat("ageing ", ageing, " not in [0, infinity)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Scheduler>> Scheduler::Create(const SchedulerOptions& options,
                                                             ResumableLen resumable_len) {
  SHORTLIST_RETURN_IF_ERROR(options.Validate());
  return std::unique_ptr<Scheduler>(new Scheduler(options, std::move(resumable_len)));
}

Scheduler::Scheduler(const SchedulerOptions& options, ResumableLen resumable_len)
    : options_(options),
      resumable_len_(std::move(resumable_len)),
      pool_(options.max_total_tokens),
      cache_(pool_, {.bigram_keys = options.bigram_keys, .hash_seed = options.seed}),
      queue_(options.policy, options.ageing, options.seed),
      new_token_ratio_(kFirstRatio) {
  // Moving a request between lists must not fail.
  queue_.Reserve(MostQueued(options.max_queued_requests) + options.max_running_requests);
  prefilling_.reserve(options.max_running_requests);
  running_.reserve(options.max_running_requests);
  // some are retracted again within the same pass
  leaders_.reserve(2 * options.max_running_requests);
}

absl::Status Scheduler::Add(Req& req) {
  SHORTLIST_CHECK(req.state == Req::State::kNew);
  SHORTLIST_CHECK(req.prompt_len == req.num_tokens() && req.max_new_tokens >= 1);
  if (req.prompt_len < 1) return absl::InvalidArgumentError("the prompt has no tokens");
  // Both are below 2^63, but their sum may not be.
  if (req.max_new_tokens > options_.context_length - req.prompt_len) {
    return absl::OutOfRangeError(absl::StrCat(
        "a prompt of ", req.prompt_len, " tokens and max_new_tokens ", req.max_new_tokens,
        " exceed the context length of ", options_.context_length, " tokens"));
  }
  // The last token's keys and values are never needed.
  const int64_t needed = req.prompt_len + req.max_new_tokens - 1;
  if (needed > options_.max_total_tokens) {
    return absl::OutOfRangeError(absl::StrCat(
        "a prompt of ", req.prompt_len, " tokens and max_new_tokens ", req.max_new_tokens, " need ",
        needed, " KV slots; there are ", options_.max_total_tokens));
  }
  const auto known = accounts_.find(req.client);
  const bool is_new = known == accounts_.end();
  if (!QueueHasRoom(is_new ? 0 : known->second.num_queued, num_queued(),
                    std::ssize(accounts_) + (is_new ? 1 : 0), options_.max_queued_requests)) {
    return absl::ResourceExhaustedError(absl::StrCat("the request queue is full: ", num_queued(),
                                                     " of ", options_.max_queued_requests,
                                                     " requests wait"));
  }
  ClientAccount& account = accounts_[req.client];
  try {
    req.root = cache_.OpenNamespace(req.cache_salt);
  } catch (const std::bad_alloc&) {
    Forget(req.client);
    throw;
  }
  req.match = cache_.MatchPrefix(req.root, MatchableTokens(req, cache_));
  req.arrival_number = num_arrivals_++;
  req.state = Req::State::kQueued;
  req.account = &account;
  ++account.num_queued;
  queue_.Add(req);
  return absl::OkStatus();
}

WaitingTokens Scheduler::waiting_tokens() const {
  WaitingTokens tokens;
  for (int64_t i = 0; i < queue_.size(); ++i) {
    const Req& req = queue_.at(i);
    tokens.all += req.num_tokens();
    tokens.uncached += req.num_tokens() - req.match.len;
  }
  return tokens;
}

bool Scheduler::DecodeIsDue(bool prefilled) const {
  return !running_.empty() && (!prefilled || num_passes_ >= options_.max_prefill_passes);
}

/// The request to retract if memory is short.
Req& Scheduler::PickVictim() const {
  Req* victim = nullptr;
  const auto consider = [&victim](std::span<Req* const> reqs) {
    for (Req* req : reqs) {
      if (victim == nullptr || GoesBefore(*req, *victim)) victim = req;
    }
  };
  consider(running_);
  consider(prefilling_);
  SHORTLIST_CHECK(victim != nullptr);
  return *victim;
}

void Scheduler::Grow(Req& req, int64_t num_slots) {
  const int64_t size = static_cast<int64_t>(req.kv_slots.size());
  if (num_slots <= size) return;
  req.kv_slots.resize(num_slots);
  cache_.Evict(num_slots - size - pool_.num_free());
  SHORTLIST_CHECK(pool_.Allocate(std::span(req.kv_slots).subspan(size)));
}

Batch Scheduler::PrepareDecode() {
  num_passes_ = 0;
  // Growing below must not fail halfway.
  for (Req* req : running_) req->kv_slots.reserve(req->num_tokens() + options_.num_draft_tokens);
  const auto num_missing = [this] {
    int64_t missing = 0;
    for (const Req* req : running_) {
      missing += std::max<int64_t>(req->num_tokens() - std::ssize(req->kv_slots), 0);
    }
    return missing;
  };
  const int64_t num_retractions = stats_.num_retractions;
  // One request alone always fits, so at least one continues.
  while (num_missing() > available_len()) Retract(PickVictim());
  if (stats_.num_retractions == num_retractions) {
    new_token_ratio_ = std::max(new_token_ratio_ - kRatioDecay, kLeastRatio);
  } else {
    int64_t num_output = 0;
    int64_t most = 1;
    for (const Req* req : running_) {
      num_output += req->num_output() + kHeadroomAfterRetraction;
      most += req->max_new_tokens;
    }
    new_token_ratio_ = std::min(1.0, static_cast<double>(num_output) / static_cast<double>(most));
  }
  for (Req* req : running_) Grow(*req, req->num_tokens());
  for (Req* req : running_) {
    const int64_t wanted = std::min(req->num_tokens() + options_.num_draft_tokens,
                                    req->prompt_len + req->max_new_tokens - 1);
    const int64_t size = std::ssize(req->kv_slots);
    Grow(*req, std::min(wanted, size + available_len()));
  }
  Batch batch{.mode = options_.num_draft_tokens > 0 ? ForwardMode::kVerify : ForwardMode::kDecode,
              .num_tokens = static_cast<int64_t>(running_.size())};
  batch.reqs = running_;
  return batch;
}

void Scheduler::Computed(Req& req, int64_t cached_len, int64_t shareable_len) {
  SHORTLIST_CHECK(shareable_len <= cached_len && cached_len <= std::ssize(req.kv_slots));
  req.cached_len = cached_len;
  req.shareable_len = shareable_len;
  const bool was_running = req.state == Req::State::kRunning;
  if (!req.shares_prompt) Share(req);
  if (!was_running && cached_len >= req.prefill_len) {
    std::erase(prefilling_, &req);
    running_.push_back(&req);
    req.state = Req::State::kRunning;
  }
  const bool is_shared = req.prefix_len + cache_.look_ahead() >= req.prompt_len;
  if (was_running || is_shared) req.shares_prompt = true;
}

/// Inserts the shareable positions that the tree does not have yet.
void Scheduler::Share(Req& req) {
  if (options_.disable_radix_cache) return;
  const int64_t len = std::min(req.shareable_len, req.num_tokens() - cache_.look_ahead());
  if (len <= req.prefix_len) return;
  const std::span slots = std::span(req.kv_slots).first(len);
  RadixCache::Inserted inserted;
  try {
    inserted = cache_.Insert(req.root, std::span(*req.input_ids).first(len + cache_.look_ahead()),
                             slots, req.rows);
  } catch (const std::bad_alloc&) {
    return;  // the request keeps its slots to itself
  }
  // Positions that another request has inserted meanwhile have the same bits; keep one copy.
  const std::span news = slots.subspan(req.prefix_len);
  pool_.Free(news.first(inserted.existing_len - req.prefix_len));
  cache_.CopySlots(inserted.node, req.prefix_len, news);
  cache_.Lock(inserted.node);
  cache_.Unlock(std::exchange(req.last_node, inserted.node));
  req.prefix_len = len;
}

void Scheduler::ReleaseSlots(Req& req) {
  if (req.last_node < 0) return;
  pool_.Free(std::span<const int32_t>(req.kv_slots).subspan(req.prefix_len));
  cache_.Unlock(std::exchange(req.last_node, -1));
  req.kv_slots.clear();
  req.prefix_len = req.cached_len = req.shareable_len = req.prefill_len = 0;
}

void Scheduler::Remove(Req& req) {
  switch (req.state) {
    case Req::State::kQueued:
      queue_.Remove(req);
      --req.account->num_queued;
      break;
    case Req::State::kPrefilling:
      std::erase(prefilling_, &req);
      --req.account->num_active;
      break;
    case Req::State::kRunning:
      std::erase(running_, &req);
      --req.account->num_active;
      break;
    case Req::State::kNew:
    case Req::State::kReleased:
      break;
  }
}

/// Drops a client's account if it has no requests any more.
void Scheduler::Forget(const std::string& client) {
  const auto account = accounts_.find(client);
  if (account == accounts_.end()) return;
  if (account->second.num_queued == 0 && account->second.num_active == 0) accounts_.erase(account);
}

void Scheduler::Finish(Req& req) {
  if (req.state == Req::State::kPrefilling || req.state == Req::State::kRunning) Share(req);
  Drop(req);
}

void Scheduler::Drop(Req& req) {
  if (req.state == Req::State::kNew || req.state == Req::State::kReleased) return;
  Remove(req);
  ReleaseSlots(req);
  cache_.CloseNamespace(std::exchange(req.root, -1));
  req.state = Req::State::kReleased;
  req.account = nullptr;
  Forget(req.client);
}

void Scheduler::Retract(Req& req) {
  SHORTLIST_CHECK(req.state == Req::State::kPrefilling || req.state == Req::State::kRunning);
  Share(req);
  Remove(req);
  ReleaseSlots(req);
  req.match = cache_.MatchPrefix(req.root, {});  // Order() matches the rest
  req.match.version = 0;
  req.state = Req::State::kQueued;
  ++req.num_retractions;
  ++stats_.num_retractions;
  ++req.account->num_queued;
  queue_.Add(req);
}

void Scheduler::RetractAll() {
  while (NumActive() > 0) Retract(PickVictim());
}

absl::Status Scheduler::CheckReq(const Req& req, std::vector<bool>& seen) const {
  const auto broken = [&req](absl::string_view what) {
    return absl::InternalError(absl::StrCat("request ", req.rid, ": ", what));
  };
  const int64_t num_slots = std::ssize(req.kv_slots);
  const bool in_order = req.prefix_len <= req.shareable_len &&
                        req.shareable_len <= req.cached_len && req.cached_len <= num_slots &&
                        req.cached_len <= req.num_tokens();
  if (!in_order) return broken("lengths");
  if (req.last_node < 0 || cache_.EndOf(req.last_node) != req.prefix_len) {
    return broken("its node does not end where its prefix does");
  }
  std::vector<int32_t> prefix(req.prefix_len);
  cache_.CopySlots(req.last_node, 0, prefix);
  if (!std::ranges::equal(prefix, req.prefix_indices())) return broken("prefix slots");
  for (const int32_t slot : std::span(req.kv_slots).subspan(req.prefix_len)) {
    if (slot < 0 || slot >= pool_.capacity() || !pool_.held(slot) || seen[slot]) {
      return broken(absl::StrCat("slot ", slot));
    }
    seen[slot] = true;
  }
  return absl::OkStatus();
}

absl::Status Scheduler::CheckInvariants() const {
  std::vector<bool> seen(pool_.capacity());
  SHORTLIST_RETURN_IF_ERROR(cache_.CheckInvariants(seen));
  const auto check = [&](std::span<Req* const> reqs, Req::State state) -> absl::Status {
    for (const Req* req : reqs) {
      if (req->state != state) return absl::InternalError(absl::StrCat(req->rid, ": state"));
      SHORTLIST_RETURN_IF_ERROR(CheckReq(*req, seen));
    }
    return absl::OkStatus();
  };
  SHORTLIST_RETURN_IF_ERROR(check(running_, Req::State::kRunning));
  SHORTLIST_RETURN_IF_ERROR(check(prefilling_, Req::State::kPrefilling));
  for (int64_t i = 0; i < queue_.size(); ++i) {
    const Req& req = queue_.at(i);
    if (req.state != Req::State::kQueued || !req.kv_slots.empty() || req.last_node >= 0) {
      return absl::InternalError(absl::StrCat("queued request ", req.rid, " holds something"));
    }
  }
  const int64_t num_held = std::count(seen.begin(), seen.end(), true);
  if (num_held + pool_.num_free() != pool_.capacity()) {
    return absl::InternalError(absl::StrCat(num_held, " slots held and ", pool_.num_free(),
                                            " free, of ", pool_.capacity()));
  }
  int64_t num_active = 0, queued = 0;
  for (const auto& [client, account] : accounts_) {
    num_active += account.num_active;
    queued += account.num_queued;
  }
  if (num_active != NumActive() || queued != num_queued()) {
    return absl::InternalError(absl::StrCat("accounts of ", num_active, " active and ", queued,
                                            " queued requests, of ", NumActive(), " and ",
                                            num_queued()));
  }
  if (NumActive() > options_.max_running_requests) {
    return absl::InternalError(absl::StrCat(NumActive(), " active requests"));
  }
  return absl::OkStatus();
}

}  // namespace shortlist
