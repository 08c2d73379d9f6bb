#include "cli/serve.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "cli/choose_models.h"
#include "cli/flags/keys.h"
#include "cli/served_encoders.h"
#include "cli/service_description.h"
#include "cli/session.h"
#include "cli/unblocked_cerr.h"
#include "io/model_source.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/generation_config.h"
#include "model/decoder.h"
#include "router/scheduler.h"
#include "runtime/engine.h"
#include "runtime/grammars.h"
#include "runtime/models.h"
#include "serve/fastchat/frame.h"
#include "serve/http/admission.h"
#include "serve/http/health_port.h"
#include "serve/server.h"
#include "text/chat/chat_template.h"
#include "text/chat/prompt_encoder.h"
#include "text/detokenizer.h"
#include "text/reply/reply_format.h"
#include "text/tokenizer.h"
#include "vocab/active_vocab.h"
#include "vocab/formats/list_file.h"
#include "vocab/vocab_sizer.h"

namespace shortlist {
namespace {

/// Open files other than connections: weights while they load, logs, libraries, system files.
constexpr int64_t kOwnFiles = 64;

/// Before the server can drain, signals end the process at once. As the first process of a
/// container it would otherwise not end at all: the system drops unhandled signals there.
void EndOnSignals() {
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, [](int) { _exit(0); });
}

/// Limits connections to the requested number or to what the system allows for this process.
absl::Status FitConnections(ServeFlags& flags) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::OkStatus();
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return absl::OkStatus();
  }
  const int64_t num_own =
      kOwnFiles + HttpAdmission::kMaxBeyond +
      (flags.health_port != 0 ? HealthPort::kMaxConnections + HttpAdmission::kMaxBeyond : 0);
  const auto num_files = static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, 1 << 30));
  int64_t& max_connections = flags.http.limits.max_connections;
  if (max_connections + num_own <= num_files) return absl::OkStatus();
  const std::string why =
      absl::StrCat("--max-connections ", max_connections, " and ", num_own,
                   " more open files exceed the limit of ", num_files, " (ulimit -n)");
  if (num_files <= num_own) return absl::InvalidArgumentError(why);
  max_connections = num_files - num_own;
  std::cerr << absl::StrCat("warning: ", why, ": no more than ", max_connections,
                            " connections are served at a time\n");
  return absl::OkStatus();
}

/// Returns the number of dynamic rows that all requests share. Their content reveals what others
/// generated, so clients with keys of their own share none.
int64_t NumSharedRows(const ServeFlags& flags, const Keys& keys) {
  const int64_t num_rows =
      flags.run.given.dynamic_capacity ? flags.run.dynamic_capacity : flags.run.dynamic_rows;
  if (keys.api.size() <= 1) return num_rows;
  if (num_rows > 0 && !flags.run.models.draft.empty()) {
    std::cerr << "note: with several API keys requests share no dynamic rows, each has its own\n";
  }
  return 0;
}

/// How FastChat's API server builds prompts; nullopt if it cannot, an error with --controller.
absl::StatusOr<std::optional<FastchatFrame>> OpenFastchatFrame(const ServeFlags& flags) {
  SHORTLIST_ASSIGN_OR_RETURN(const ModelSource source, ModelSource::Open(flags.run.models.model));
  const absl::StatusOr<ChatTemplate> own = ChatTemplate::Load(source);
  absl::StatusOr<FastchatFrame> frame =
      ChooseFastchatFrame(flags.conv_template, own.ok() ? &*own : nullptr, flags.run.models.model);
  if (frame.ok()) return *std::move(frame);
  if (flags.controller.empty()) return std::nullopt;
  return absl::InvalidArgumentError(absl::StrCat("--controller: ", frame.status().message()));
}

/// Opens the vocabulary bases that --client-vocab assigns to keys.
absl::StatusOr<std::unique_ptr<ClientVocabs>> OpenClientVocabs(const ServeFlags& flags,
                                                               const Keys& keys,
                                                               const Models& models) {
  std::vector<std::string> names;
  for (size_t i = 0; i < keys.api.size(); ++i) {
    names.push_back(keys.api[i].name.empty() ? absl::StrCat("key ", i + 1) : keys.api[i].name);
  }
  const int64_t capacity =
      flags.run.given.dynamic_capacity ? flags.run.dynamic_capacity : flags.run.dynamic_rows;
  auto clients = std::make_unique<ClientVocabs>(std::move(names), capacity);
  for (const auto& [name, vocab] : flags.client_vocabs) {
    if (!models.has_draft())
      return absl::InvalidArgumentError("--client-vocab without a draft model");
    const absl::StatusOr<std::shared_ptr<const VocabBase>> base =
        OpenVocabBase(vocab, models.vocab_target());
    const absl::Status status = base.ok() ? clients->SetBase(name, *base) : base.status();
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--client-vocab ", name, ": ", status.message()));
    }
  }
  return clients;
}

