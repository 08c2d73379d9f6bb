#ifndef SHORTLIST_ROUTER_SCHEDULER_H_
#define SHORTLIST_ROUTER_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "router/batch.h"
#include "router/forward_queue.h"
#include "router/kv_pool.h"
#include "router/radix_cache.h"
#include "router/req.h"
#include "router/scheduler_options.h"

namespace shortlist {

/// Totals since construction.
struct SchedulerStats {
  int64_t num_retractions = 0;
  int64_t num_prompt_tokens = 0;  // of admitted requests
  int64_t num_hit_tokens = 0;     // of num_prompt_tokens, found in the tree

  double hit_rate() const {
    return num_prompt_tokens == 0 ? 0.0 : static_cast<double>(num_hit_tokens) / num_prompt_tokens;
  }
};

/// Token totals of the queued requests.
struct WaitingTokens {
  int64_t all = 0;
  int64_t uncached = 0;  // of `all`, not found in the tree by the last match
};

/// Decides what the next pass over the model computes, and in which KV slots: admission from the
/// forward queue, prefix sharing, chunks, memory, retraction. Knows only tokens and slots;
/// GenerationLoop runs the model, a simulation a cost model.
///
/// Call in a loop: GetNewPrefillBatch(); compute it and call Computed() for each request;
/// PrepareDecode(); compute and call Computed() again; Finish() the requests that have ended. Times
/// are seconds of any monotonic clock. Does not own requests. Not thread-safe.
///
/// Bounds (tests/router/simulation_test.cc):
/// - between two decode passes there are at most max_prefill_passes passes, each of at most
///   max_prefill_tokens (chunked_prefill_size if smaller, or one prompt where that is 0);
/// - once a request has waited max_wait_s, no later request of its client is admitted before it;
/// - clients take turns: the client with the fewest active requests is admitted first, regardless
///   of priority. If it has no room, a client with at least two more active requests is preempted:
///   its last request is queued again and keeps what it computed;
/// - while nothing runs, queued requests are admitted.
///
/// A method that runs out of memory throws std::bad_alloc. The request being processed is then
/// unchanged; requests of the batch admitted before it stay admitted.
class Scheduler {
 public:
  /// resumable_len: the largest number of leading slots of a cached prefix that a request can go on
  /// from; null: all.
  using ResumableLen = std::function<int64_t(std::span<const int32_t>)>;
  static absl::StatusOr<std::unique_ptr<Scheduler>> Create(const SchedulerOptions& options,
                                                           ResumableLen resumable_len = nullptr);

  /// Queues `req`, which must have its first group of fields set and must live until Finish() or
  /// Drop(). Returns OutOfRange if it can never fit (context or slots) and ResourceExhausted if the
  /// queue has no room for its client (QueueHasRoom), both with the numbers. Returns
  /// InvalidArgument for a prompt without tokens. In these cases `req` is not queued.
  absl::Status Add(Req& req);

  /// Admits waiting requests and returns the next prefill pass; empty if there is nothing to
  /// prefill or a decode pass is due. Slots are allocated; the tree holds the prefix of each
  /// request.
  Batch GetNewPrefillBatch(double now_s);

  /// Returns the running requests, each with the slot for its last token and, if memory allows,
  /// num_draft_tokens more. Frees memory by eviction, then by retraction of running or prefilling
  /// requests. The victim is a request of the client with the most active requests: the lowest
  /// priority first, then the latest arrival. A retracted request keeps its output and its arrival
  /// time, and waits again.
  Batch PrepareDecode();

  /// Reports the result of a pass for `req`: keys and values of the first `cached_len` tokens are
  /// computed, and those of the first `shareable_len` may be shared (a drafter's are written too).
  /// Inserts the prompt's slots into the tree as soon as they are computed, unless memory for that
  /// is short. A prefilled request becomes running.
  void Computed(Req& req, int64_t cached_len, int64_t shareable_len);

  /// Releases `req` in any state and keeps its shareable part in the tree. Never throws.
  void Finish(Req& req);
  /// Releases `req` in any state without keeping what it computed. Never throws.
  void Drop(Req& req);

