#ifndef SHORTLIST_ROUTER_PIPELINE_H_
#define SHORTLIST_ROUTER_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/turn_queue.h"
#include "router/bounded_queue.h"
#include "router/messages.h"

namespace shortlist {

/// Whom the rows of one request are for: Submit takes it, each row of the request carries it. To
/// derive from.
class Receiver {
 public:
  virtual ~Receiver() = default;

 private:
  friend class Pipeline;
  std::string rid_;         // constant once Submit has it
  bool aborted_ = false;    // this and the next are guarded by the pipeline's mutex_
  bool in_router_ = false;  // from its first step to its terminal row
};

/// The threads around a Router: a pool that tokenizes, the router thread, and one that
/// detokenizes, joined by bounded queues. Text is prepared and written while the model computes.
/// A detokenizer that falls behind holds the router back; it does not pile up.
///
/// Every request that Submit took gets exactly one terminal row, at the latest when the pipeline
/// is destroyed; until then it is registered here. Members may be called by any thread.
class Pipeline {
 public:
  /// Makes the message of one request (no abort), but for rid and receiver; called by a tokenizer
  /// thread. What it throws refuses the request.
  using Tokenize = std::function<absl::StatusOr<RouterMessage>()>;

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
  /// not throw. Throws std::system_error where the system starts no more threads.
  Pipeline(Stepper router, std::function<void(BatchTokenIdOut)> detokenize, Options options);
  /// Takes no more requests, aborts those that are served, and waits for their terminal rows.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Takes a request of `client`, with a receiver of its own; clients take turns at the tokenizers.
  /// ResourceExhausted when the queue of the tokenizers has no room for this client (QueueHasRoom),
  /// Unavailable when the pipeline is being destroyed; there is no row then.
  absl::Status Submit(std::shared_ptr<Receiver> receiver, const std::string& client,
                      Tokenize tokenize);

  /// Ends the request that was submitted with `receiver`, wherever it is; nothing when it has
  /// ended or was not taken.
  void Abort(Receiver& receiver);
  void AbortAll();

 private:
  struct Task {
    std::shared_ptr<Receiver> receiver;
    Tokenize tokenize;
  };

  void EndThreads();
  void RunTokenizer();
  void RunRouter();
  void RunDetokenizer();
  absl::StatusOr<RouterMessage> Prepare(const Task& task);
  void AbortLocked(Receiver& receiver);
  void EraseLocked(const std::shared_ptr<Receiver>& receiver);
  void TakeAborts(std::vector<RouterMessage>& messages);
  void SendTerminalRow(std::shared_ptr<Receiver> receiver, absl::Status status);

  const Stepper router_;
  const std::function<void(BatchTokenIdOut)> detokenize_;
  TurnQueue<Task> tasks_;
  BoundedQueue<RouterMessage> messages_;
  BoundedQueue<BatchTokenIdOut> outputs_;

  std::mutex mutex_;                                    // guards what follows, to closing_
  std::unordered_set<std::shared_ptr<Receiver>> live_;  // without a terminal row
  std::vector<RouterMessage> aborts_;                   // for the next step
  uint64_t num_submitted_ = 0;
  bool closing_ = false;

  std::vector<std::thread> tokenizers_;
  std::thread router_thread_, detokenizer_;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_PIPELINE_H_