Pipeline::Stepper StepperOf(Router& router) {
  return {.exposed_step =
              [&router](std::vector<RouterMessage> messages) {
                return router.ExposedStep(std::move(messages));
              },
          .idle = [&router] { return router.idle(); }};
}

Generator::Options GeneratorOptions(const Session& session, const PromptEncoder& encoder,
                                    const ServedEncoders& encoders, Engine& engine) {
  Router* const router = &engine.router();
  const SchedulerOptions& scheduling = router->scheduler().options();
  return {.encoders = encoders.Descriptions(),
          .tokenizer = &session.models().tokenizer(),
          .prompt_encoder = &encoder,
          .stop_token_ids = session.sampling().stop_token_ids,
          .context_length = scheduling.context_length,
          .max_tail_rows = session.flags().dynamic_rows,
          .pipeline = {.queue_size = std::max<int64_t>(scheduling.max_queued_requests, 1024)},
          .router = StepperOf(*router),
          .load = [&engine, &encoders] { return LoadOf(engine, encoders); },
          .flush_cache = [router] { router->FlushCache(); }};
}

/// For a server without a generating model.
Generator::Options GeneratorOptions(const PromptEncoder& encoder, const ServedEncoders& encoders,
                                    Router& router) {
  return {.generates = false,
          .encoders = encoders.Descriptions(),
          .tokenizer = &encoders.front().tokenizer(),
          .prompt_encoder = &encoder,
          .context_length = encoders.front().max_input_tokens(),
          .router = StepperOf(router),
          .load = [&router, &encoders] { return EngineLoad{.encoders = encoders.Loads(router)}; },
          .flush_cache = [] {}};
}

/// The controller to register with; nullopt: none.
absl::StatusOr<std::optional<ControllerOptions>> Controller(const ServeFlags& flags,
                                                            const Keys& keys) {
  if (flags.controller.empty()) return std::nullopt;
  if (!keys.api.empty()) {
    return absl::InvalidArgumentError(
        "--controller with an --api-key: FastChat's servers bring no key to their workers");
  }
  ControllerOptions options;
  SHORTLIST_ASSIGN_OR_RETURN(options.controller, HttpUrl::Parse(flags.controller));
  options.worker_address = flags.worker_address;
  if (options.worker_address.empty()) {
    const std::string& host = flags.http.host;
    if (host == "0.0.0.0" || host == "::" || flags.http.port == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--controller with --host ", host, " and --port ", flags.http.port,
                       ": --worker-address must say where FastChat reaches this server"));
    }
    options.worker_address =
        "http://" + HttpUrl{.host = host, .port = absl::StrCat(flags.http.port)}.Authority();
  }
  SHORTLIST_RETURN_IF_ERROR(HttpUrl::Parse(options.worker_address).status());
  while (options.worker_address.ends_with('/')) options.worker_address.pop_back();
  return options;
}

absl::Status Run(Server::Options options) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                             Server::Create(std::move(options)));
  server->Run();
  return absl::OkStatus();
}

