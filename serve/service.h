#ifndef SHORTLIST_SERVE_SERVICE_H_
#define SHORTLIST_SERVE_SERVICE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "io/model_source.h"
#include "nlohmann/json.hpp"
#include "serve/generator.h"
#include "serve/http/route_table.h"
#include "serve/http/worker_threads.h"
#include "serve/metrics.h"

namespace shortlist {

class Fetcher;

/// How generations are sampled where the client says nothing.
struct SamplingWish {
  double temperature = 1.0;
  int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  double repetition_penalty = 1.0;
  std::optional<int64_t> max_new_tokens;  // nullopt: as the dialect says
};

/// What the routes of every dialect work with. Outlives the route table.
struct Service {
  Generator* generator = nullptr;
  Metrics* metrics = nullptr;
  WorkerThreads* workers = nullptr;  // for what would hold up the I/O thread
  Fetcher* fetcher = nullptr;        // of pictures; null: none is fetched
  std::string model_name;            // --served-model-name
  ModelSource source;                // the model's files
  std::string version;
  std::string model_type;                  // config.json's
  std::vector<std::string> architectures;  // likewise
  std::string chat_template;               // what makes prompts of chats, for people
  SamplingWish sampling;                   // the model's own, for OpenAI's dialect
  nlohmann::json arguments;                // flags as given or by default, by name; no keys
  int64_t max_running_requests = 0;
  int64_t num_draft_tokens = 0;
  std::chrono::system_clock::time_point started_at;

  /// The generator's, with those that wait before they are generations among the queued.
  EngineLoad Load() const {
    EngineLoad load = generator->Load();
    load.num_queued += metrics->num_waiting();
    return load;
  }
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SERVICE_H_
