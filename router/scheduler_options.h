#ifndef SHORTLIST_ROUTER_SCHEDULER_OPTIONS_H_
#define SHORTLIST_ROUTER_SCHEDULER_OPTIONS_H_

#include <cstdint>

#include "absl/status/status.h"

namespace shortlist {

/// Order in which waiting requests are admitted, after priority.
enum class SchedulePolicy {
  kLpm,        // longest cached prefix first; waiting time counts as cached tokens
  kFcfs,       // first come, first served
  kDfsWeight,  // depth first through the tree, the branch with the most waiting requests first
  kRandom,
};

struct SchedulerOptions {
  SchedulePolicy policy = SchedulePolicy::kLpm;
  int64_t max_total_tokens = 0;       // KV slots; in [1, 2^28]
  int64_t context_length = 0;         // longest request, prompt plus output; at least 1
  int64_t max_prefill_tokens = 2048;  // per prefill pass; at least 1
  // A pass takes at most this many tokens, and prompts are cut to fit. 0: prompts are not cut; one
  // longer than max_prefill_tokens has its own pass.
  int64_t chunked_prefill_size = 512;
  int64_t max_running_requests = 256;  // at least 1
  int64_t max_queued_requests = 1024;  // at least 1
  int64_t max_prefill_passes = 1;      // between two decode passes; at least 1
  // after this wait, no later request of the same client is admitted before it
  double max_wait_s = 10.0;
  double ageing = 256.0;         // kLpm: number of cached tokens that equals a second of waiting
  int64_t num_draft_tokens = 0;  // wanted slots after the last token of each running request
  bool disable_radix_cache = false;
  bool bigram_keys = false;  // RadixCache; for drafters whose KV depends on the next token
  uint64_t seed = 0;         // for kRandom and the hashes of the tree

  /// Returns InvalidArgument with the option, its value and its bound.
  absl::Status Validate() const;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_SCHEDULER_OPTIONS_H_
