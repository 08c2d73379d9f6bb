#ifndef SHORTLIST_ROUTER_FORWARD_QUEUE_H_
#define SHORTLIST_ROUTER_FORWARD_QUEUE_H_

#include <cstdint>
#include <random>
#include <vector>

#include "router/radix_cache.h"
#include "router/req.h"
#include "router/scheduler_options.h"

namespace shortlist {

/// Requests waiting for admission, with their matched prefixes and their order. Not thread-safe;
/// does not own the requests.
class ForwardQueue {
 public:
  /// ageing: number of cached tokens that equals a second of waiting under kLpm.
  ForwardQueue(SchedulePolicy policy, double ageing, uint64_t seed)
      : policy_(policy), ageing_(ageing), random_(seed) {}

  /// Does not throw if Reserve() covered the new size.
  void Add(Req& req);
  void Reserve(size_t size) { entries_.reserve(size); }
  void Remove(const Req& req);
  /// Removes the requests that are no longer kQueued.
  void RemoveAdmitted();

  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  bool empty() const { return entries_.empty(); }
  /// The i-th request in the order of the last Order() call; later arrivals follow.
  Req& at(int64_t i) const { return *entries_[i].req; }

  /// Rematches the requests whose path changed, and sorts if a match changed or a request arrived.
  /// Waiting alone does not change the order of two requests.
  void Order(const RadixCache& cache);

  /// Appends the requests that arrived at or before `time` to `older`.
  void CollectOlder(double time, std::vector<Req*>& older) const;

 private:
  struct Entry {
    double score = 0.0;  // larger first
    double random = 0.0;
    Req* req = nullptr;
  };

  void ScoreByWeight(const RadixCache& cache);

  const SchedulePolicy policy_;
  const double ageing_;
  std::mt19937_64 random_;
  bool is_sorted_ = true;
  std::vector<Entry> entries_;
};

/// Tokens of `req` that may match: all except the last, which is always computed because it yields
/// the next token, and at most max_prefix_len positions.
std::span<const TokenId> MatchableTokens(const Req& req, const RadixCache& cache);

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_FORWARD_QUEUE_H_
