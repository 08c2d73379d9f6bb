#ifndef SHORTLIST_ROUTER_REQ_H_
#define SHORTLIST_ROUTER_REQ_H_

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "router/radix_cache.h"

namespace shortlist {

struct Req;

/// The scheduler's data of one client that has requests.
struct ClientAccount {
  int64_t num_queued = 0;
  int64_t num_active = 0;  // prefilling or running

  // During an admission: waiting requests in the order in which they are tried.
  std::vector<Req*> waiting;
  int64_t num_overdue = 0;  // leading ones of `waiting` that are overdue: must not be bypassed
  size_t next = 0;
  bool is_closed = false;   // no further request of this client is admitted in this pass
  int64_t num_to_give = 0;  // requests that may be preempted for another client
};

/// A request inside the router, from arrival to its terminal message. Owned by GenerationLoop (or a
/// simulation). The Scheduler moves it between queue, prefilling and running.
struct Req {
  enum class State { kNew, kQueued, kPrefilling, kRunning, kReleased };

  virtual ~Req() = default;

  // The request; constant once the scheduler has it, except for generated tokens.
  std::string rid;
  // The prompt, then the output so far; its owner appends to it.
  const std::vector<TokenId>* input_ids = nullptr;
  int64_t prompt_len = 0;
  int64_t max_new_tokens = 0;  // at least 1
  int32_t priority = 0;        // larger first
  double arrival_s = 0.0;
  double deadline_s = std::numeric_limits<double>::infinity();
  std::string cache_salt;  // prefixes are shared within one salt only
  std::string client;      // clients take turns; no turns if all requests have the same client
  // Maximum tokens of a cached prefix to reuse; the request computes the others itself.
  int64_t max_prefix_len = std::numeric_limits<int64_t>::max();

  // Progress.
  State state = State::kNew;
  std::vector<int32_t> kv_slots;  // by position: slots of the tree, then own slots
  int64_t prefix_len = 0;         // leading slots that belong to the tree
  int64_t cached_len = 0;         // leading tokens whose keys and values are computed
  int64_t shareable_len = 0;      // leading tokens of those that the tree may take
  // leading tokens of input_ids to compute before decoding continues
  int64_t prefill_len = 0;
  std::vector<TokenId> rows;  // dynamic vocabulary rows to store in the tree at the end
  int64_t num_retractions = 0;
  int64_t num_hit_tokens = 0;  // tokens found in the tree, at the first admission only

  // Used by the scheduler.
  int32_t root = -1;        // of its namespace
  int32_t last_node = -1;   // locked; its path is the first prefix_len slots
  RadixCache::Match match;  // while queued
  uint64_t arrival_number = 0;
  ClientAccount* account = nullptr;  // of its client
  bool shares_prompt = false;        // the prompt is in the tree, or will not be before the end

  int64_t num_tokens() const { return static_cast<int64_t>(input_ids->size()); }
  int64_t num_output() const { return num_tokens() - prompt_len; }
  std::span<const int32_t> prefix_indices() const {
    return std::span<const int32_t>(kv_slots).first(prefix_len);
  }
  /// Tokens still to compute before decoding continues.
  int64_t num_uncomputed() const { return prefill_len - cached_len; }
};

/// A request without a model; owns its tokens.
struct TokensReq : Req {
  TokensReq() { input_ids = &tokens; }
  TokensReq(const TokensReq&) = delete;
  TokensReq& operator=(const TokensReq&) = delete;

  std::vector<TokenId> tokens;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_REQ_H_
