#ifndef SHORTLIST_CLI_FLAGS_FLAGS_H_
#define SHORTLIST_CLI_FLAGS_FLAGS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "request/sampling_params.h"
#include "request/sampling_table.h"
#include "router/scheduler.h"
#include "runtime/decoding.h"
#include "runtime/models.h"
#include "serve/http/server.h"
#include "vocab/vocab_options.h"

namespace CLI {
class App;
}

namespace shortlist {

/// Flags shared by subcommands that run a model.
struct RunFlags {
  ModelOptions models;
  VocabOptions vocab;                 // the full head unless --vocab says otherwise
  SketchOptions sketch;               // used without a list unless --vocab is given
  int64_t dynamic_rows = 0;           // at most the target's vocabulary, checked once that is known
  int64_t dynamic_capacity = 0;       // rows that all requests share; checked like dynamic_rows
  DecodingOptions decoding;           // base and shared rows come from the flags above
  std::optional<std::string> prompt;  // at most one of prompt and prompts_path is given
  std::string prompts_path;
  bool parse_special = true;  // spellings of control tokens in prompts become these tokens
  SamplingParams sampling;
  // What outputs must follow; at most one is given.
  std::string json_schema_path, grammar_path;
  std::optional<std::string> regex;
  /// Which flags were given. For others, the model's own defaults may apply.
  struct Given {
    std::array<bool, kNumSamplingFields> sampling{};  // in the order of kSamplingFields
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
  bool sweep = false;           // several sizes in place of one
  bool explain = false;         // after the tables; not with --json
  int64_t num_repetitions = 3;  // per prompt and way to decode
};

struct ReplayFlags {
  RunFlags run;          // the trace is its prompts_path; its batch is not used
  std::string generate;  // a TraceShape that replaces the trace; empty: none
  SchedulerOptions scheduler{.max_total_tokens = 16384};  // context_length 0: the model's
  bool simulate = false;  // replace the model by a cost model and virtual time
};

struct ChatFlags {
  RunFlags run;                      // no prompts
  std::string system;                // the system message; empty: none
  std::string conv_template;         // empty: the checkpoint's chat template, else zero_shot
  bool show_prompt = false;          // show the model's input instead of answering
  int64_t max_total_tokens = 16384;  // KV slots: bounds a conversation, as the context does
};

/// An encoder to serve.
struct EncoderFlags {
  std::string model;  // as ModelOptions::model; empty: none
  std::string name;   // what clients call it; empty: DefaultModelName
};

struct ServeFlags {
  RunFlags run;  // no prompts, no sampling; without any model, the demo pair
  EncoderFlags embed, rerank;
  bool is_embedding = false;                 // the model of `run` makes embeddings
  int64_t max_batch_tokens = 0;              // per pass of an encoder
  std::vector<std::string> image_url_hosts;  // see Fetcher::Options::hosts
  // context_length 0: the model's; max_total_tokens 0: set from the free memory
  SchedulerOptions scheduler;
  HttpServer::Options http;
  std::vector<std::string> api_keys;  // in addition to the file's; none: SHORTLIST_API_KEY
  std::string api_key_file;           // empty: none
  std::string admin_key;              // empty: SHORTLIST_ADMIN_KEY
  /// Base of the active vocabulary for requests of one key, by the key's name.
  std::vector<std::pair<std::string, VocabOptions>> client_vocabs;
  uint16_t health_port = 0;  // 0: none
  std::string health_host;   // empty: the host of `http`
  std::string log_file;      // empty: stderr
  int64_t shutdown_timeout_s = 60;
  bool ignores_unknown_fields = false;
  std::string served_model_name;  // empty: DefaultModelName
  std::string conv_template;      // empty: the checkpoint's chat template, else by its name
  // FastChat worker options. Without a controller, the other three have no effect.
  std::string controller, worker_address;  // URLs; empty: none, and the URL of host and port
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
