#ifndef SHORTLIST_DRAFT_ENGINE_OPTIONS_H_
#define SHORTLIST_DRAFT_ENGINE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"

namespace shortlist {

class VocabSizer;

/// How drafted tokens are verified.
enum class VerifyMode {
  /// The target chooses every token itself, with noise that depends on (seed, position, token id)
  /// alone. A draft token is accepted if it equals that choice. Outputs are bit-identical to plain
  /// decoding. The draft uses the same noise, so the two often agree (Daliri, Musco, Suresh 2024,
  /// "Coupling without communication").
  kCoupled,
  /// Leviathan, Kalman, Matias 2023: accept x ~ q with probability min(1, p(x) / q(x)), else sample
  /// from norm(max(0, p - q)). The output has the target's distribution, but the draws depend on
  /// the draft.
  kRejection,
};

/// How a SpeculativeEngine speculates.
struct EngineOptions {
  int64_t num_draft_tokens = 8;  // K, without the bonus token; in [0, 64]; 0: plain decoding
  // A chain continues while the forecast probability that the target accepts it
  // (ChainPolicy::Weigh) is at least this; in [0, 1]; 0: always K tokens. Null: decided by the
  // costs of draft tokens, measured before the first step and in every step; drafting rests while
  // it does not pay (DraftPolicy).
  std::optional<double> draft_p_min = 0.35;
  // Clock for measuring costs: milliseconds since any fixed point; null: the steady clock.
  std::function<double()> now_ms;
  // Continue chains by copies: tokens that followed the same text earlier, in the request or in
  // earlier outputs of its client (Sequence::Options::cache_salt).
  bool suffix_drafts = true;
  bool copies_alone = false;  // without a drafter too
  // Memory for those outputs, the latest ones; 0: none are kept, else at least 4,096.
  int64_t past_output_bytes = int64_t{64} << 20;
  VerifyMode verify = VerifyMode::kCoupled;
  // A request is drafted for with the full head while less than this share of its latest tokens is
  // in its active vocabulary (CoverageGuard); in [0, 1]; 0: never.
  double coverage_floor = 0.65;
  // Rows of a request's tail that may hold tokens that followed the same prefix in other requests;
  // in [0, 2^20].
  int64_t continuation_rows = 64;
  // sizes the engine's vocabulary and outlives it; null: the size is fixed
  VocabSizer* sizer = nullptr;
  int64_t num_slots = 0;  // KV slots of the target and of the drafter's cache; at least 1
  // Token ids at or above this are padding and never emitted: the tokenizer's size; in [1,
  // vocab_size].
  int64_t emit_size = 0;

  /// Returns InvalidArgument with the option and its bounds. The engine checks the bounds that
  /// depend on the model.
  absl::Status Validate() const;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_ENGINE_OPTIONS_H_
