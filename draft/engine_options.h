#ifndef SHORTLIST_DRAFT_ENGINE_OPTIONS_H_
#define SHORTLIST_DRAFT_ENGINE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "draft/verifier.h"
#include "vocab/vocab_sizer.h"

namespace shortlist {

/// How a SpeculativeEngine speculates.
struct EngineOptions {
  int64_t num_draft_tokens = 8;  // K, without the bonus token; in [0, 64]; 0: plain decoding
  // A chain goes on while the target takes it with at least this probability, as forecast
  // (DraftTask::Weigh); in [0, 1]; 0: always K tokens. Null: by what draft tokens cost here, as
  // measured before the first step and in every step; where drafting does not pay, it rests
  // (DraftPolicy).
  std::optional<double> draft_p_min = 0.35;
  // Milliseconds since any fixed point, by which costs are measured; null: the steady clock's.
  std::function<double()> now_ms;
  // Whether chains may go on with what the request's text repeats (prompt_lookup.h).
  bool prompt_lookup = true;
  VerifyMode verify = VerifyMode::kCoupled;
  // A request is drafted for with the full head while less than this share of its latest tokens is
  // in its active vocabulary (CoverageGuard); in [0, 1]; 0: never.
  double coverage_floor = 0.65;
  // Rows of a request's tail that may hold what followed the same prefix in other requests; in
  // [0, 2^20].
  int64_t continuation_rows = 64;
  VocabSizer* sizer = nullptr;  // of the engine's vocabulary, outlives it. Null: the size stays
  int64_t num_slots = 0;        // KV slots of the target, and of the drafter's cache; at least 1
  int64_t emit_size = 0;        // token ids at or above this are padding, never emitted: the
                                // tokenizer's size; in [1, vocab_size]

  /// InvalidArgument names what lies outside its bounds, those of the model's size apart: they are
  /// the engine's to check.
  absl::Status Validate() const;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_ENGINE_OPTIONS_H_
