#include "cli/flags/flags.h"

#include <limits>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/flags/flag_kinds.h"
#include "cli/flags/foreign_flags.h"
#include "router/encoding_loop.h"
#include "serve/http/auth.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxDraftTokens = 64;
constexpr int64_t kMaxBatch = 1024;
constexpr int64_t kMaxRepetitions = 1000;
constexpr int64_t kMaxRequests = 1 << 20;
constexpr double kMaxTemperature = 100.0;

void AddParseSpecialFlag(CLI::App& command, RunFlags& flags) {
  AddChoice<bool>(command, "--parse-special", flags.parse_special, {{"on", true}, {"off", false}},
                  "The spelling of a control token in a prompt is that token")
      ->default_str("on");
}

void AddConvTemplateFlag(CLI::App& command, std::string& name) {
  command
      .add_option("--conv-template", name,
                  "Named conversation template in place of the checkpoint's chat template")
      ->type_name("NAME");
}

/// The names that the fields of VocabOptions have, in place of --vocab.
void AddStaticVocabFlags(CLI::App& command, VocabOptions& options) {
  CLI::Option* const use =
      command.add_flag("--use-static-vocab", options.use_static_vocab,
                       "In place of --vocab: a share of the vocabulary, or a list");
  use->excludes(command.get_option("--vocab"));
  AddReal(command, "--static-vocab-ratio", options.static_vocab_ratio, 0.0, 1.0, Low::kExcluded,
          "With --use-static-vocab: the first ids, as many as make up this share")
      ->needs(use);
  command
      .add_option("--custom-vocab-path", options.custom_vocab_path,
                  "With --use-static-vocab: a list, which wins over the ratio")
      ->needs(use)
      ->type_name("FILE");
}

/// `model_names`: those of the flag for the model.
CLI::Option* AddModelFlags(CLI::App& command, RunFlags& flags,
                           const std::string& model_names = "--model,--model-path") {
  CLI::Option* const model =
      command
          .add_option(model_names, flags.models.model,
                      "Target: a Hugging Face model directory, or org/name[@revision] of the cache")
          ->type_name("DIR");
  command
      .add_option("--draft", flags.models.draft,
                  "Draft: a Llama model with the target's tokenizer, or an EAGLE-1 head for it")
      ->type_name("DIR");
  auto parse_vocab = [&flags](const std::string& text) {
    absl::StatusOr<VocabOptions> options = ParseVocabFlag(text);
    if (!options.ok()) {
      throw CLI::ValidationError("--vocab", std::string(options.status().message()));
    }
    flags.vocab = *std::move(options);
  };
  command.add_option_function<std::string>("--vocab", parse_vocab, "Base of the active vocabulary")
      ->type_name(
          "full|empty|ratio:R|FILE[:top=N|:ratio=R|:coverage=C|:auto[=MIN..MAX]][:successors=M]")
      ->default_str("full");
  AddStaticVocabFlags(command, flags.vocab);
  AddInteger<int64_t>(command, "--dynamic-rows", flags.dynamic_rows, 0, kMaxCount,
                      "Rows that prompt tokens and escapes of one request may add");
  AddInteger<int64_t>(command, "--dynamic-capacity", flags.dynamic_capacity, 0, kMaxCount,
                      "Rows of the part that requests share, which learns from all of them")
      ->each([&flags](const std::string&) { flags.given.dynamic_capacity = true; })
      ->default_str("0; of serve and chat: as --dynamic-rows");
  auto parse_discovery = [&flags](const std::string& text) {
    absl::StatusOr<DiscoveryOptions> options = ParseDiscoveryFlag(text);
    if (!options.ok()) {
      throw CLI::ValidationError("--discover", std::string(options.status().message()));
    }
    flags.decoding.discovery = *std::move(options);
  };
  command
      .add_option_function<std::string>("--discover", parse_discovery,
                                        "Of --dynamic-rows, those that guesses may take")
      ->type_name("continuations=N,prompt_target=N,target=N,top=K,variants=N");
  AddReal(command, "--coverage-floor", flags.decoding.coverage_floor, 0.0, 1.0, Low::kIncluded,
          "A request is drafted for with the full head while less than this share of its latest "
          "tokens is in its active vocabulary; 0: never");
  command
      .add_option(
          "--sketch", flags.sketch.path,
          "Sketch of the draft's head (shortlist vocab sketch): rows that every draft token "
          "adds by its hidden state")
      ->type_name("FILE");
  auto parse_sketch_rows = [&flags](const std::string& text) {
    if (const absl::Status status = flags.sketch.ParseRows(text); !status.ok()) {
      throw CLI::ValidationError("--sketch-rows", std::string(status.message()));
    }
  };
  command
      .add_option_function<std::string>(
          "--sketch-rows", parse_sketch_rows,
          "How many of them; of a range, whatever is fastest, measured while it runs; without "
          "--sketch by a sketch of the head alone")
      ->type_name("N|MIN..MAX")
      ->default_str(absl::StrCat(Sketch::kDefaultRows, " with --sketch, else 0"));
  AddInteger<int64_t>(command, "--num-draft-tokens", flags.decoding.num_draft_tokens, 1,
                      kMaxDraftTokens, "Most draft tokens per step, without the bonus token");
  AddReal(command, "--draft-p-min", flags.decoding.draft_p_min, 0.0, 1.0, Low::kIncluded,
          "Draft on while the target is likely to take all tokens of this step, by at least this "
          "forecast; 0 drafts --num-draft-tokens always");
  AddChoice<bool>(command, "--prompt-lookup", flags.decoding.prompt_lookup,
                  {{"on", true}, {"off", false}},
                  "Draft on with what followed the same tokens earlier in the request's text; not "
                  "with --draft-p-min 0")
      ->default_str("on");
  AddDtypeFlag(command, flags.models.dtype, "Weights and KV cache; auto keeps the checkpoint's");
  AddQuantizeFlag(command, flags.models.quantize,
                  "Linear layers and heads, target's and draft's, on load");
  AddChoice<std::optional<DType>>(
      command, "--quantize-draft", flags.models.quantize_draft,
      {{"int8", DType::kInt8}, {"int4", DType::kInt4}},
      "The draft's alone: cheaper drafts, and the output stays the target's");
  return model;
}

