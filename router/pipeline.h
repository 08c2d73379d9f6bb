#ifndef SHORTLIST_ROUTER_PIPELINE_H_
#define SHORTLIST_ROUTER_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/turn_queue.h"
#include "router/bounded_queue.h"
#include "router/messages.h"

namespace shortlist {

/// The threads around a Router: a pool that tokenizes, the router thread, and one that
/// detokenizes, joined by bounded queues. Text is prepared and written while the model computes.
/// A detokenizer that falls behind holds the router back; it does not pile up.
///
/// Every request that Submit took gets exactly one terminal row, at the latest when the pipeline
/// is destroyed. Submit and Abort may be called by any thread.
class Pipeline {
 public:
  /// Makes the message of one request; called by a tokenizer thread. What it throws refuses the
  /// request.
  using Tokenize = std::function<absl::StatusOr<TokenizedGenerateReqInput>()>;

  /// The Router as the router thread uses it.
  struct Stepper {
    std::function<BatchTokenIdOut(std::vector<RouterMessage>)> exposed_step;
    std::function<bool()> idle;
  };

  struct Options {
    int num_tokenizers = 2;     // at least 1
    int64_t queue_size = 1024;  // of each queue; at least 1
  };

  /// `detokenize` is called by the detokenizer thread, with rows in the order of the steps; it must
  /// not throw.
  Pipeline(Stepper router, std::function<void(BatchTokenIdOut)> detokenize, Options options);
  /// Takes no more requests, aborts those that are served, and waits for their terminal rows.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Takes a request of `client`; clients take turns at the tokenizers. AlreadyExists when one with
  /// this id has no terminal row yet, ResourceExhausted when the queue of the tokenizers has no
  /// room for this client (QueueHasRoom), Unavailable when the pipeline is being destroyed; there
  /// is no row then.
  absl::Status Submit(std::string rid, const std::string& client, Tokenize tokenize);

  /// Ends a request, wherever it is; nothing when it has ended.
  void Abort(const std::string& rid);

 private:
  struct Task {
    std::string rid;
    Tokenize tokenize;
  };

  void RunTokenizer();
  void RunRouter();
  void RunDetokenizer();
  absl::StatusOr<TokenizedGenerateReqInput> Prepare(const Task& task);
  void TakeAborts(std::vector<RouterMessage>& messages);
  void SendTerminalRow(const std::string& rid, absl::Status status);

  const Stepper router_;
  const std::function<void(BatchTokenIdOut)> detokenize_;
  TurnQueue<Task> tasks_;
  BoundedQueue<RouterMessage> messages_;
  BoundedQueue<BatchTokenIdOut> outputs_;

  std::mutex mutex_;                            // guards what follows, to closing_
  std::unordered_map<std::string, bool> live_;  // without a terminal row; whether aborted
  std::vector<RouterMessage> aborts_;           // for the next step
  bool closing_ = false;

  std::vector<std::thread> tokenizers_;
  std::thread router_thread_, detokenizer_;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_PIPELINE_H_
