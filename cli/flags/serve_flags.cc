#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "cli/flags/flag_groups.h"
#include "cli/flags/flag_kinds.h"
#include "cli/flags/flags.h"
#include "cli/flags/foreign_flags.h"
#include "router/encoding_loop.h"
#include "serve/http/auth.h"

namespace shortlist {
namespace {

/// Check in the form of CLI11: returns the error message, which does not contain the key.
std::string KeyError(const std::string& text) { return std::string(CheckKey(text).message()); }

void AddKeyFlags(CLI::App& command, ServeFlags& flags) {
  const FlagTopic topic(command, "Keys");
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
      ->group(command.get_option("--vocab")->get_group())
      ->type_name("NAME=V")
      ->allow_extra_args(false);
}

void AddHttpFlags(CLI::App& command, ServeFlags& flags) {
  const FlagTopic topic(command, "Network and log");
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
  AddInteger<int64_t>(command, "--shutdown-timeout,--timeout-graceful-shutdown",
                      flags.shutdown_timeout_s, 0, 86'400,
                      "Seconds that running requests have after SIGTERM; then they are aborted");
  command.add_flag("--ignore-unknown-fields", flags.ignores_unknown_fields,
                   "Pass over fields of a request that a route does not know, and name them in "
                   "X-Ignored-Fields and in the log, in place of a refusal");
  command
      .add_option("--allowed-host", flags.http.allowed_hosts,
                  "Names under which clients reach the server; requests to others are refused. A "
                  "server on a loopback address without --api-key knows only that address and "
                  "localhost in addition")
      ->type_name("NAME")
      ->delimiter(',');
  command
      .add_option("--allowed-origin", flags.http.allowed_origins,
                  "Origins of other sites' pages that may call the server")
      ->type_name("https://HOST[:PORT]")
      ->delimiter(',');
}

void AddFastchatFlags(CLI::App& command, ServeFlags& flags) {
  const FlagTopic topic(command, "As a worker of FastChat");
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
  const FlagTopic topic(command, "Embeddings and scores");
  const auto add = [&command](const std::string& flag, EncoderFlags& encoder,
                              const std::string& what) {
    CLI::Option* const model = command.add_option(flag, encoder.model, what)->type_name("DIR");
    command.add_option(flag + "-name", encoder.name, "What clients call it")
        ->type_name("NAME")
        ->default_str("as --served-model-name's")
        ->needs(model);
  };
  add("--embed-model", flags.embed, "Encoder that makes embeddings, with --model or without one");
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

void AddServeFlags(CLI::App& command, ServeFlags& flags) {
  AddModelFlags(command, flags.run, "--model,--model-path,DIR")
      ->default_str("the demo pair, where no other model is given");
  command.add_option("--served-model-name", flags.served_model_name, "What clients call the model")
      ->group(command.get_option("--draft")->get_group())
      ->type_name("NAME")
      ->default_str("org/name, or the last component of the model's path");
  AddClientVocabFlag(command, flags);
  AddEncoderFlags(command, flags);
  AddVerifyFlag(command, flags.run);
  AddSchedulerFlags(command, flags.scheduler);
  command.get_option("--max-total-tokens")->default_str("four contexts, as far as memory goes");
  AddHttpFlags(command, flags);
  AddFastchatFlags(command, flags);
  AddConvTemplateFlag(command, flags.conv_template);
  AddThreadsFlag(command, flags.run.num_threads);
  AddDeviceFlag(command, flags.run);
  AnswerForeignFlags(command);
}

}  // namespace shortlist