  /// Takes `req` (prefilling or running) out of its slots and queues it again with its output.
  /// Never throws.
  void Retract(Req& req);

  /// Retracts every prefilling and running request. Never throws.
  void RetractAll();

  /// Evicts every prefix that no request holds. Never throws.
  void FlushCache() { cache_.Evict(cache_.evictable_len()); }

  /// True if PrepareDecode() is due: a request is running, and either the allowed prefill passes
  /// are used up or there is nothing to prefill (`prefilled` false).
  bool DecodeIsDue(bool prefilled) const;

  std::span<Req* const> running() const { return running_; }
  std::span<Req* const> prefilling() const { return prefilling_; }
  int64_t num_queued() const { return queue_.size(); }
  /// Tokens of the queued requests, including the output of retracted ones. O(num_queued).
  WaitingTokens waiting_tokens() const;
  int64_t num_prefilling() const { return static_cast<int64_t>(prefilling_.size()); }
  bool idle() const { return num_queued() == 0 && num_prefilling() == 0 && running_.empty(); }
  /// Number of slots that are free or unlocked in the tree.
  int64_t available_len() const { return pool_.num_free() + cache_.evictable_len(); }
  double new_token_ratio() const { return new_token_ratio_; }
  const SchedulerOptions& options() const { return options_; }
  const SchedulerStats& stats() const { return stats_; }
  const KvPool& pool() const { return pool_; }
  const RadixCache& cache() const { return cache_; }

  /// Returns Internal unless free + held by requests + held by the tree = capacity, every slot has
  /// one holder, and all lists, locks and states agree. O(everything).
  absl::Status CheckInvariants() const;

 private:
  Scheduler(const SchedulerOptions& options, ResumableLen resumable_len);

  enum class Verdict { kAdmitted, kPassIsFull, kNoRoom };
  /// Remaining tokens and (estimated) slots of a prefill pass.
  struct Budget {
    int64_t tokens;
    int64_t slots;
    // If the pass is full from the start, prompts of clients without a prompt being computed may
    // bypass the others.
    int64_t num_in_front = 0;
    int64_t front_tokens;
    bool may_go_in_front = false;
  };

  void Admit(double now_s);
  void ListTurns(double now_s);
  ClientAccount* NextTurn();
  bool GiveWay(const Req& req, const Budget& budget);
  int64_t SlotsOf(const Req& req) const;
  int64_t SlotsToGive(const ClientAccount& account);
  bool IsFull(const Budget& budget) const;
  bool CutMatch(Req& req);
  Verdict TryAdmit(Req& req, Budget& budget);
  void StartPrefill(Req& req, int64_t place);
  int64_t NumActive() const { return static_cast<int64_t>(running_.size()) + num_prefilling(); }
  int64_t ExpectedSlots(const Req& req) const;
  Budget NextBudget() const;
  Batch PrefillBatch() const;
  bool IsPrefilling(const ClientAccount& account) const;
  void PassOn(const Batch& batch);
  void Forget(const std::string& client);
  void ListLeaders();
  bool WaitsForLeader(const Req& req) const;
  void Grow(Req& req, int64_t num_slots);
  Req& PickVictim() const;
  void Share(Req& req);
  void ReleaseSlots(Req& req);
  void Remove(Req& req);
  absl::Status CheckReq(const Req& req, std::vector<bool>& seen) const;

  const SchedulerOptions options_;
  const ResumableLen resumable_len_;
  KvPool pool_;
  RadixCache cache_;
  ForwardQueue queue_;
  // Admitted requests whose prompt is not computed yet, in the order of computation.
  std::vector<Req*> prefilling_;
  // The last pass took prompts that bypassed those being computed.
  bool passed_over_ = false;
  std::vector<Req*> running_;
  std::unordered_map<std::string, ClientAccount> accounts_;  // of clients that have requests
  std::vector<ClientAccount*> turns_;  // during an admission: clients with waiting requests
  std::vector<Req*> leaders_;          // requests whose prompt will soon be in the tree
  int64_t num_passes_ = 0;             // prefill passes since the last decode pass
  uint64_t num_arrivals_ = 0;
  double new_token_ratio_;
  SchedulerStats stats_;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_SCHEDULER_H_
