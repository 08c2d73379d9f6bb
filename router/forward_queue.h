#ifndef SHORTLIST_ROUTER_FORWARD_QUEUE_H_
#define SHORTLIST_ROUTER_FORWARD_QUEUE_H_

#include <cstdint>
#include <random>
#include <vector>

#include "router/radix_cache.h"
#include "router/req.h"

namespace shortlist {

/// In which order waiting requests are admitted; priority goes before all of them.
enum class SchedulePolicy {
  kLpm,        // longest cached prefix first, and waiting counts as cached tokens do
  kFcfs,       // first come, first served
  kDfsWeight,  // depth first through the tree, the branch with most waiting requests first
  kRandom,
};

/// The requests that wait for admission, with their matched prefixes and their order. Not
/// thread-safe; does not own the requests.
class ForwardQueue {
 public:
  /// ageing: cached tokens that a second of waiting is worth under kLpm.
  ForwardQueue(SchedulePolicy policy, double ageing, uint64_t seed)
      : policy_(policy), ageing_(ageing), random_(seed) {}

  /// Never throws after Reserve for as many.
  void Add(Req& req);
  void Reserve(size_t size) { entries_.reserve(size); }
  void Remove(const Req& req);
  /// Removes those that are no longer kQueued.
  void RemoveAdmitted();

  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  bool empty() const { return entries_.empty(); }
  /// In order, as of the last Order call; later ones behind.
  Req& at(int64_t i) const { return *entries_[i].req; }

  /// Matches again the requests whose path changed, and sorts if that or an arrival asks for it.
  /// The order of two requests does not change by waiting alone.
  void Order(const RadixCache& cache);

  /// Appends the requests that arrived at or before `time`.
  void CollectOlder(double time, std::vector<Req*>& older) const;

 private:
  struct Entry {
    double score = 0.0;  // larger goes first
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

/// The tokens of `req` that may match: all but the last, which is computed in any case because it
/// yields the next one.
std::span<const TokenId> MatchableTokens(const Req& req, const RadixCache& cache);

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_FORWARD_QUEUE_H_
