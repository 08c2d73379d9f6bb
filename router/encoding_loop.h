#ifndef SHORTLIST_ROUTER_ENCODING_LOOP_H_
#define SHORTLIST_ROUTER_ENCODING_LOOP_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "request/encoding.h"
#include "router/encode_queue.h"
#include "router/messages.h"
#include "router/model_loop.h"

namespace shortlist {

/// An encoder under the Router: takes requests, computes their inputs pass by pass, in the order of
/// EncodeQueue, padding nothing, and sends a terminal row for each request. It has no keys and
/// values to keep, so a pass takes whole inputs, up to a number of tokens. Inputs that are equal
/// are computed once in a pass. What breaks a pass is the result of the inputs in it, and of
/// nothing else.
///
/// Who comes during a pass waits for its end. So a pass takes no more tokens than the last ones had
/// in `max_pass_s`, whatever the model's size.
class EncodingLoop final : public ModelLoop {
 public:
  struct Item {
    const EncodeInput* input = nullptr;
    const EncodeWish* wish = nullptr;
  };
  /// One pass of the model: a result for each item. What it throws is the result of all of them.
  using Encode = std::function<std::vector<EncodeResult>(std::span<const Item>)>;

  struct Options {
    int64_t max_input_tokens = 0;        // of one input; at least 1
    int64_t max_batch_tokens = 512;      // of a pass; at least 1; a longer input has one of its own
    int64_t max_queued_requests = 1024;  // at least 1
    // Above 0; about what a pass takes, but for one input that takes longer.
    double max_pass_s = std::numeric_limits<double>::infinity();
    std::function<double()> now;  // seconds of a clock that never goes back; empty: steady_clock
  };

  /// Counts since construction.
  struct Stats {
    int64_t num_passes = 0;
    int64_t num_inputs = 0;    // computed or found to be equal
    int64_t num_tokens = 0;    // computed
    int64_t num_repeated = 0;  // inputs that were equal to another one of their pass
  };

  /// InvalidArgument names the option and its bound.
  static absl::StatusOr<std::unique_ptr<EncodingLoop>> Create(Options options, Encode encode);

  /// Takes a request; where it is refused, its terminal row tells: InvalidArgument or OutOfRange
  /// for an input (its index, its length and the bound), ResourceExhausted when the queue has no
  /// room for its client (QueueHasRoom).
  void Add(TokenizedEmbedReqInput input, double now_s);

  bool Abort(const std::string& rid) override;
  void Step(double now_s) override;
  bool idle() const override { return reqs_.empty(); }
  BatchTokenIdOut TakeRows() override { return std::exchange(out_, {}); }

  const Options& options() const { return options_; }
  /// Of the next pass, when as many wait.
  int64_t pass_tokens() const;
  int64_t num_queued() const { return queue_.size(); }
  const Stats& stats() const { return stats_; }

 private:
  EncodingLoop(Options options, Encode encode)
      : options_(std::move(options)), encode_(std::move(encode)) {}

  absl::Status Check(const TokenizedEmbedReqInput& input) const;
  void Queue(TokenizedEmbedReqInput& input, double now_s);
  void End(EncodeReq& req, absl::Status status);
  void FailOverdue(double now_s);
  void Pass(std::span<const EncodeQueue::Item> taken);
  std::vector<EncodeResult> Compute(std::span<const Item> items);

  const Options options_;
  const Encode encode_;
  EncodeQueue queue_;
  std::unordered_map<std::string, std::unique_ptr<EncodeReq>> reqs_;
  Stats stats_;
  double token_s_ = 0.0;  // of a token in the last passes; 0: there was none
  BatchTokenIdOut out_;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_ENCODING_LOOP_H_
