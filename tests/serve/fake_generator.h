#ifndef SHORTLIST_TESTS_SERVE_FAKE_GENERATOR_H_
#define SHORTLIST_TESTS_SERVE_FAKE_GENERATOR_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/generator.h"
#include "serve/http/message.h"

namespace shortlist {

/// A Generator that replays scripts of a test: each Start takes the next one.
class FakeGenerator : public Generator {
 public:
  struct Script {
    absl::Status start;                   // of Start itself
    std::vector<GenerationEvent> events;  // the last one is finished
    int num_pauses = 0;  // calls of NextWithin that time out before the first event
    bool hangs = false;  // after its events: until it is aborted
  };

  FakeGenerator(boost::asio::any_io_executor executor, Options options);

  std::deque<Script> scripts;
  bool encodes = false;  // false: Encode refuses; true: all values are 0.25
  std::vector<GenerateRequest> started;
  int64_t num_alive = 0;  // Generations that exist

  absl::StatusOr<std::unique_ptr<Generation>> Start(std::vector<GenerateRequest> requests,
                                                    const Client& client,
                                                    const std::string& rid) override;
  boost::asio::awaitable<absl::StatusOr<EncodedBatch>> Encode(EncodeBatch batch, const Client&,
                                                              const std::string& rid) override;
  bool Abort(const Client&, const std::string&) override { return false; }
  void AbortAll() override {}
  int64_t num_abort_alls() const override { return 0; }
  void Drain() override {}
  bool draining() const override { return false; }
  void ShutDown() override {}
  int64_t num_live() const override { return num_alive; }
  EngineLoad Load() const override { return {}; }
  double Throughput() const override { return 0; }
  absl::Status FlushCache() override { return absl::OkStatus(); }
  const Options& options() const override { return options_; }

 private:
  const boost::asio::any_io_executor executor_;
  const Options options_;
};

/// Keeps what a handler answered.
class FakeResponse : public HttpResponse {
 public:
  int status = 0;
  std::string content_type, body;
  std::vector<std::string> writes;  // of a stream
  bool streams = false;

  std::map<std::string, std::string> headers;

  void SetHeader(std::string_view name, std::string value) override {
    headers[std::string(name)] = std::move(value);
  }
  boost::asio::awaitable<void> Send(int status, std::string_view content_type,
                                    std::string body) override;
  boost::asio::awaitable<void> StartStream(std::string_view content_type) override;
  boost::asio::awaitable<void> Write(std::string bytes) override;
  bool started() const override { return status != 0; }
  RequestRecord& record() override { return record_; }

 private:
  RequestRecord record_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SERVE_FAKE_GENERATOR_H_
