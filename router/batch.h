#ifndef SHORTLIST_ROUTER_BATCH_H_
#define SHORTLIST_ROUTER_BATCH_H_

#include <cstdint>
#include <vector>

#include "router/req.h"

namespace shortlist {

enum class ForwardMode {
  kPrefill,  // prompts, or chunks of prompts
  kDecode,   // one token per request
  kVerify,   // the drafted tokens and one more per request
};

/// The requests of one pass over the model. A prefill pass takes their next tokens in this order,
/// num_tokens in total; only the last request may be taken in part.
struct Batch {
  ForwardMode mode = ForwardMode::kPrefill;
  int64_t num_tokens = 0;
  std::vector<Req*> reqs;

  bool IsEmpty() const { return reqs.empty(); }
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_BATCH_H_
