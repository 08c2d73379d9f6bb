#ifndef SHORTLIST_CLI_FLAGS_FLAGS_H_
#define SHORTLIST_CLI_FLAGS_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "request/sampling_params.h"
#include "router/scheduler.h"
#include "runtime/decoding.h"
#include "runtime/models.h"
#include "serve/http/server.h"
#include "vocab/vocab_options.h"

namespace CLI {
class App;
}

namespace shortlist {

/// The flags that subcommands which run a model share.
struct RunFlags {
  ModelOptions models;
  VocabOptions vocab;                 // the full head unless --vocab says otherwise
  SketchOptions sketch;               // alone unless --vocab is given
  int64_t dynamic_rows = 0;           // at most the target's vocabulary, checked once that is known
  int64_t dynamic_capacity = 0;       // rows that all requests share, likewise
  DecodingOptions decoding;           // its base and shared rows are chosen by the flags above
  std::optional<std::string> prompt;  // at most one of prompt and prompts_path is given
  std::string prompts_path;
  bool parse_special = true;  // spellings of control tokens in prompts are these tokens
  SamplingParams sampling;
  /// Which flags were given; where they were not, the model may have its own wish.
  struct Given {
    bool temperature = false;
    bool top_p = false;
    bool top_k = false;
    bool min_p = false;
    bool max_new_tokens = false;
    bool dynamic_rows = false;
    bool dynamic_capacity = false;
    bool vocab = false;
  } given;
  int64_t batch = 1;
  int64_t num_threads = 0;  // set to the hardware's when --threads is not given
  bool json = false;
};

struct CompareFlags {
  RunFlags run;
  bool sweep = false;           // several sizes of the list instead of one
  bool explain = false;         // below the tables, not with --json
  int64_t num_repetitions = 3;  // of every prompt in every way to decode
};

struct ReplayFlags {
  RunFlags run;          // the trace is its prompts_path; its batch is not used
  std::string generate;  // a TraceShape in place of the trace; empty: none
  SchedulerOptions scheduler{.max_total_tokens = 16384};  // context_length 0: the model's
  bool simulate = false;  // a cost model and virtual time in place of the model
};

struct ChatFlags {
  RunFlags run;                      // no prompts
  std::string system;                // the system message; empty: none
  std::string conv_template;         // empty: the checkpoint's chat template, else zero_shot
  bool show_prompt = false;          // what the model would read, in place of answers
  int64_t max_total_tokens = 16384;  // KV slots: the longest conversation, where the context is not
};

/// An encoder to serve.
struct EncoderFlags {
  std::string model;  // as ModelOptions::model; empty: none
  std::string name;   // what clients call it; empty: DefaultModelName
};

struct ServeFlags {
  RunFlags run;  // no prompts and no sampling; without any model the demo pair is served
  EncoderFlags embed, rerank;
  bool is_embedding = false;                 // the model of `run` is not to generate text
  int64_t max_batch_tokens = 0;              // of an encoder's pass
  std::vector<std::string> image_url_hosts;  // as Fetcher::Options::hosts
  // context_length 0: the model's; max_total_tokens 0: by the memory that is free
  SchedulerOptions scheduler;
  HttpServer::Options http;
  std::vector<std::string> api_keys;  // beside those of the file; none: SHORTLIST_API_KEY
  std::string api_key_file;           // empty: none
  std::string admin_key;              // empty: SHORTLIST_ADMIN_KEY
  /// The base of the active vocabulary for the requests of one key, by its name.
  std::vector<std::pair<std::string, VocabOptions>> client_vocabs;
  uint16_t health_port = 0;  // 0: none
  std::string health_host;   // empty: that of `http`
  std::string log_file;      // empty: stderr
  int64_t shutdown_timeout_s = 60;
  bool ignores_unknown_fields = false;
  std::string served_model_name;  // empty: DefaultModelName
  std::string conv_template;      // empty: the checkpoint's chat template, else by its name
  // As a worker of FastChat; without a controller the others say nothing to anybody.
  std::string controller, worker_address;  // URLs; empty: none, and that of host and port
  std::vector<std::string> model_names;    // empty: served_model_name
  int64_t limit_worker_concurrency = 0;    // 0: max_running_requests
};

/// Adds the flags to `command`; parsing fills `flags`, which must outlive it. A value out of bounds
/// (NaN included) is a CLI::ValidationError that names the flag, the value and the bound.
void AddRunFlags(CLI::App& command, RunFlags& flags);
void AddCompareFlags(CLI::App& command, CompareFlags& flags);
void AddReplayFlags(CLI::App& command, ReplayFlags& flags);
void AddChatFlags(CLI::App& command, ChatFlags& flags);
void AddServeFlags(CLI::App& command, ServeFlags& flags);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_FLAGS_FLAGS_H_
