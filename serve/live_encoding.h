#ifndef SHORTLIST_SERVE_LIVE_ENCODING_H_
#define SHORTLIST_SERVE_LIVE_ENCODING_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "router/pipeline.h"
#include "serve/live_request.h"
#include "serve/served_encoder.h"

namespace shortlist {

class LiveEncoding;

/// A part of an EncodeBatch: one request of the pipeline. Each member belongs to one thread.
struct LiveChunk final : Receiver {
  size_t begin = 0;  // index of its first input in the batch; constant
  // Of each input; written by the tokenizer thread, then constant.
  std::vector<int64_t> num_tokens;
  LiveEncoding* encoding = nullptr;  // the I/O thread's; null: the result is no longer wanted
};

/// An EncodeBatch of any size on its way through the pipeline. It is sent in chunks, of which only
/// some are in flight at a time. So it fills no queue, and one chunk is tokenized while another is
/// computed. Used on the I/O thread. The destructor aborts chunks in flight.
class LiveEncoding final : public NamedWork {
 public:
  /// Maximum number of texts in a chunk. A picture is a chunk of its own: it takes a tokenizer
  /// thread about as long as a chunk of texts. So the client's next request waits for queued
  /// chunks, not for all pictures.
  static constexpr size_t kChunkInputs = 64;
  static constexpr size_t kMaxChunks = 8;  // chunks of one batch in flight
  /// With this many chunks of all batches in flight, each batch has one in flight.
  static constexpr int64_t kManyChunks = 256;

  /// `name` is as for LiveGeneration. `encoder` must outlive the pipeline.
  LiveEncoding(const boost::asio::any_io_executor& executor, std::shared_ptr<LiveRegistry> registry,
               std::string name, const ServedEncoder& encoder, EncodeBatch batch,
               std::string client);
  ~LiveEncoding() override;

  /// Waits for all results. Of several errors, returns that of the first chunk, which names the
  /// input by the batch's field. Call once.
  boost::asio::awaitable<absl::StatusOr<EncodedBatch>> Run();

  void Abort() override;
  /// Receives the end of a chunk.
  void Deliver(const LiveChunk& chunk, absl::Status status, std::vector<EncodeResult> results);

 private:
  void SendChunks();
  absl::Status SendChunk();
  boost::asio::awaitable<void> Wait();
  void Fail(size_t begin, absl::Status status);
  bool failed() const;

  const std::shared_ptr<LiveRegistry> registry_;
  const std::string name_, client_;
  const ServedEncoder& encoder_;
  EncodeBatch batch_;             // inputs that were sent have been moved out
  const int64_t num_abort_alls_;  // LiveRegistry::num_abort_alls at construction
  const std::chrono::steady_clock::time_point start_, deadline_;
  boost::asio::steady_timer wake_;
  EncodedBatch encoded_;
  // In flight, by index of the first input.
  std::map<size_t, std::shared_ptr<LiveChunk>> under_way_;
  size_t num_sent_ = 0;          // inputs
  int64_t num_tokens_sent_ = 0;  // approximate number of tokens of the inputs sent
  absl::Status status_;          // the first error
  size_t failed_begin_ = 0;      // first input of the chunk that failed
};

/// InvalidArgument, naming field and bound, if the results exceed kMaxResultBytes together, or the
/// texts that are read again for each input do.
absl::Status CheckBatchSize(const ServedEncoder& encoder, const EncodeBatch& batch);

/// Accounts for the memory of a batch's results during its lifetime. On the I/O thread.
class ResultBytes {
 public:
  /// ResourceExhausted if large batches, of all clients or of this one, leave too little room for
  /// another large one.
  static absl::StatusOr<ResultBytes> Hold(std::shared_ptr<LiveRegistry> registry,
                                          const std::string& client, const ServedEncoder& encoder,
                                          const EncodeBatch& batch);
  ~ResultBytes();
  ResultBytes(ResultBytes&&) noexcept = default;
  ResultBytes& operator=(ResultBytes&&) = delete;

 private:
  ResultBytes(std::shared_ptr<LiveRegistry> registry, std::string client, int64_t num_bytes);

  std::shared_ptr<LiveRegistry> registry_;  // null: moved from
  std::string client_;
  int64_t num_bytes_;
};

/// Prepares the inputs of a chunk. On a tokenizer thread. An error names the input.
absl::StatusOr<TokenizedEmbedReqInput> PrepareChunk(const ServedEncoder& encoder,
                                                    const EncodeBatch& chunk, LiveChunk& live);

/// Adds to an error of input `index` of the batch the name that the dialect has for the input.
absl::Status OfInput(const EncodeBatch& batch, size_t index, const absl::Status& status);

/// Delivers the end of a chunk to its LiveEncoding, if that still exists. On the I/O thread.
void Deliver(LiveRegistry& registry, LiveChunk& live, absl::Status status,
             std::vector<EncodeResult> results);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_LIVE_ENCODING_H_
