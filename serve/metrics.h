#ifndef SHORTLIST_SERVE_METRICS_H_
#define SHORTLIST_SERVE_METRICS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "router/messages.h"
#include "serve/http/message.h"
#include "serve/served_encoder.h"

namespace shortlist {

struct EngineLoad;
struct GenerationEvent;

/// Counters and histograms in Prometheus' format, under SGLang's names where it has one
/// ("sglang:..."), else "shortlist:...". Any thread.
class Metrics {
 public:
  /// `model_name` labels everything.
  explicit Metrics(const std::string& model_name);
  ~Metrics();

  /// A request was answered or given up.
  void OnHttpDone(const RequestRecord& record);
  /// Of a generation: the time to its first token, the gap before a step that brought `num_tokens`
  /// more, its last event.
  void OnFirstToken(double seconds);
  void OnStep(double seconds_since_last, int64_t num_tokens);
  void OnFinished(const GenerationEvent& event);
  /// A batch that encoder `model` was asked for has ended.
  void OnEncoded(const std::string& model, const absl::StatusOr<EncodedBatch>& encoded);

  /// What speculation did for all requests that have ended.
  SequenceStats Speculation() const;
  /// `change` more requests wait for their turn, before they are generations.
  void OnWaiting(int64_t change) { num_waiting_ += change; }
  int64_t num_waiting() const { return num_waiting_; }

  /// The text that /metrics answers, with gauges for `load`.
  std::string Text(const EngineLoad& load, double throughput);

 private:
  struct Families;
  const std::unique_ptr<Families> families_;
  std::atomic<int64_t> num_waiting_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_METRICS_H_
