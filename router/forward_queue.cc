#include "router/forward_queue.h"

#include <algorithm>
#include <unordered_map>

namespace shortlist {
std::span<const TokenId> MatchableTokens(const Req& req, const RadixCache& cache) {
  const int64_t len = std::min(req.num_tokens() - 1, req.max_prefix_len);
  return std::span(*req.input_ids).first(len + cache.look_ahead());
}

void ForwardQueue::Add(Req& req) {
  entries_.push_back({.random = std::uniform_real_distribution<>()(random_), .req = &req});
  is_sorted_ = false;
}

void ForwardQueue::Remove(const Req& req) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.req == &req; });
}

void ForwardQueue::RemoveAdmitted() {
  std::erase_if(entries_,
                [](const Entry& entry) { return entry.req->state != Req::State::kQueued; });
}

void ForwardQueue::Order(const RadixCache& cache) {
  for (Entry& entry : entries_) {
    Req& req = *entry.req;
    if (cache.IsCurrent(req.match)) continue;
    const int64_t len = req.match.len;
    req.match = cache.Rematch(req.match, req.root, MatchableTokens(req, cache));
    const bool depends_on_match =
        policy_ == SchedulePolicy::kLpm || policy_ == SchedulePolicy::kDfsWeight;
    if (depends_on_match && req.match.len != len) is_sorted_ = false;
  }
  if (is_sorted_) return;
  if (policy_ == SchedulePolicy::kDfsWeight) {
    ScoreByWeight(cache);
  } else {
    for (Entry& entry : entries_) {
      if (policy_ == SchedulePolicy::kLpm) {
        // Matched + ageing * (now - arrival), without the common term ageing * now.
        entry.score = static_cast<double>(entry.req->match.len) - ageing_ * entry.req->arrival_s;
      } else {
        entry.score = policy_ == SchedulePolicy::kRandom ? entry.random : 0.0;
      }
    }
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    if (a.req->priority != b.req->priority) return a.req->priority > b.req->priority;
    if (a.score != b.score) return a.score > b.score;
    return a.req->arrival_number < b.req->arrival_number;
  });
  is_sorted_ = true;
}

/// The weight of a node is the number of requests waiting at it or below it. Children are visited
/// by falling weight (ties: the older run first). They precede the requests that end at the node
/// itself, whose tokens the children need too.
void ForwardQueue::ScoreByWeight(const RadixCache& cache) {
  struct Visit {
    int64_t weight = 0;
    std::vector<int32_t> children;
    std::vector<Entry*> entries;
  };
  std::unordered_map<int32_t, Visit> visits;
  std::vector<int32_t> roots;
  for (Entry& entry : entries_) {
    int32_t node = entry.req->match.node;
    visits[node].entries.push_back(&entry);
    for (int32_t child = -1; node >= 0; child = node, node = cache.Parent(node)) {
      Visit& visit = visits[node];
      if (child >= 0 && visits[child].weight == 1) visit.children.push_back(child);
      if (++visit.weight == 1 && cache.Parent(node) < 0) roots.push_back(node);
    }
  }
  const auto lighter = [&](int32_t a, int32_t b) {
    return visits[a].weight != visits[b].weight ? visits[a].weight < visits[b].weight : a > b;
  };
  // The heaviest node is on top of the stack. A node with children is visited twice; the first
  // visit pushes its children.
  std::sort(roots.begin(), roots.end(), lighter);
  std::vector<int32_t> stack = roots;
  double score = 0.0;
  while (!stack.empty()) {
    const int32_t node = stack.back();
    Visit& visit = visits[node];
    if (!visit.children.empty()) {
      std::sort(visit.children.begin(), visit.children.end(), lighter);
      stack.insert(stack.end(), visit.children.begin(), visit.children.end());
      visit.children.clear();
      continue;
    }
    stack.pop_back();
    for (Entry* entry : visit.entries) entry->score = score;
    score -= 1.0;
  }
}

void ForwardQueue::CollectOlder(double time, std::vector<Req*>& older) const {
  for (const Entry& entry : entries_) {
    if (entry.req->arrival_s <= time) older.push_back(entry.req);
  }
}

}  // namespace shortlist
