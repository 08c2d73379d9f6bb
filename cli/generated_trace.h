#ifndef SHORTLIST_CLI_GENERATED_TRACE_H_
#define SHORTLIST_CLI_GENERATED_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"

namespace shortlist {

/// A synthetic load: requests that arrive at random, in groups whose prompts share a prefix. Tokens
/// are random too, so the load measures scheduling cost, not draft quality.
struct TraceShape {
  int64_t num_requests = 64;  // in [1, 2^20]
  double rate = 0.0;          // requests per second of a Poisson process, up to 1e9; 0: all at once
  int64_t num_groups = 1;     // request i is in group i mod num_groups; in [1, num_requests]
  int64_t shared_len = 0;     // prefix tokens shared by a group's prompts; in [0, 2^20]
  int64_t own_len = 32;       // tokens after the prefix, different for each request; in [1, 2^20]
};

/// Parses "requests=64,rate=8,groups=4,shared=100,own=20". Each part may be omitted.
/// InvalidArgument names the part, its value and its bound. All prompts together have at most 2^27
/// tokens.
absl::StatusOr<TraceShape> ParseTraceShape(const std::string& text);

struct GeneratedRequest {
  double arrival_s = 0.0;  // non-decreasing
  std::vector<TokenId> prompt;
};

/// [num_requests] requests with ids below vocab_size. Deterministic in the arguments.
std::vector<GeneratedRequest> GenerateTrace(const TraceShape& shape, int64_t vocab_size,
                                            uint64_t seed);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_GENERATED_TRACE_H_
