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

/// A part of an EncodeBatch: one request of the pipeline. Each thread has members of its own.
struct LiveChunk final : Receiver {
  size_t begin = 0;                  // constant: the index of its first input
  std::vector<int64_t> num_tokens;   // of each input; the tokenizer thread's, then constant
  LiveEncoding* encoding = nullptr;  // the I/O thread's; null: nobody is interested any more
};

/// An EncodeBatch of any size on its way through the pipeline: in chunks, of which only some are
/// under way at a time, so that it fills no queue and the inputs of one chunk are tokenized while
/// those of another are computed. Used on the I/O thread. Its destruction aborts what is under way.
class LiveEncoding final : public NamedWork {
 public:
  /// Texts of a chunk; a picture is a chunk of its own: it takes a tokenizer thread about as long,
  /// and what its client sends next waits for chunks that are there, not for all pictures.
  static constexpr size_t kChunkInputs = 64;
  static constexpr size_t kMaxChunks = 8;  // of one batch under way at a time
  /// When so many of all batches are under way, each batch has one.
  static constexpr int64_t kManyChunks = 256;

  /// `name` as LiveGeneration's; `encoder` must outlive the pipeline.
  LiveEncoding(const boost::asio::any_io_executor& executor, std::shared_ptr<LiveRegistry> registry,
               std::string name, const ServedEncoder& encoder, EncodeBatch batch,
               std::string client);
  ~LiveEncoding() override;

  /// Waits for all results. Of several errors the one of the first chunk is returned; it names the
  /// input, as the batch's field. To be called once.
  boost::asio::awaitable<absl::StatusOr<EncodedBatch>> Run();

  void Abort() override;
  /// The end of a chunk.
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
  EncodeBatch batch_;             // inputs that were sent have been moved away
  const int64_t num_abort_alls_;  // when it began
  const std::chrono::steady_clock::time_point start_, deadline_;
  boost::asio::steady_timer wake_;
  EncodedBatch encoded_;
  std::map<size_t, std::shared_ptr<LiveChunk>> under_way_;  // by their first input
  size_t num_sent_ = 0;                                     // inputs
  int64_t num_tokens_sent_ = 0;                             // about, in these
  absl::Status status_;                                     // what failed,
  size_t failed_begin_ = 0;                                 // and in which chunk
};

/// InvalidArgument names the field and the bound of a batch whose results, or the texts that are
/// read again for each input, are larger than kMaxResultBytes together.
absl::Status CheckBatchSize(const ServedEncoder& encoder, const EncodeBatch& batch);

/// Memory that the results of a batch will take, counted as long as this lives. On the I/O thread.
class ResultBytes {
 public:
  /// ResourceExhausted while what large batches, of all clients or of this one, hold leaves too
  /// little room for another one.
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

/// What becomes of a chunk's inputs on a tokenizer thread; an error names the input.
absl::StatusOr<TokenizedEmbedReqInput> PrepareChunk(const ServedEncoder& encoder,
                                                    const EncodeBatch& chunk, LiveChunk& live);

/// An error of input `index` of the batch, under the name that the dialect has for it.
absl::Status OfInput(const EncodeBatch& batch, size_t index, const absl::Status& status);

/// Hands a chunk's end to whom it concerns. On the I/O thread.
void Deliver(LiveRegistry& registry, LiveChunk& live, absl::Status status,
             std::vector<EncodeResult> results);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_LIVE_ENCODING_H_