void AddVerifyFlag(CLI::App& command, RunFlags& flags) {
  AddChoice<VerifyMode>(command, "--verify", flags.decoding.verify,
                        {{"coupled", VerifyMode::kCoupled}, {"rejection", VerifyMode::kRejection}},
                        "How sampled drafts are verified")
      ->default_str("coupled");
}

void AddDeviceFlag(CLI::App& command, RunFlags& flags) {
  AddChoice<Device>(command, "--device", flags.models.device,
                    {{"cpu", Device::kCpu}, {"cuda", Device::kCuda}},
                    "Where the draft's head is scored")
      ->default_str("cpu");
}

void AddSamplingFlags(CLI::App& command, RunFlags& flags) {
  SamplingParams& sampling = flags.sampling;
  const auto notes = [](bool& given) { return [&given](const std::string&) { given = true; }; };
  AddInteger<int64_t>(command, "--max-new-tokens", sampling.max_new_tokens, 1, kMaxCount,
                      "Length limit of each output")
      ->each(notes(flags.given.max_new_tokens))
      ->default_str("the model's, else 128");
  AddReal(command, "--temperature", sampling.temperature, 0.0, kMaxTemperature, Low::kIncluded,
          "0 is greedy")
      ->each(notes(flags.given.temperature))
      ->default_str("the model's, else 0");
  AddReal(command, "--top-p", sampling.top_p, 0.0, 1.0, Low::kExcluded,
          "Keep the fewest tokens whose probabilities reach this")
      ->each(notes(flags.given.top_p))
      ->default_str("the model's, else 1");
  AddInteger<int64_t>(command, "--top-k", sampling.top_k, 0, kMaxCount,
                      "Keep the likeliest tokens; 0 keeps all")
      ->each(notes(flags.given.top_k))
      ->default_str("the model's, else 0");
  AddReal(command, "--min-p", sampling.min_p, 0.0, 1.0, Low::kIncluded,
          "Keep tokens with at least this share of the best probability")
      ->each(notes(flags.given.min_p))
      ->default_str("the model's, else 0");
  AddInteger<uint64_t>(command, "--seed", sampling.seed, 0, std::numeric_limits<uint64_t>::max(),
                       "Output is a function of seed and prompt");
  AddVerifyFlag(command, flags);
}

