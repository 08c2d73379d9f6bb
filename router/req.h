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

/// What the scheduler knows of one client that has requests.
struct ClientAccount {
  int64_t num_queued = 0;
  int64_t num_active = 0;  // prefilling or running

  // During an admission: what waits, in the order in which it is tried.
  std::vector<Req*> waiting;
  int64_t num_overdue = 0;  // of these, in front: they are not passed over
  size_t next = 0;
  bool is_closed = false;   // nothing more of it is admitted in this pass
  int64_t num_to_give = 0;  // requests that it could give up for another client
};

/// A request inside the router, from arrival to its terminal message. Owned by GenerationLoop (or a
/// simulation); the Scheduler moves it between queue, prefilling and running.
struct Req {
  enum class State { kNew, kQueued, kPrefilling, kRunning, kReleased };

  virtual ~Req() = default;

  // What was asked for; constant once the scheduler has the request, but for tokens that are
  // generated.
  std::string rid;
  // The prompt, then what was generated so far; whoever owns them appends to them.
  const std::vector<TokenId>* input_ids = nullptr;
  int64_t prompt_len = 0;
  int64_t max_new_tokens = 0;  // at least 1
  int32_t priority = 0;        // larger goes first
  double arrival_s = 0.0;
  double deadline_s = std::numeric_limits<double>::infinity();
  std::string cache_salt;  // prefixes are shared inside one salt only
  std::string client;      // clients take turns; the same for all: nobody does
  // Tokens of a cached prefix that it may take over; it computes the others itself.
  int64_t max_prefix_len = std::numeric_limits<int64_t>::max();

  // Where it stands.
  State state = State::kNew;
  std::vector<int32_t> kv_slots;  // by position: those of the tree, then own ones
  int64_t prefix_len = 0;         // of these, the tree's
  int64_t cached_len = 0;         // leading tokens whose keys and values are computed
  int64_t shareable_len = 0;      // of these, what the tree may take
  int64_t prefill_len = 0;        // of input_ids, what is to be computed before decoding goes on
  std::vector<TokenId> rows;      // dynamic vocabulary rows that the tree keeps at the end
  int64_t num_retractions = 0;
  int64_t num_hit_tokens = 0;  // tokens found in the tree, first admission only

  // The scheduler's.
  int32_t root = -1;        // of its namespace
  int32_t last_node = -1;   // locked; its path is the first prefix_len slots
  RadixCache::Match match;  // while queued
  uint64_t arrival_number = 0;
  ClientAccount* account = nullptr;  // of its client
  bool shares_prompt = false;  // the prompt is in the tree, or will not come there before the end

  int64_t num_tokens() const { return static_cast<int64_t>(input_ids->size()); }
  int64_t num_output() const { return num_tokens() - prompt_len; }
  std::span<const int32_t> prefix_indices() const {
    return std::span<const int32_t>(kv_slots).first(prefix_len);
  }
  /// Tokens still to be computed before decoding goes on.
  int64_t num_uncomputed() const { return prefill_len - cached_len; }
};

/// A request that no model computes: its tokens are its own.
struct TokensReq : Req {
  TokensReq() { input_ids = &tokens; }
  TokensReq(const TokensReq&) = delete;
  TokensReq& operator=(const TokensReq&) = delete;

  std::vector<TokenId> tokens;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_REQ_H_
