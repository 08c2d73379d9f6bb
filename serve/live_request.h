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

/// What a client may end by the name it gave it.
class NamedWork {
 public:
  virtual ~NamedWork() = default;
  virtual void Abort() = 0;
};

/// What generations and encodings share on the I/O thread. Outlives the generator as long as events
/// are on their way.
struct LiveRegistry {
  Pipeline* pipeline = nullptr;                         // null: the generator has gone
  std::unordered_map<std::string, NamedWork*> by_name;  // those that clients named
  std::atomic<int64_t> num_live = 0;  // requests of the pipeline; read by any thread
  int64_t num_chunks = 0;             // of these, of encodings
  int64_t num_abort_alls = 0;         // how often everything was aborted
  int64_t num_result_bytes = 0;       // of encodings that are under way
  std::unordered_map<std::string, int64_t>
      result_bytes_of;  // each client's; none where it has none
};

/// One request between Start and its last event. Each thread has members of its own.
struct LiveRequest final : Receiver {
  // Constant.
  std::string client;
  size_t index = 0;
  std::chrono::steady_clock::time_point start;
  // The tokenizer thread's, then constant.
  int64_t prompt_tokens = 0;
  std::vector<TokenId> scored_ids;  // of the prompt, from prompt_logprobs_start on
  bool tells_output = true;
  bool speculates = true;
  // Of the prompt, while it is on its way to the engine; whoever has the generator's load_mutex_.
  int64_t num_pending_tokens = 0;
  // The detokenizer thread's.
  std::unique_ptr<OutputText> text;
  int64_t completion_tokens = 0;
  std::vector<int64_t> accepted_counts;
  std::chrono::steady_clock::time_point first_step, last_step;  // that brought tokens
  // The I/O thread's.
  LiveGeneration* generation = nullptr;  // null: nobody is interested any more
};

/// The Generation of a Generator: events wait here, one for each request at most, until they are
/// taken. It has its name until the last event of every request has come, or it goes.
class LiveGeneration final : public Generation, public NamedWork {
 public:
  /// `name`: among those of all clients, not taken; empty: none.
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
  std::deque<size_t> ready_;                             // those that have one, longest first
  int64_t num_ended_ = 0;                                // requests: the last event has come,
  int64_t num_taken_ = 0;                                // and was taken
};

/// Hands an event to whom it concerns; the last one ends the request. On the I/O thread.
void Deliver(LiveRegistry& registry, LiveRequest& live, GenerationEvent event);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_LIVE_REQUEST_H_