void AddOutputFlags(CLI::App& command, RunFlags& flags) {
  AddThreadsFlag(command, flags.num_threads);
  AddDeviceFlag(command, flags);
  command.add_flag("--json", flags.json, "JSON instead of text");
}

void AddSchedulerFlags(CLI::App& command, SchedulerOptions& options) {
  AddChoice<SchedulePolicy>(command, "--schedule-policy", options.policy,
                            {{"lpm", SchedulePolicy::kLpm},
                             {"fcfs", SchedulePolicy::kFcfs},
                             {"dfs_weight", SchedulePolicy::kDfsWeight},
                             {"random", SchedulePolicy::kRandom}},
                            "In which order waiting requests are admitted")
      ->default_str("lpm");
  AddInteger<int64_t>(command, "--max-prefill-tokens", options.max_prefill_tokens, 1, kMaxCount,
                      "Most tokens of a prefill pass");
  AddInteger<int64_t>(command, "--chunked-prefill-size", options.chunked_prefill_size, 0, kMaxCount,
                      "Prompts are cut so that a pass has at most this many tokens; 0: uncut");
  AddInteger<int64_t>(command, "--max-running-requests", options.max_running_requests, 1,
                      kMaxRequests, "Requests computed together");
  AddInteger<int64_t>(command, "--max-queued-requests", options.max_queued_requests, 1,
                      kMaxRequests, "Requests that may wait");
  AddInteger<int64_t>(command, "--max-total-tokens", options.max_total_tokens, 1, kMaxCount,
                      "KV slots of all requests and the radix cache");
  AddInteger<int64_t>(command, "--context-length,--max-model-len", options.context_length, 0,
                      kMaxCount, "Longest request, prompt and output; 0: the model's context");
  command.add_flag("--disable-radix-cache", options.disable_radix_cache,
                   "Share no prefixes between requests");
}

/// What CLI11 takes for a check; the key is not in the message.
std::string KeyError(const std::string& text) { return std::string(CheckKey(text).message()); }

void AddKeyFlags(CLI::App& command, ServeFlags& flags) {
  command
      .add_option("--api-key", flags.api_keys,
                  "Bearer token that requests must bring; may be given again, for further ones. "
                  "Without it SHORTLIST_API_KEY counts")
      ->type_name("KEY")
      ->allow_extra_args(false)
      ->check(KeyError);
  command
      .add_option("--api-key-file", flags.api_key_file,
                  "Further ones: on each line a key, or a name, a space and its key")
      ->type_name("FILE");
  command
      .add_option("--admin-key", flags.admin_key,
                  "Bearer token for administration, which is off without one. Without it "
                  "SHORTLIST_ADMIN_KEY counts")
      ->type_name("KEY")
      ->check(KeyError);
}

void AddClientVocabFlag(CLI::App& command, ServeFlags& flags) {
  auto parse = [&flags](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const size_t end = text.find('=');
      if (end == 0 || end == std::string::npos) {
        throw CLI::ValidationError("--client-vocab", "'" + text + "' is not NAME=V");
      }
      absl::StatusOr<VocabOptions> options = ParseVocabFlag(text.substr(end + 1));
      if (!options.ok()) {
        throw CLI::ValidationError("--client-vocab", std::string(options.status().message()));
      }
      if (options->auto_size) {
        throw CLI::ValidationError("--client-vocab", "'" + text + "': auto is --vocab's alone");
      }
      const std::string name = text.substr(0, end);
      for (const auto& [taken, vocab] : flags.client_vocabs) {
        if (taken == name) {
          throw CLI::ValidationError("--client-vocab", "'" + name + "' has two vocabularies");
        }
      }
      flags.client_vocabs.emplace_back(name, *std::move(options));
    }
  };
  command
      .add_option_function<std::vector<std::string>>(
          "--client-vocab", parse, "As --vocab, for requests with the key of this name alone")
      ->type_name("NAME=V")
      ->allow_extra_args(false);
}

