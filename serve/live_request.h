#ifndef SHORTLIST_SERVE_LIVE_REQUEST_H_
#define SHORTLIST_SERVE_LIVE_REQUEST_H_

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "router/pipeline.h"
#include "serve/generator.h"
#include "serve/output_text.h"

namespace shortlist {

class LiveGeneration;

/// Work that a client may abort by the name it gave.
class NamedWork {
 public:
  virtual ~NamedWork() = default;
  virtual void Abort() = 0;
};

/// State that generations and encodings share on the I/O thread. Outlives the generator while
/// events are in flight.
struct LiveRegistry {
  Pipeline* pipeline = nullptr;                         // null: the generator has been destroyed
  std::unordered_map<std::string, NamedWork*> by_name;  // work that clients named
  std::atomic<int64_t> num_live = 0;  // requests of the pipeline; any thread may read it
  int64_t num_chunks = 0;             // of num_live, those of encodings
  int64_t num_abort_alls = 0;         // number of AbortAll() calls
  int64_t num_result_bytes = 0;       // of encodings in flight
  std::unordered_map<std::string, int64_t>
      // Of each client; clients without any have no entry.
      result_bytes_of;
};

/// One request between Start and its last event. Each member belongs to one thread.
struct LiveRequest final : Receiver {
  // Constant.
  std::string client;
  size_t index = 0;
  std::chrono::steady_clock::time_point start;
  // Written by the tokenizer thread, then constant.
  int64_t prompt_tokens = 0;
  std::vector<TokenId> scored_ids;  // of the prompt, from prompt_logprobs_start on
  bool tells_output = true;
  bool speculates = true;
  // Prompt tokens not yet handed to the engine. Guarded by GeneratorImpl::load_mutex_.
  int64_t num_pending_tokens = 0;
  // Used by the detokenizer thread.
  std::unique_ptr<OutputText> text;
  int64_t completion_tokens = 0;
  std::vector<int64_t> accepted_counts;
  std::chrono::steady_clock::time_point first_step, last_step;  // steps with tokens
  // Used by the I/O thread.
  LiveGeneration* generation = nullptr;  // null: events are no longer wanted
};

/// The Generation of a Generator. Events wait here, at most one per request, until they are taken.
/// The name is released after the last event of every request, or by the destructor.
class LiveGeneration final : public Generation, public NamedWork {
 public:
  /// `name`: unique among all clients, not taken; empty: none.
  LiveGeneration(const boost::asio::any_io_executor& executor,
                 std::shared_ptr<LiveRegistry> registry, std::string name);
  ~LiveGeneration() override;

  void Add(std::shared_ptr<LiveRequest> live);
  void Abort() override;
  void Deliver(GenerationEvent event);

  boost::asio::awaitable<GenerationEvent> Next() override;
  boost::asio::awaitable<std::optional<GenerationEvent>> NextWithin(
      std::chrono::milliseconds wait) override;
  bool finished() const override { return num_taken_ == std::ssize(requests_); }

 private:
  boost::asio::awaitable<void> Wait(std::chrono::steady_clock::time_point deadline);
  GenerationEvent Take();
  void GiveBackName();

  boost::asio::steady_timer wake_;
  const std::shared_ptr<LiveRegistry> registry_;
  std::string name_;
  std::vector<std::shared_ptr<LiveRequest>> requests_;
  std::vector<std::optional<GenerationEvent>> pending_;  // by index of the request
  std::deque<size_t> ready_;  // indices of requests with a pending event, oldest first
  int64_t num_ended_ = 0;     // requests whose last event has come
  int64_t num_taken_ = 0;     // requests whose last event was taken
};

/// Delivers an event to its generation, if that still exists; the last event ends the request. On
/// the I/O thread.
void Deliver(LiveRegistry& registry, LiveRequest& live, GenerationEvent event);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_LIVE_REQUEST_H_
