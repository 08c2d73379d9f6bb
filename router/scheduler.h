#ifndef SHORTLIST_ROUTER_SCHEDULER_H_
#define SHORTLIST_ROUTER_SCHEDULER_H_

#include <cstdint>
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

namespace shortlist {

struct SchedulerOptions {
  SchedulePolicy policy = SchedulePolicy::kLpm;
  int64_t max_total_tokens = 0;        // KV slots; in [1, 2^28]
  int64_t context_length = 0;          // longest request, prompt and output; at least 1
  int64_t max_prefill_tokens = 2048;   // of one prefill pass; at least 1
  int64_t chunked_prefill_size = 512;  // a pass takes at most this many and prompts are cut to
                                       // fit; 0: they are not, and one that is longer than
                                       // max_prefill_tokens has a pass of its own
  int64_t max_running_requests = 256;  // at least 1
  int64_t max_queued_requests = 1024;  // at least 1
  int64_t max_prefill_passes = 1;      // between two decode passes; at least 1
  double max_wait_s = 10.0;      // from then on nothing that arrived later is admitted before it
  double ageing = 256.0;         // kLpm: cached tokens that a second of waiting is worth
  int64_t num_draft_tokens = 0;  // slots wanted behind the last token of each running request
  bool disable_radix_cache = false;
  bool bigram_keys = false;  // RadixCache; for drafters whose KV depends on the next token
  uint64_t seed = 0;         // of kRandom, and of the tree's hashes

  /// InvalidArgument names the option, its value and its bound.
  absl::Status Validate() const;
};

/// Counts since construction.
struct SchedulerStats {
  int64_t num_retractions = 0;
  int64_t num_prompt_tokens = 0;  // of admitted requests
  int64_t num_hit_tokens = 0;     // of these, found in the tree

  double hit_rate() const {
    return num_prompt_tokens == 0 ? 0.0 : static_cast<double>(num_hit_tokens) / num_prompt_tokens;
  }
};

/// What the queued requests come to.
struct WaitingTokens {
  int64_t all = 0;
  int64_t uncached = 0;  // of these, not found in the tree when they were last matched
};

/// Decides what the next pass over the model computes, and in which KV slots: admission from the
/// forward queue, prefix sharing, chunks, memory, retraction. It knows tokens and slots only;
/// GenerationLoop runs the model, a simulation a cost model.
///
/// Use, in a loop: GetNewPrefillBatch; compute it and tell Computed for each request;
/// PrepareDecode; compute and tell Computed; Finish what has ended. Times are seconds of any clock
/// that never goes back. Does not own requests. Not thread-safe.
///
/// Bounds (tests/router/simulation_test.cc):
/// - between two decode passes there are at most max_prefill_passes passes, each of at most
///   max_prefill_tokens (chunked_prefill_size if smaller, or one prompt where that is 0);
/// - once a request has waited max_wait_s, nothing that its client sent after it is admitted before
///   it;
/// - clients take turns: whoever has fewest active requests is admitted first, before priority
///   counts, and where there is no room for it, a client that has at least two more gives up its
///   last one, which waits again with what it has computed;
/// - while nothing runs, the queue is never left waiting.
///
/// A member that runs out of memory throws std::bad_alloc; the request it worked on is then as it
/// was, and those of the batch that it had come to before stay admitted.
class Scheduler {
 public:
  static absl::StatusOr<std::unique_ptr<Scheduler>> Create(const SchedulerOptions& options);

  /// Queues `req`, which has its first group of fields set and stays until Finish or Drop.
  /// OutOfRange when it can never fit, context or slots, ResourceExhausted when the queue has no
  /// room for its client (QueueHasRoom), both with the numbers; InvalidArgument for a prompt
  /// without tokens. It is not queued then.
  absl::Status Add(Req& req);

  /// Admits waiting requests and returns the next prefill pass; empty when there is nothing to
  /// prefill or a decode pass is due. Slots are allocated; the tree holds the prefix of each.
  Batch GetNewPrefillBatch(double now_s);

  /// The running requests, each with the slot that its last token needs and, as far as there is
  /// memory, num_draft_tokens more. Frees memory by eviction, then by retraction: of the client
  /// with most active requests, the lowest priority goes first, then the latest arrival; requests
  /// that are being prefilled are victims too.
  /// A retracted request keeps its output and waits again, at its old age.
  Batch PrepareDecode();

  /// Tells what a pass did for `req`: keys and values of the first `cached_len` tokens are there,
  /// and of the first `shareable_len` they may be shared (a drafter's are written too). Puts the
  /// prompt's into the tree as soon as they are there, unless memory for that is short. A request
  /// that is prefilled is running from then on.
  void Computed(Req& req, int64_t cached_len, int64_t shareable_len);

  /// Releases `req`, in whatever state it is, and keeps in the tree what may be shared. Never
  /// throws.
  void Finish(Req& req);
  /// Releases `req`, in whatever state it is; what it computed is not kept. Never throws.
  void Drop(Req& req);

  /// Takes `req`, prefilling or running, out of its slots and queues it again with its output.
  /// Never throws.
  void Retract(Req& req);

  /// Retracts every prefilling and running request. Never throws.
  void RetractAll();

  /// Empties the tree of every prefix that no request holds. Never throws.
  void FlushCache() { cache_.Evict(cache_.evictable_len()); }

  /// Whether PrepareDecode is due: something runs, and the prefill passes allowed are used up or
  /// there is nothing to prefill (`prefilled` false).
  bool DecodeIsDue(bool prefilled) const;

  std::span<Req* const> running() const { return running_; }
  int64_t num_queued() const { return queue_.size(); }
  /// Tokens of the queued requests, output of retracted ones included. O(num_queued).
  WaitingTokens waiting_tokens() const;
  int64_t num_prefilling() const { return static_cast<int64_t>(prefilling_.size()); }
  bool idle() const { return num_queued() == 0 && num_prefilling() == 0 && running_.empty(); }
  /// Slots of nobody but the tree or free, in all.
  int64_t available_len() const { return pool_.num_free() + cache_.evictable_len(); }
  double new_token_ratio() const { return new_token_ratio_; }
  const SchedulerOptions& options() const { return options_; }
  const SchedulerStats& stats() const { return stats_; }
  const KvPool& pool() const { return pool_; }
  const RadixCache& cache() const { return cache_; }

  /// Internal unless free + held by requests + held by the tree = capacity, every slot has one
  /// holder, and every list, lock and state agree. O(everything).
  absl::Status CheckInvariants() const;

 private:
  explicit Scheduler(const SchedulerOptions& options);

  enum class Verdict { kAdmitted, kPassIsFull, kNoRoom };
  /// What a prefill pass has left: tokens, and slots by estimate.
  struct Budget {
    int64_t tokens;
    int64_t slots;
    // Where the pass was full at once, clients none of whose prompts is being computed go in front.
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
  KvPool pool_;
  RadixCache cache_;
  ForwardQueue queue_;
  // Admitted, prompt not computed yet; in the order in which they are computed.
  std::vector<Req*> prefilling_;
  // The last pass took prompts in front of those that were being computed.
  bool passed_over_ = false;
  std::vector<Req*> running_;
  std::unordered_map<std::string, ClientAccount> accounts_;  // of those that have requests
  std::vector<ClientAccount*> turns_;  // during an admission: clients that wait
  std::vector<Req*> leaders_;          // requests whose prompt will come into the tree
  int64_t num_passes_ = 0;             // prefill passes since the last decode pass
  uint64_t num_arrivals_ = 0;
  double new_token_ratio_;
  SchedulerStats stats_;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_SCHEDULER_H_