void AddHttpFlags(CLI::App& command, ServeFlags& flags) {
  command.add_option("--host", flags.http.host, "Address to listen on")
      ->type_name("HOST")
      ->default_str(flags.http.host);
  AddInteger<uint16_t>(command, "--port", flags.http.port, 0, 65535, "0: any free one");
  AddKeyFlags(command, flags);
  HttpLimits& limits = flags.http.limits;
  AddInteger<int64_t>(command, "--max-body-bytes", limits.max_body_bytes, 1, 1 << 30,
                      "Longest body of a request");
  AddInteger<int64_t>(command, "--max-connections", limits.max_connections, 1, kMaxRequests,
                      "Open connections; fewer where the limit on open files is lower");
  AddInteger<int64_t>(command, "--max-connections-per-address", limits.max_connections_per_address,
                      0, kMaxRequests,
                      "Of these, from one address, such as a proxy; 0: half of them");
  CLI::Option* health =
      AddInteger<uint16_t>(command, "--health-port", flags.health_port, 1, 65535,
                           "A second port for /health and /metrics alone, without keys")
          ->default_str("none");
  command.add_option("--health-host", flags.health_host, "Address of --health-port")
      ->type_name("HOST")
      ->default_str("--host")
      ->needs(health);
  command
      .add_option("--log-file", flags.log_file, "Append the log to this file; SIGHUP opens it anew")
      ->type_name("FILE")
      ->default_str("stderr");
  command
      .add_option("--allowed-host", flags.http.allowed_hosts,
                  "Names under which clients reach the server; requests to others are refused. A "
                  "server on a loopback address without --api-key knows only that address and "
                  "localhost beside them")
      ->type_name("NAME")
      ->delimiter(',');
  command
      .add_option("--allowed-origin", flags.http.allowed_origins,
                  "Origins of other sites' pages that may call the server")
      ->type_name("https://HOST[:PORT]")
      ->delimiter(',');
}

void AddFastchatFlags(CLI::App& command, ServeFlags& flags) {
  CLI::Option* controller =
      command.add_option("--controller,--controller-address", flags.controller,
                         "FastChat controller to register with");
  controller->type_name("URL");
  command
      .add_option("--worker-address", flags.worker_address,
                  "Where FastChat's controller and API server reach this server")
      ->type_name("URL")
      ->default_str("http://HOST:PORT")
      ->needs(controller);
  command
      .add_option("--model-names", flags.model_names,
                  "What FastChat calls the model: one name or several, with commas")
      ->type_name("NAMES")
      ->delimiter(',')
      ->default_str("--served-model-name");
  AddInteger<int64_t>(command, "--limit-worker-concurrency", flags.limit_worker_concurrency, 1,
                      kMaxRequests, "FastChat's requests that run at a time")
      ->default_str("--max-running-requests");
}

void AddEncoderFlags(CLI::App& command, ServeFlags& flags) {
  const auto add = [&command](const std::string& flag, EncoderFlags& encoder,
                              const std::string& what) {
    CLI::Option* const model = command.add_option(flag, encoder.model, what)->type_name("DIR");
    command.add_option(flag + "-name", encoder.name, "What clients call it")
        ->type_name("NAME")
        ->default_str("as --served-model-name's")
        ->needs(model);
  };
  add("--embed-model", flags.embed, "Encoder that makes embeddings, beside --model or without one");
  add("--rerank-model", flags.rerank,
      "Reranker that makes scores of pairs, likewise: a classifier, or a decoder that answers yes "
      "or no");
  command.add_flag("--is-embedding", flags.is_embedding,
                   "--model is to make embeddings, though it could generate text");
  flags.max_batch_tokens = EncodingLoop::Options().max_batch_tokens;
  AddInteger<int64_t>(command, "--max-batch-tokens", flags.max_batch_tokens, 1, kMaxCount,
                      "Most tokens of an encoder's pass; a longer input has one of its own");
  command
      .add_option(
          "--image-url-hosts", flags.image_url_hosts,
          "Hosts, or host:port, whose http and https addresses clients may send in place of "
          "pictures, with commas")
      ->type_name("HOSTS")
      ->delimiter(',')
      ->default_str("none");
}

}  // namespace

