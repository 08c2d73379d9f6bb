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

/// Destination of one request's rows, passed to Submit() and carried by each row. Base class.
class Receiver {
 public:
  virtual ~Receiver() = default;

 private:
  friend class Pipeline;
  std::string rid_;         // constant after Submit()
  bool aborted_ = false;    // this and the next are guarded by Pipeline::mutex_
  bool in_router_ = false;  // from the request's first step to its terminal row
};

/// The threads around a Router, joined by bounded queues: a pool that tokenizes, one more thread
/// for requests that may take seconds to prepare, the router thread, and one that detokenizes. Text
/// is processed while the model computes. A slow detokenizer slows the router down, so output does
/// not accumulate.
///
/// Every request accepted by Submit() gets exactly one terminal row, at the latest when the
/// pipeline is destroyed, and is registered here until then. Thread-safe.
class Pipeline {
 public:
  /// Makes the message of one request (not an abort), except rid and receiver. Called by a
  /// tokenizer thread. An exception rejects the request.
  using Tokenize = std::function<absl::StatusOr<RouterMessage>()>;

  /// The Router's functions that the router thread calls.
  struct Stepper {
    std::function<BatchTokenIdOut(std::vector<RouterMessage>)> exposed_step;
    std::function<bool()> idle;
  };

  /// How long it takes to prepare a request. Those that may be slow (a grammar is compiled, a
  /// picture is decoded) wait for each other only.
  enum class Pace { kQuick, kMayBeSlow };

  struct Options {
    int num_tokenizers = 2;     // for requests that are quick; at least 1
    int64_t queue_size = 1024;  // per queue; at least 1
  };

  /// `detokenize` is called by the detokenizer thread, with rows in the order of the steps; it must
  /// not throw. Throws std::system_error if the system cannot start more threads.
  Pipeline(Stepper router, std::function<void(BatchTokenIdOut)> detokenize, Options options);
  /// Rejects new requests, aborts those being served, and waits for their terminal rows.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Submits a request of `client` with its own receiver. Clients take turns at the tokenizers.
  /// Returns ResourceExhausted if the tokenizers' queue has no room for this client (QueueHasRoom),
  /// Unavailable if the pipeline is being destroyed; no row is sent in these cases.
  absl::Status Submit(std::shared_ptr<Receiver> receiver, const std::string& client,
                      Tokenize tokenize, Pace pace = Pace::kQuick);

  /// Ends the request that was submitted with `receiver`, at any stage. No effect if the request
  /// has ended or was rejected.
  void Abort(Receiver& receiver);
  void AbortAll();

 private:
  struct Task {
    std::shared_ptr<Receiver> receiver;
    Tokenize tokenize;
  };

  void EndThreads();
  void RunTokenizer(TurnQueue<Task>& tasks);
  void RunRouter();
  void RunDetokenizer();
  absl::StatusOr<RouterMessage> Prepare(const Task& task);
  void AbortLocked(Receiver& receiver);
  void EraseLocked(const std::shared_ptr<Receiver>& receiver);
  void TakeAborts(std::vector<RouterMessage>& messages);
  void SendTerminalRow(std::shared_ptr<Receiver> receiver, absl::Status status);

  const Stepper router_;
  const std::function<void(BatchTokenIdOut)> detokenize_;
  TurnQueue<Task> tasks_, slow_tasks_;
  BoundedQueue<RouterMessage> messages_;
  BoundedQueue<BatchTokenIdOut> outputs_;

  std::mutex mutex_;                                    // guards all members up to closing_
  std::unordered_set<std::shared_ptr<Receiver>> live_;  // requests without a terminal row
  std::vector<RouterMessage> aborts_;                   // for the next step
  uint64_t num_submitted_ = 0;
  bool closing_ = false;

  std::vector<std::thread> tokenizers_;
  std::thread router_thread_, detokenizer_;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_PIPELINE_H_
