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

/// Counters and histograms in Prometheus' text format. Names are SGLang's where SGLang has one
/// ("sglang:..."), else "shortlist:...". Any thread.
class Metrics {
 public:
  /// `model_name` is a label of every metric.
  explicit Metrics(const std::string& model_name);
  ~Metrics();

  /// Records an HTTP request that was answered or given up.
  void OnHttpDone(const RequestRecord& record);
  /// Records the time from the start of a generation to its first token.
  void OnFirstToken(double seconds);
  /// Records the time between a generation's last step and a step that added `num_tokens` more.
  void OnStep(double seconds_since_last, int64_t num_tokens);
  /// Records the last event of a generation.
  void OnFinished(const GenerationEvent& event);
  /// Records the end of a batch for encoder `model`.
  void OnEncoded(const std::string& model, const absl::StatusOr<EncodedBatch>& encoded);

  /// Speculation statistics of all requests that have ended.
  SequenceStats Speculation() const;
  /// Adds `change` to the number of requests that wait for their turn and are not generations yet.
  void OnWaiting(int64_t change) { num_waiting_ += change; }
  int64_t num_waiting() const { return num_waiting_; }

  /// Returns the body of a reply to /metrics, with gauges for `load`.
  std::string Text(const EngineLoad& load, double throughput);

 private:
  struct Families;
  const std::unique_ptr<Families> families_;
  std::atomic<int64_t> num_waiting_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_METRICS_H_
