#ifndef SHORTLIST_SERVE_SERVICE_H_
#define SHORTLIST_SERVE_SERVICE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "io/model_source.h"
#include "nlohmann/json.hpp"
#include "request/sampling_params.h"
#include "serve/generator.h"
#include "serve/http/route_table.h"
#include "serve/http/worker_threads.h"
#include "serve/metrics.h"
#include "text/reply/reply_format.h"

namespace shortlist {

class Fetcher;

/// State that the routes of every dialect share. Outlives the route table.
struct Service {
  Generator* generator = nullptr;
  Metrics* metrics = nullptr;
  WorkerThreads* workers = nullptr;  // for work that would block the I/O thread
  Fetcher* fetcher = nullptr;        // of pictures; null: pictures are not fetched
  std::string model_name;            // --served-model-name
  ModelSource source;                // the model's files
  std::string version;
  std::string model_type;                  // model_type of config.json
  std::vector<std::string> architectures;  // architectures of config.json
  std::string chat_template;               // description of what renders chats, for people
  ReplyFormat reply_format;                // of the model that generates
  std::vector<TokenId> reply_marks;        // control tokens that are marks of the format
  // The model's defaults, used by OpenAI's dialect.
  SamplingParams sampling{.temperature = 1.0};
  std::optional<int64_t> max_new_tokens;  // nullopt: the dialect's default
  nlohmann::json arguments;               // flags by name, given or default; without keys
  int64_t max_running_requests = 0;
  int64_t num_draft_tokens = 0;
  std::chrono::system_clock::time_point started_at;

  /// Returns the generator's load; num_queued includes requests that wait for their turn to become
  /// generations.
  EngineLoad Load() const {
    EngineLoad load = generator->Load();
    load.num_queued += metrics->num_waiting();
    return load;
  }
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SERVICE_H_
