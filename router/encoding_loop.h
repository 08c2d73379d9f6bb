#ifndef SHORTLIST_ROUTER_ENCODING_LOOP_H_
#define SHORTLIST_ROUTER_ENCODING_LOOP_H_

#include <cstdint>
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
#include "router/encoding_options.h"
#include "router/messages.h"
#include "router/model_loop.h"
#include "router/pass_time.h"

namespace shortlist {

/// An encoder under the Router. Accepts requests, computes their inputs pass by pass in the order
/// of EncodeQueue, without padding, and sends a terminal row for each request. An encoder keeps no
/// KV, so a pass takes whole inputs, up to a number of tokens. Equal inputs of a pass are computed
/// and counted once. An error in a pass becomes the result of the inputs in that pass only.
///
/// Requests that arrive during a pass wait for its end. A pass is therefore limited to the tokens
/// that recent passes computed in `max_pass_s`, or in twice the fixed time of a pass (reading
/// weights) if that is longer (PassTime). Once it contains the last input of a request, it takes
/// inputs of continuing requests only up to the tokens of half of `max_pass_s`. A longer input has
/// a pass of its own. The model may pause within it and resume in the next step, after aborts and
/// other models' turns.
class EncodingLoop final : public ModelLoop {
 public:
  using Item = EncodeItem;
  using Encode = EncodePass;
  using Options = EncodingOptions;
  /// Totals since construction.
  struct Stats {
    int64_t num_passes = 0;
    int64_t num_inputs = 0;    // computed, or equal to a computed one
    int64_t num_tokens = 0;    // of computed inputs
    int64_t num_repeated = 0;  // inputs equal to another one of their pass
  };

  /// Returns InvalidArgument with the option and its bound.
  static absl::StatusOr<std::unique_ptr<EncodingLoop>> Create(Options options, Encode encode);

  /// Adds a request. A rejected request gets a terminal row with the status: InvalidArgument or
  /// OutOfRange for an input (with its index, its length and the bound), ResourceExhausted if the
  /// queue has no room for its client (QueueHasRoom).
  void Add(TokenizedEmbedReqInput input, double now_s);

  bool Abort(const std::string& rid) override;
  void Step(double now_s) override;
  bool idle() const override { return reqs_.empty() && ended_.empty(); }
  BatchTokenIdOut TakeRows() override;

  const Options& options() const { return options_; }
  /// Token limit of the next pass.
  int64_t pass_tokens() const {
    return time_.TokensIn(options_.max_pass_s, options_.max_batch_tokens);
  }
  int64_t num_queued() const { return queue_.size(); }
  const Stats& stats() const { return stats_; }

 private:
  static constexpr size_t kMaxPassInputs = 1024;  // including equal ones

  EncodingLoop(Options options, Encode encode)
      : options_(std::move(options)), encode_(std::move(encode)) {}

  /// Inputs that the model computes together.
  struct Pass {
    std::vector<EncodeQueue::Item> taken;
    std::vector<std::shared_ptr<EncodeReq>> held;  // owners of `taken`; keep ended requests alive
    std::vector<Item> items;                       // distinct inputs
    std::vector<size_t> item_of;                   // [taken.size()]
    int64_t num_tokens = 0;                        // of items
    int64_t most_tokens = 0;                       // limit of num_tokens, except for a single item
    // limit for an input that is not its request's last, if has_last
    int64_t most_beside_last = 0;
    bool has_last = false;  // contains the last input of some request
    double seconds = 0.0;   // duration so far
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
  Pass pass_;  // nothing taken: no pass is active
  PassTime time_;
  Stats stats_;
  BatchTokenIdOut refused_;
  std::vector<std::shared_ptr<EncodeReq>> ended_;  // capacity for all requests
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_ENCODING_LOOP_H_