void AddRunFlags(CLI::App& command, RunFlags& flags) {
  AddModelFlags(command, flags)->required();
  CLI::Option_group* input = command.add_option_group("Input", "Exactly one of");
  input->add_option("--prompt", flags.prompt, "One prompt")->type_name("TEXT");
  input
      ->add_option("--prompts", flags.prompts_path,
                   R"(Rows {"prompt": ...} or {"turns": [...]}, of which the first counts)")
      ->type_name("FILE.jsonl");
  input->require_option(1);
  AddParseSpecialFlag(command, flags);
  AddSamplingFlags(command, flags);
  AddInteger<int64_t>(command, "--batch", flags.batch, 1, kMaxBatch, "Prompts decoded together");
  AddOutputFlags(command, flags);
}

void AddCompareFlags(CLI::App& command, CompareFlags& flags) {
  AddRunFlags(command, flags.run);
  command.add_flag(
      "--sweep", flags.sweep,
      "A half to a thirty-second of the vocabulary from the list; --dynamic-rows count "
      "within");
  AddInteger<int64_t>(command, "--repetitions", flags.num_repetitions, 1, kMaxRepetitions,
                      "Runs of every prompt in every way; the fastest counts");
}

void AddReplayFlags(CLI::App& command, ReplayFlags& flags) {
  AddModelFlags(command, flags.run)->required();
  CLI::Option_group* input = command.add_option_group("Load", "Exactly one of");
  input
      ->add_option("--trace", flags.run.prompts_path,
                   R"(Rows as --prompts takes them, with "arrival_s" and more)")
      ->type_name("FILE.jsonl");
  input
      ->add_option("--generate", flags.generate,
                   "Random tokens: so many requests, a second, groups that share so many tokens, "
                   "tokens of their own")
      ->type_name("requests=64,rate=0,groups=1,shared=0,own=32");
  input->require_option(1);
  AddParseSpecialFlag(command, flags.run);
  AddSamplingFlags(command, flags.run);
  AddSchedulerFlags(command, flags.scheduler);
  command.add_flag("--simulate", flags.simulate,
                   "Run the scheduler alone, in virtual time with a cost model");
  AddOutputFlags(command, flags.run);
}

void AddChatFlags(CLI::App& command, ChatFlags& flags) {
  AddModelFlags(command, flags.run, "--model,--model-path,DIR")->required();
  command.add_option("--system", flags.system, "The system message")->type_name("TEXT");
  AddConvTemplateFlag(command, flags.conv_template);
  command.add_flag("--show-prompt", flags.show_prompt,
                   "Show what the model would read, text and ids, in place of its answers; lines "
                   "are the user's and the assistant's by turns");
  AddInteger<int64_t>(command, "--max-total-tokens", flags.max_total_tokens, 1, kMaxCount,
                      "KV slots: the longest conversation, where the context is no shorter");
  flags.run.sampling.max_new_tokens = kMaxCount;
  AddSamplingFlags(command, flags.run);
  command.get_option("--max-new-tokens")->default_str("what the context has room for");
  AddThreadsFlag(command, flags.run.num_threads);
  AddDeviceFlag(command, flags.run);
}

void AddServeFlags(CLI::App& command, ServeFlags& flags) {
  AddModelFlags(command, flags.run, "--model,--model-path,DIR")
      ->default_str("the demo pair, where no other model is given");
  AddClientVocabFlag(command, flags);
  AddEncoderFlags(command, flags);
  for (const char* name : {"--vocab", "--use-static-vocab"}) {
    command.get_option(name)->each([&flags](const std::string&) { flags.vocab_given = true; });
  }
  AddVerifyFlag(command, flags.run);
  AddSchedulerFlags(command, flags.scheduler);
  command.get_option("--max-total-tokens")->default_str("four contexts, as far as memory goes");
  AddHttpFlags(command, flags);
  AddFastchatFlags(command, flags);
  command.add_option("--served-model-name", flags.served_model_name, "What clients call the model")
      ->type_name("NAME")
      ->default_str("org/name, or the last component of the model's path");
  AddConvTemplateFlag(command, flags.conv_template);
  AddThreadsFlag(command, flags.run.num_threads);
  AddDeviceFlag(command, flags.run);
  AnswerForeignFlags(command);
}

}  // namespace shortlist
