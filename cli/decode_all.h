#ifndef SHORTLIST_CLI_DECODE_ALL_H_
#define SHORTLIST_CLI_DECODE_ALL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "cli/session.h"
#include "draft/engine.h"
#include "request/sequence.h"
#include "runtime/decoding.h"
#include "runtime/engine.h"

namespace shortlist {

/// What one request came to.
struct Completion {
  std::vector<TokenId> output_ids;
  FinishReason finish_reason = FinishReason::kNone;
  SequenceStats stats;
  double decode_seconds = 0.0;  // from its first token to its last
  double step_seconds = 0.0;    // its share of its steps' time: a step's time is divided equally
  EngineStats engine;           // of the steps it took part in
};

/// Told of request `index` (in the span given to DecodeAll) as it goes. Either may be empty.
struct DecodeObserver {
  std::function<void(size_t index, std::span<const TokenId> tokens)> on_tokens;
  std::function<void(size_t index, const Completion& completion)> on_finish;
};

/// An engine whose pool holds --batch requests of `session`, which must outlive it, at a time.
/// Prompts share no prefixes, so that each repetition computes the same. ResourceExhausted names
/// the slots that are too many.
absl::StatusOr<std::unique_ptr<Engine>> OpenEngine(Session& session,
                                                   const DecodingOptions& decoding);

/// Decodes `requests` of `session` with an engine of OpenEngine, at most --batch at a time, the
/// next one starting as soon as one has finished; each may add `max_tail_rows` rows to the active
/// vocabulary. Completions in the order of `requests`. The error of the first request that fails.
absl::StatusOr<std::vector<Completion>> DecodeAll(Engine& engine, const Session& session,
                                                  std::span<const Session::Request> requests,
                                                  int64_t max_tail_rows,
                                                  const DecodeObserver& observer);

/// Says on stderr what the output cannot show: that the draft failed in some steps, and why, or
/// that its row map is broken. Silent when neither happened.
void NoteDraftTrouble(const std::string& name, const Engine& engine, int64_t num_mapping_faults);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_DECODE_ALL_H_
