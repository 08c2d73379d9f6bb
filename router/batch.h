#ifndef SHORTLIST_ROUTER_BATCH_H_
#define SHORTLIST_ROUTER_BATCH_H_

#include <cstdint>
#include <vector>

#include "router/req.h"

namespace shortlist {

enum class ForwardMode {
  kPrefill,  // prompts, or chunks of them
  kDecode,   // one token each
  kVerify,   // drafted tokens and one more each
};

/// The requests of one pass over the model. Prefill takes their next tokens in this order,
/// num_tokens in all: each whole but perhaps the last.
struct Batch {
  ForwardMode mode = ForwardMode::kPrefill;
  int64_t num_tokens = 0;
  std::vector<Req*> reqs;

  bool IsEmpty() const { return reqs.empty(); }
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_BATCH_H_
