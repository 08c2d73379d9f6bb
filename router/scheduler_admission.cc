// The Scheduler's prefill passes: which waiting requests are admitted, and which tokens of the
// admitted requests the next pass computes.

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "base/check.h"
#include "router/scheduler.h"

namespace shortlist {
namespace {

// Upper limit of the expected output of a request.
constexpr int64_t kMostExpected = 4096;

int64_t PassTokens(const SchedulerOptions& options) {
  return options.chunked_prefill_size == 0
             ? options.max_prefill_tokens
             : std::min(options.max_prefill_tokens, options.chunked_prefill_size);
}

bool OlderThan(const Req* a, const Req* b) { return a->arrival_number < b->arrival_number; }

bool IsOf(const Req* req, const ClientAccount* account) { return req->account == account; }

}  // namespace

int64_t Scheduler::ExpectedSlots(const Req& req) const {
  // The prefill itself yields a token, and the last token needs no slot.
  const int64_t left = std::min(req.max_new_tokens - req.num_output() - 1, kMostExpected);
  return static_cast<int64_t>(
      std::ceil(static_cast<double>(std::max<int64_t>(left, 0)) * new_token_ratio_));
}

Scheduler::Budget Scheduler::NextBudget() const {
  const int64_t pass_tokens = PassTokens(options_);
  Budget budget{.tokens = pass_tokens, .slots = available_len(), .front_tokens = pass_tokens};
  for (const Req* req : running_) budget.slots -= ExpectedSlots(*req);
  for (const Req* req : prefilling_) {
    budget.tokens -= req->num_uncomputed();
    budget.slots -= ExpectedSlots(*req);
  }
  return budget;
}

/// True if a prompt of this client is being computed.
bool Scheduler::IsPrefilling(const ClientAccount& account) const {
  return std::any_of(prefilling_.begin(), prefilling_.end(),
                     [&](const Req* req) { return IsOf(req, &account); });
}

/// True if this pass can admit no further request.
bool Scheduler::IsFull(const Budget& budget) const {
  if (prefilling_.empty() || budget.tokens > 0) return false;
  return !budget.may_go_in_front || (budget.num_in_front > 0 && budget.front_tokens < 1);
}

/// Cuts the match of `req` where it cannot be resumed. Returns false if memory does not suffice.
bool Scheduler::CutMatch(Req& req) {
  try {
    std::vector<int32_t> slots(cache_.EndOf(req.match.node));
    cache_.CopySlots(req.match.node, /*first=*/0, slots);
    const int64_t len = resumable_len_(std::span(slots).first(req.match.len));
    if (len == req.match.len) return true;
    const std::span<const TokenId> tokens = MatchableTokens(req, cache_);
    req.match = cache_.MatchPrefix(req.root, tokens.first(len + cache_.look_ahead()));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

Scheduler::Verdict Scheduler::TryAdmit(Req& req, Budget& budget) {
  // An earlier admission may have split or evicted the matched nodes.
  if (!cache_.IsCurrent(req.match)) {
    req.match = cache_.Rematch(req.match, req.root, MatchableTokens(req, cache_));
  }
  if (resumable_len_ && req.match.len > 0 && !CutMatch(req)) return Verdict::kNoRoom;
  const int64_t num_uncomputed = req.num_tokens() - req.match.len;
  const bool is_cut = options_.chunked_prefill_size > 0;
  const int64_t wanted = is_cut ? 1 : num_uncomputed;
  const bool in_front = budget.tokens < wanted && !prefilling_.empty();
  if (in_front) {
    if (!budget.may_go_in_front || IsPrefilling(*req.account)) return Verdict::kPassIsFull;
    if (budget.num_in_front > 0 && budget.front_tokens < wanted) return Verdict::kPassIsFull;
  }
  if (NumActive() >= options_.max_running_requests) return Verdict::kNoRoom;
  int64_t slots = num_uncomputed + ExpectedSlots(req);
  if (slots > budget.slots) return Verdict::kNoRoom;
  slots += cache_.EvictableLen(req.match);  // locked from now on
  if (slots > budget.slots) return Verdict::kNoRoom;
  try {
    // A request that bypassed others may have been preempted since.
    const int64_t size = std::ssize(prefilling_);
    StartPrefill(req, in_front ? std::min(budget.num_in_front, size) : size);
  } catch (const std::bad_alloc&) {
    return Verdict::kNoRoom;
  }
  budget.slots -= slots;
  budget.tokens -= num_uncomputed;
  if (in_front) {
    budget.front_tokens -= num_uncomputed;
    ++budget.num_in_front;
  }
  return Verdict::kAdmitted;
}

/// Throws std::bad_alloc before any change.
void Scheduler::StartPrefill(Req& req, int64_t place) {
  const int64_t num_tokens = req.num_tokens();
  req.kv_slots.reserve(num_tokens);
  const int32_t node = cache_.Lock(req.match);
  req.kv_slots.resize(num_tokens);
  req.last_node = node;
  req.prefix_len = req.cached_len = req.shareable_len = req.match.len;
  req.prefill_len = num_tokens;
  const std::span slots(req.kv_slots);
  cache_.CopySlots(node, 0, slots.first(req.prefix_len));
  cache_.Evict(num_tokens - req.prefix_len - pool_.num_free());
  SHORTLIST_CHECK(pool_.Allocate(slots.subspan(req.prefix_len)));
  req.state = Req::State::kPrefilling;
  --req.account->num_queued;
  ++req.account->num_active;
  req.shares_prompt = options_.disable_radix_cache;
  prefilling_.insert(prefilling_.begin() + place, &req);
  if (!req.shares_prompt) leaders_.push_back(&req);
  if (req.num_retractions == 0) {
    req.num_hit_tokens = req.prefix_len;
    stats_.num_prompt_tokens += req.prompt_len;
    stats_.num_hit_tokens += req.prefix_len;
  }
}

/// Lists the active requests whose prompt the tree will contain soon.
void Scheduler::ListLeaders() {
  leaders_.clear();
  const auto add = [this](std::span<Req* const> reqs) {
    for (Req* req : reqs) {
      if (!req->shares_prompt) leaders_.push_back(req);
    }
  };
  add(running_);
  add(prefilling_);
}

/// True if an active request continues from the end of the match of `req` and shares at least a
/// quarter of the tokens that `req` would have to compute: they will soon be a prefix hit.
bool Scheduler::WaitsForLeader(const Req& req) const {
  const int64_t begin = req.match.len;
  if (cache_.EndOf(req.match.node) != begin) return false;
  const std::span<const TokenId> tokens = MatchableTokens(req, cache_);
  for (const Req* leader : leaders_) {
    if (leader->last_node != req.match.node) continue;
    const int64_t count =
        std::min(static_cast<int64_t>(tokens.size()), leader->prefill_len) - begin;
    if (count <= 0) continue;
    const int64_t shared =
        CommonPrefixLen(leader->input_ids->data() + begin, tokens.data() + begin, count) -
        cache_.look_ahead();
    if (shared > 0 && 4 * shared >= req.num_tokens() - begin) return true;
  }
  return false;
}

/// Sets turns_, and the waiting requests of each of these clients: first the overdue ones, oldest
/// first, then the others in queue order.
void Scheduler::ListTurns(double now_s) {
  const double overdue_since_s = now_s - options_.max_wait_s;
  std::vector<Req*> overdue;
  queue_.CollectOlder(overdue_since_s, overdue);
  std::sort(overdue.begin(), overdue.end(), OlderThan);
  turns_.clear();
  for (auto& [client, account] : accounts_) {
    account.waiting.clear();
    account.num_overdue = 0;
    account.next = 0;
    account.is_closed = false;
    if (account.num_queued > 0) turns_.push_back(&account);
  }
  for (Req* req : overdue) {
    req->account->waiting.push_back(req);
    ++req->account->num_overdue;
  }
  for (int64_t i = 0; i < queue_.size(); ++i) {
    Req& req = queue_.at(i);
    if (req.arrival_s > overdue_since_s) req.account->waiting.push_back(&req);
  }
}

/// Returns the client with the fewest active requests; ties go to the oldest next request. Null: no
/// client has a request left.
ClientAccount* Scheduler::NextTurn() {
  ClientAccount* first = nullptr;
  for (ClientAccount* account : turns_) {
    if (account->is_closed || account->next == account->waiting.size()) continue;
    const bool goes_before =
        first == nullptr || account->num_active < first->num_active ||
        (account->num_active == first->num_active &&
         OlderThan(account->waiting[account->next], first->waiting[first->next]));
    if (goes_before) first = account;
  }
  return first;
}

/// Lower bound, by estimate, of the slots that a retraction frees: unshared and expected slots.
int64_t Scheduler::SlotsOf(const Req& req) const {
  return std::ssize(req.kv_slots) - req.prefix_len + ExpectedSlots(req);
}

/// Slots that would be freed if every client with at least two more active requests than `account`
/// were reduced to one more.
int64_t Scheduler::SlotsToGive(const ClientAccount& account) {
  for (auto& [client, other] : accounts_) {
    other.num_to_give = std::max<int64_t>(other.num_active - account.num_active - 1, 0);
  }
  int64_t num_slots = 0;
  const auto add = [&](std::span<Req* const> reqs) {
    for (size_t i = reqs.size(); i > 0; --i) {
      const Req& req = *reqs[i - 1];
      if (req.account->num_to_give == 0) continue;
      --req.account->num_to_give;
      num_slots += SlotsOf(req);
    }
  };
  add(prefilling_);
  add(running_);
  return num_slots;
}

/// Retracts a request of the client with the most active requests, which must have at least two
/// more than that of `req`. Returns false if there is none, or if all such retractions would not
/// make room for `req`.
bool Scheduler::GiveWay(const Req& req, const Budget& budget) {
  const ClientAccount& account = *req.account;
  int64_t most = 0;
  for (const auto& [client, other] : accounts_) most = std::max(most, other.num_active);
  if (most < account.num_active + 2) return false;
  const int64_t wanted =
      req.num_tokens() - req.match.len + ExpectedSlots(req) + cache_.EvictableLen(req.match);
  if (wanted > budget.slots && wanted > budget.slots + SlotsToGive(account)) return false;
  Req& victim = PickVictim();
  queue_.RemoveAdmitted();           // the victim may have been admitted in this pass
  victim.account->is_closed = true;  // its later requests must not take the place
  Retract(victim);
  return true;
}

/// Moves waiting requests to prefilling_, up to an overdue one that has no room.
void Scheduler::Admit(double now_s) {
  const bool passed_over = std::exchange(passed_over_, false);
  if (queue_.empty()) return;
  queue_.Order(cache_);
  ListTurns(now_s);
  Budget budget = NextBudget();
  budget.may_go_in_front = budget.tokens < 1 && !passed_over;
  while (ClientAccount* const account = NextTurn()) {
    if (IsFull(budget)) break;
    Req& req = *account->waiting[account->next];
    const bool is_overdue = static_cast<int64_t>(account->next) < account->num_overdue;
    ++account->next;
    const bool pass_is_full = budget.tokens < 1 && IsPrefilling(*account);
    if (pass_is_full) {
      account->is_closed = true;
      continue;
    }
    if (!is_overdue && WaitsForLeader(req)) continue;
    Verdict verdict = TryAdmit(req, budget);
    while (verdict == Verdict::kNoRoom && GiveWay(req, budget)) {
      const Budget left = NextBudget();
      budget.tokens = left.tokens;
      budget.slots = left.slots;
      verdict = TryAdmit(req, budget);
    }
    if (verdict == Verdict::kAdmitted) continue;
    if (verdict == Verdict::kNoRoom) {
      if (is_overdue) break;
      // Clients are tried by rising number of active requests, so no later one has fewer.
      if (NumActive() >= options_.max_running_requests) break;
    }
    if (is_overdue || budget.tokens < 1) account->is_closed = true;
  }
  queue_.RemoveAdmitted();
  passed_over_ = budget.num_in_front > 0;
}

Batch Scheduler::PrefillBatch() const {
  Batch batch{.mode = ForwardMode::kPrefill};
  int64_t left = PassTokens(options_);
  for (Req* req : prefilling_) {
    const int64_t len = req->num_uncomputed();
    const bool is_cut = options_.chunked_prefill_size > 0;
    if (!batch.IsEmpty() && left < (is_cut ? 1 : len)) break;
    batch.reqs.push_back(req);
    const int64_t taken = is_cut ? std::min(len, left) : len;
    batch.num_tokens += taken;
    left -= taken;
  }
  return batch;
}

/// Moves a prompt that `batch` computes only in part after those of other clients.
void Scheduler::PassOn(const Batch& batch) {
  const size_t last = batch.reqs.size() - 1;
  Req* const cut = batch.reqs[last];
  const auto begin = prefilling_.begin() + static_cast<int64_t>(last);
  SHORTLIST_CHECK(*begin == cut);
  const bool others_wait = std::any_of(begin, prefilling_.end(),
                                       [cut](const Req* req) { return !IsOf(req, cut->account); });
  if (others_wait) std::rotate(begin, begin + 1, prefilling_.end());
}

Batch Scheduler::GetNewPrefillBatch(double now_s) {
  if (!running_.empty() && num_passes_ >= options_.max_prefill_passes) return {};
  ListLeaders();
  Admit(now_s);
  Batch batch = PrefillBatch();
  if (batch.IsEmpty()) return batch;
  PassOn(batch);
  ++num_passes_;
  return batch;
}

}  // namespace shortlist
