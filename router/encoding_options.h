#ifndef SHORTLIST_ROUTER_ENCODING_OPTIONS_H_
#define SHORTLIST_ROUTER_ENCODING_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "request/encoding.h"

namespace shortlist {

struct EncodeItem {
  const EncodeInput* input = nullptr;
  const EncodeWish* wish = nullptr;
};

/// One pass of an encoder. Returns a result for each item, or nullopt if the pass is not complete.
/// In that case the next call has the same items and `goes_on` set, unless all their requests
/// have ended. A call without `goes_on` begins a new pass. An exception becomes the result of all
/// items.
using EncodePass = std::function<std::optional<std::vector<EncodeResult>>(
    std::span<const EncodeItem> items, bool goes_on)>;

/// Limits of an encoder under the Router (EncodingLoop).
struct EncodingOptions {
  int64_t max_input_tokens = 0;        // per input; at least 1
  int64_t max_batch_tokens = 512;      // per pass; at least 1; a longer input has its own pass
  int64_t max_queued_requests = 1024;  // at least 1
  // Time that a pass should take; above 0. The server sets 0.008.
  double max_pass_s = std::numeric_limits<double>::infinity();
  std::function<double()> now;  // seconds of a monotonic clock; empty: steady_clock
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_ENCODING_OPTIONS_H_
