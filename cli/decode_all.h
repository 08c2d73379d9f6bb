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

/// Result of one request.
struct Completion {
  std::vector<TokenId> output_ids;
  FinishReason finish_reason = FinishReason::kNone;
  SequenceStats stats;
  double decode_seconds = 0.0;  // from its first token to its last
  double step_seconds = 0.0;    // its share of step time: each step's time is divided equally
  EngineStats engine;           // of the steps it took part in
};

/// Callbacks for request `index` (in the span given to DecodeAll). Each may be empty.
struct DecodeObserver {
  std::function<void(size_t index, std::span<const TokenId> tokens)> on_tokens;
  std::function<void(size_t index, const Completion& completion)> on_finish;
};

/// Returns an engine whose pool holds --batch requests of `session` at a time. `session` must
/// outlive the engine. Prompts share no prefixes, so that each repetition computes the same.
/// ResourceExhausted names the number of slots if it is too large.
absl::StatusOr<std::unique_ptr<Engine>> OpenEngine(Session& session,
                                                   const DecodingOptions& decoding);

/// Decodes `requests` of `session` with an engine of OpenEngine. At most --batch requests run at a
/// time; the next starts as soon as one has finished. Each may add `max_tail_rows` rows to the
/// active vocabulary. Outputs of earlier calls are drafted if they had the same `cache_salt`.
/// Returns completions in the order of `requests`, or the error of the first request that fails.
absl::StatusOr<std::vector<Completion>> DecodeAll(Engine& engine, const Session& session,
                                                  std::span<const Session::Request> requests,
                                                  int64_t max_tail_rows,
                                                  const DecodeObserver& observer,
                                                  const std::string& cache_salt = "");

/// Reports on stderr what the output cannot show: draft failures and their cause, a sketch that was
/// not fitted or not kept, and a broken row map. Writes nothing if there was none of these.
void NoteDraftTrouble(const std::string& name, const Engine& engine, int64_t num_mapping_faults);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_DECODE_ALL_H_
