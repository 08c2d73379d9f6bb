#ifndef SHORTLIST_ROUTER_ENCODING_LOOP_H_
#define SHORTLIST_ROUTER_ENCODING_LOOP_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
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
#include "router/pass_time.h"

namespace shortlist {

/// An encoder under the Router: takes requests, computes their inputs pass by pass, in the order of
/// EncodeQueue, padding nothing, and sends a terminal row for each request. It has no keys and
/// values to keep, so a pass takes whole inputs, up to a number of tokens. Inputs that are equal
/// are computed once in a pass, and fill it as one. What breaks a pass is the result of the inputs
/// in it, and of nothing else.
///
/// Who comes during a pass waits for its end. So a pass takes as many tokens as the last ones had
/// in `max_pass_s`, or as make its fixed part, in which weights are read, half of it (PassTime).
/// Who is done at its end has waited for that long already: beside it, inputs of requests that go
/// on are taken up to half of the time only. A single long input takes longer: the model may stop
/// in the middle of it, and goes on in the next step, when aborts and other models have had their
/// turn.
class EncodingLoop final : public ModelLoop {
 public:
  struct Item {
    const EncodeInput* input = nullptr;
    const EncodeWish* wish = nullptr;
  };
  /// One pass of the model: a result for each item; or nullopt, if there is more to be done: the
  /// same items come again then, with `goes_on`, unless nobody wants them any more. Without,
  /// another pass begins. What it throws is the result of all items.
  using Encode = std::function<std::optional<std::vector<EncodeResult>>(std::span<const Item> items,
                                                                        bool goes_on)>;

  struct Options {
    int64_t max_input_tokens = 0;        // of one input; at least 1
    int64_t max_batch_tokens = 512;      // of a pass; at least 1; a longer input has one of its own
    int64_t max_queued_requests = 1024;  // at least 1
    double max_pass_s = std::numeric_limits<double>::infinity();  // above 0
    std::function<double()> now;  // seconds of a clock that never goes back; empty: steady_clock
  };

  /// Counts since construction.
  struct Stats {
    int64_t num_passes = 0;
    int64_t num_inputs = 0;    // computed or found to be equal
    int64_t num_tokens = 0;    // of inputs that were computed
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
  bool idle() const override { return reqs_.empty() && ended_.empty(); }
  BatchTokenIdOut TakeRows() override;

  const Options& options() const { return options_; }
  /// Of the next pass, when as many wait.
  int64_t pass_tokens() const {
    return time_.TokensIn(options_.max_pass_s, options_.max_batch_tokens);
  }
  int64_t num_queued() const { return queue_.size(); }
  const Stats& stats() const { return stats_; }

 private:
  static constexpr size_t kMaxPassInputs = 1024;  // equal ones too

  EncodingLoop(Options options, Encode encode)
      : options_(std::move(options)), encode_(std::move(encode)) {}

  /// Inputs that the model computes together.
  struct Pass {
    std::vector<EncodeQueue::Item> taken;
    std::vector<std::shared_ptr<EncodeReq>> held;  // whose they are, whether they have ended or not
    std::vector<Item> items;                       // equal inputs once
    std::vector<size_t> item_of;                   // [taken.size()]
    int64_t num_tokens = 0;                        // of items,
    int64_t most_tokens = 0;                       // unless there is one alone
    int64_t most_beside_last = 0;                  // with an input that is not its request's last
    bool has_last = false;                         // of some request
    double seconds = 0.0;                          // so far
    bool goes_on = false;
  };

  absl::Status Check(const TokenizedEmbedReqInput& input) const;
  void Queue(TokenizedEmbedReqInput& input, double now_s);
  void End(EncodeReq& req, absl::Status status);
  void FailOverdue(double now_s);
  void BeginPass();
  bool AddFront(std::unordered_multimap<size_t, size_t>& known);
  std::optional<std::vector<EncodeResult>> Compute();
  void GoOn();
  void EndPass(std::vector<EncodeResult>* results);

  const Options options_;
  const Encode encode_;
  EncodeQueue queue_;
  std::unordered_map<std::string, std::shared_ptr<EncodeReq>> reqs_;
  Pass pass_;  // nothing taken: none is under way
  PassTime time_;
  Stats stats_;
  BatchTokenIdOut refused_;
  std::vector<std::shared_ptr<EncodeReq>> ended_;  // has room for all requests
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_ENCODING_LOOP_H_
