// The Scheduler's prefill passes: which waiting requests are admitted, and what of the admitted
// ones the next pass computes.

#include <algorithm>
#include <cmath>
#include <new>

#include "base/check.h"
#include "router/scheduler.h"

namespace shortlist {
namespace {

// Nobody expects more output than this before it is there.
constexpr int64_t kMostExpected = 4096;

bool YoungerThan(const Req* a, const Req* b) { return a->arrival_number > b->arrival_number; }

}  // namespace

int64_t Scheduler::ExpectedSlots(const Req& req) const {
  // The fill itself yields a token, and the last one needs no slot.
  const int64_t left = std::min(req.max_new_tokens - req.num_output() - 1, kMostExpected);
  return static_cast<int64_t>(
      std::ceil(static_cast<double>(std::max<int64_t>(left, 0)) * new_token_ratio_));
}

Scheduler::Budget Scheduler::NextBudget(const Lane& lane) const {
  Budget budget{lane.pass_tokens, available_len()};
  for (const Req* req : lane.filling) budget.tokens -= req->adjust_input_len();
  for (const Req* req : running_) budget.slots -= ExpectedSlots(*req);
  for (const Req* req : lanes_[0].filling) budget.slots -= ExpectedSlots(*req);
  return budget;
}

Scheduler::Verdict Scheduler::TryAdmit(Req& req, Lane& lane, Budget& budget) {
  // An admission before may have split or evicted what this one had matched.
  if (!cache_.IsCurrent(req.match)) {
    req.match = req.uses_cache ? cache_.Rematch(req.match, req.root, MatchableTokens(req, cache_))
                               : cache_.MatchPrefix(req.root, {});
  }
  const int64_t extend_len = req.num_tokens() - req.match.len;
  const bool is_cut = options_.chunked_prefill_size > 0;
  if (!lane.filling.empty() && budget.tokens < (is_cut ? 1 : extend_len)) {
    return Verdict::kPassIsFull;
  }
  if (NumActive() >= options_.max_running_requests) return Verdict::kNoRoom;
  int64_t slots = extend_len + ExpectedSlots(req);
  if (slots > budget.slots) return Verdict::kNoRoom;
  slots += cache_.EvictableLen(req.match);  // locked from then on
  if (slots > budget.slots) return Verdict::kNoRoom;
  try {
    StartFilling(req, lane);
  } catch (const std::bad_alloc&) {
    return Verdict::kNoRoom;
  }
  budget.tokens -= extend_len;
  budget.slots -= slots;
  return Verdict::kAdmitted;
}

/// Throws std::bad_alloc before anything has changed.
void Scheduler::StartFilling(Req& req, Lane& lane) {
  const int64_t num_tokens = req.num_tokens();
  req.kv_slots.reserve(num_tokens);
  const int32_t node = cache_.Lock(req.match);
  req.kv_slots.resize(num_tokens);
  req.last_node = node;
  req.prefix_len = req.cached_len = req.shareable_len = req.match.len;
  req.fill_len = num_tokens;
  const std::span slots(req.kv_slots);
  cache_.CopySlots(node, 0, slots.first(req.prefix_len));
  cache_.Evict(num_tokens - req.prefix_len - pool_.num_free());
  SHORTLIST_CHECK(pool_.Allocate(slots.subspan(req.prefix_len)));
  req.state = Req::State::kFilling;
  req.shares_prompt = !req.uses_cache || options_.disable_radix_cache;
  lane.filling.push_back(&req);
  if (!req.shares_prompt) leaders_.push_back(&req);
  if (req.num_retractions == 0) {
    req.num_hit_tokens = req.prefix_len;
    stats_.num_prompt_tokens += req.prompt_len;
    stats_.num_hit_tokens += req.prefix_len;
  }
}

/// Requests that are being computed and whose prompt the tree will hold soon.
void Scheduler::ListLeaders() {
  leaders_.clear();
  const auto add = [this](std::span<Req* const> reqs) {
    for (Req* req : reqs) {
      if (!req->shares_prompt) leaders_.push_back(req);
    }
  };
  add(running_);
  for (const Lane& lane : lanes_) add(lane.filling);
}

/// True when a request being computed goes on from where the match of `req` ends with at least a
/// quarter of what `req` would have to compute itself: soon that will be a hit.
bool Scheduler::WaitsForLeader(const Req& req) const {
  if (!req.uses_cache) return false;
  const int64_t begin = req.match.len;
  if (cache_.EndOf(req.match.node) != begin) return false;
  const std::span<const TokenId> tokens = MatchableTokens(req, cache_);
  for (const Req* leader : leaders_) {
    if (leader->last_node != req.match.node) continue;
    const int64_t count = std::min(static_cast<int64_t>(tokens.size()), leader->fill_len) - begin;
    if (count <= 0) continue;
    const int64_t shared =
        CommonPrefixLen(leader->input_ids.data() + begin, tokens.data() + begin, count) -
        cache_.look_ahead();
    if (shared > 0 && 4 * shared >= req.num_tokens() - begin) return true;
  }
  return false;
}

/// Moves waiting requests to lane.filling. False when one that must not be overtaken any more has
/// no room.
bool Scheduler::Admit(Lane& lane) {
  if (lane.queue.empty()) return true;
  lane.queue.Order(cache_);
  Budget budget = NextBudget(lane);
  Verdict verdict = Verdict::kAdmitted;
  while (verdict == Verdict::kAdmitted && !overdue_.empty()) {
    Req& oldest = *overdue_.front();
    if (&LaneOf(oldest) != &lane) {
      verdict = Verdict::kPassIsFull;  // its pass comes next
      break;
    }
    verdict = TryAdmit(oldest, lane, budget);
    std::pop_heap(overdue_.begin(), overdue_.end(), YoungerThan);
    overdue_.pop_back();
  }
  if (verdict == Verdict::kAdmitted) {
    for (int64_t i = 0; i < lane.queue.size(); ++i) {
      Req& req = lane.queue.at(i);
      const bool pass_is_full = !lane.filling.empty() && budget.tokens < 1;
      if (pass_is_full || NumActive() >= options_.max_running_requests) break;
      if (req.state != Req::State::kQueued || WaitsForLeader(req)) continue;
      TryAdmit(req, lane, budget);
    }
  }
  lane.queue.RemoveAdmitted();
  return verdict != Verdict::kNoRoom;
}

Batch Scheduler::FillBatch(Lane& lane) const {
  Batch batch{.mode = ForwardMode::kExtend, .prefill_only = &lane == &lanes_[1]};
  int64_t left = lane.pass_tokens;
  for (Req* req : lane.filling) {
    const int64_t len = req->adjust_input_len();
    const bool is_cut = options_.chunked_prefill_size > 0;
    if (!batch.IsEmpty() && left < (is_cut ? 1 : len)) break;
    batch.reqs.push_back(req);
    const int64_t taken = is_cut ? std::min(len, left) : len;
    batch.num_tokens += taken;
    left -= taken;
  }
  return batch;
}

/// The lanes take turns, but for a request that must not be overtaken any more.
size_t Scheduler::FirstLane(double now_s) {
  overdue_.clear();
  for (const Lane& lane : lanes_) lane.queue.CollectOlder(now_s - options_.max_wait_s, overdue_);
  if (overdue_.empty()) return next_lane_;
  std::make_heap(overdue_.begin(), overdue_.end(), YoungerThan);  // the oldest is in front
  return overdue_.front()->prefill_only() ? 1 : 0;
}

Batch Scheduler::GetNewFillBatch(double now_s) {
  if (!running_.empty() && num_passes_ >= options_.max_prefill_passes) return {};
  ListLeaders();
  const size_t first = FirstLane(now_s);
  bool may_admit = true;
  for (size_t lane : {first, 1 - first}) {
    if (may_admit) may_admit = Admit(lanes_[lane]);
    Batch batch = FillBatch(lanes_[lane]);
    if (batch.IsEmpty()) continue;
    next_lane_ = 1 - lane;
    ++num_passes_;
    return batch;
  }
  return {};
}

}  // namespace shortlist