absl::Status ServeGeneration(const ServeFlags& flags, Server::Options options) {
  SHORTLIST_ASSIGN_OR_RETURN(options.fastchat.frame, OpenFastchatFrame(flags));
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Open(flags.run));
  SHORTLIST_ASSIGN_OR_RETURN(
      const ServedEncoders encoders,
      ServedEncoders::Open(flags, session->pool(), {&session->models(), flags.served_model_name}));
  SHORTLIST_ASSIGN_OR_RETURN(
      const PromptEncoder encoder,
      PromptEncoder::Open(session->models().tokenizer(),
                          {.name = flags.run.models.model,
                           .source = session->models().model(),
                           .conv_template = flags.conv_template,
                           .num_rows = session->models().config().vocab_size}));
  // The chat template is one of the model's files.
  SHORTLIST_RETURN_IF_ERROR(session->models().CheckUnchanged());
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<ClientVocabs> clients,
                             OpenClientVocabs(flags, options.keys, session->models()));
  DecodingOptions decoding = session->decoding();
  decoding.num_shared_rows = NumSharedRows(flags, options.keys);
  // Continuations of a prompt reveal what others generated, too.
  if (options.keys.api.size() > 1) decoding.continuation_rows = 0;
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::unique_ptr<Engine> engine,
      Engine::Create(session->models(), decoding, flags.scheduler, encoders.Loops()));
  // Without a compiler, requests with a grammar are rejected.
  const ReplyFormat reply_format =
      encoder.chat_template() == nullptr
          ? ReplyFormat()
          : FindReplyFormat(encoder.chat_template()->source_with_tools());
  const std::vector<TokenId> reply_marks =
      FindControls(session->models().tokenizer(), ReplyMarks(reply_format));
  const absl::StatusOr<std::unique_ptr<GrammarCompiler>> grammars =
      NewGrammarCompiler(session->models(), encoder.ChatStopTokenIds(), reply_marks);
  options.summary = absl::StrCat(Summary(flags, *session, *engine, encoder),
                                 " tool_calls=", std::string(ToolFormatName(reply_format.tools)),
                                 " reasoning=", reply_format.has_reasoning(), encoders.Summary());
  options.generator = GeneratorOptions(*session, encoder, encoders, *engine);
  options.generator.grammars = grammars.ok() ? grammars->get() : nullptr;
  options.generator.vocab_of_client = [&clients](const std::string& client) {
    return clients->Find(client);
  };
  SHORTLIST_ASSIGN_OR_RETURN(options.service, DescribeService(flags, *session, *engine));
  options.service.chat_template = std::string(encoder.template_name());
  options.service.reply_format = reply_format;
  options.service.reply_marks = reply_marks;
  options.vocab = {.manager = engine->vocab(),
                   .sizer = engine->sizer(),
                   .clients = clients.get(),
                   .vocab = flags.run.vocab,
                   .target = session->models().vocab_target(),
                   .read_list = ReadListFile,
                   .pinned = session->sampling().stop_token_ids};
  return Run(std::move(options));
}

absl::Status ServeEncoders(const ServeFlags& flags, Server::Options options) {
  ThreadPool pool(static_cast<int>(flags.run.num_threads));
  SHORTLIST_ASSIGN_OR_RETURN(const ServedEncoders encoders, ServedEncoders::Open(flags, pool));
  const EncodingModel& first = encoders.front();
  const PromptEncoder encoder(first.tokenizer(), first.config().vocab_size);
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Router> router,
                             Router::Create({.encoders = encoders.Loops()}));
  options.summary = Summary(encoders);
  options.generator = GeneratorOptions(encoder, encoders, *router);
  SHORTLIST_ASSIGN_OR_RETURN(options.service, DescribeService(flags, encoders));
  return Run(std::move(options));
}

}  // namespace

absl::Status Serve(const ServeFlags& given) {
  UnblockCerr();
  EndOnSignals();
  // A --log-file is reopened on SIGHUP later, once the server runs. Without one, SIGHUP has no
  // effect.
  std::signal(SIGHUP, SIG_IGN);
  ServeFlags flags = given;
  SHORTLIST_RETURN_IF_ERROR(ChooseModels(flags));
  Server::Options options;
  SHORTLIST_ASSIGN_OR_RETURN(options.keys, ReadKeys(flags));
  SHORTLIST_ASSIGN_OR_RETURN(options.controller, Controller(flags, options.keys));
  SHORTLIST_RETURN_IF_ERROR(FitConnections(flags));
  options.http = flags.http;
  options.fetch.hosts = flags.image_url_hosts;
  if (flags.health_port != 0) options.health_port = flags.health_port;
  options.health_host = flags.health_host;
  options.log_file = flags.log_file;
  options.drain_timeout = std::chrono::seconds(flags.shutdown_timeout_s);
  options.ignores_unknown_fields = flags.ignores_unknown_fields;
  options.fastchat.model_names = flags.model_names;
  options.fastchat.limit_worker_concurrency = flags.limit_worker_concurrency;
  return flags.run.models.model.empty() ? ServeEncoders(flags, std::move(options))
                                        : ServeGeneration(flags, std::move(options));
}

}  // namespace shortlist
