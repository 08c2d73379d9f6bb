#ifndef SHORTLIST_CLI_LANE_H_
#define SHORTLIST_CLI_LANE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "cli/session.h"
#include "draft/engine.h"
#include "request/sequence.h"
#include "runtime/decoding.h"

namespace shortlist {

/// What one request came to.
struct Completion {
  std::vector<TokenId> output_ids;
  FinishReason finish_reason = FinishReason::kNone;
  SequenceStats stats;
  double decode_seconds = 0.0;  // from the end of its prefill to its last token
  double step_seconds = 0.0;    // its share of its steps' time: a step's time is divided equally
  EngineStats engine;           // of the steps it took part in
};

/// One way to decode the requests of a session: plainly, or with its draft over some active
/// vocabulary. Owns an engine with its caches. Used by one thread; the session must outlive it.
class Lane {
 public:
  struct Options {
    bool use_draft = false;                 // false: plain decoding, the rest is ignored
    std::shared_ptr<const VocabBase> base;  // DecodingOptions'
    int64_t max_tail_rows = 0;              // rows one request may add
  };

  /// Told of request `index` (in the span given to Run) as it goes. Either may be empty.
  struct Observer {
    std::function<void(size_t index, std::span<const TokenId> tokens)> on_tokens;
    std::function<void(size_t index, const Completion& completion)> on_finish;
  };

  static absl::StatusOr<std::unique_ptr<Lane>> Create(Session& session, Options options);

  /// Decodes `requests`, at most --batch at a time, the next one starting as soon as one has
  /// finished. Completions in the order of `requests`. The error of a sequence that fails
  /// (Sequence::error).
  absl::StatusOr<std::vector<Completion>> Run(std::span<const Session::Request> requests,
                                              const Observer& observer);

  const SpeculativeEngine& engine() const { return *decoding_.engine; }

 private:
  struct Running;

  Lane(Session& session, int64_t max_tail_rows, int64_t num_rows)
      : session_(session), max_tail_rows_(max_tail_rows), num_rows_(num_rows) {}

  absl::Status Admit(std::span<const Session::Request> requests, size_t& next,
                     std::vector<Running>& running);
  absl::Status Prefill(std::vector<Running>& running);
  absl::Status Step(std::vector<Running>& running);
  absl::Status Report(std::vector<Running>& running, const Observer& observer,
                      std::vector<Completion>& completions);

  Session& session_;
  const int64_t max_tail_rows_;
  const int64_t num_rows_;  // sequences that the KV cache holds at a time
  Decoding decoding_;
};

/// Says on stderr what the output cannot show: that the draft failed in some steps, and why, or
/// that its slot map is broken. Silent when neither happened.
void NoteDraftTrouble(const std::string& name, const SpeculativeEngine& engine,
                      int64_t num_mapping_faults);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_LANE_H_
