#include "cli/service_description.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/version.h"
#include "draft/draft_policy.h"
#include "io/model_source.h"
#include "kernels/head.h"
#include "kernels/quant.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/generation_config.h"
#include "model/decoder.h"
#include "nlohmann/json.hpp"
#include "runtime/decoding.h"
#include "runtime/models.h"
#include "sketch/sketch.h"
#include "text/tokenizer.h"
#include "vocab/active_vocab.h"

namespace shortlist {
namespace {

/// Text for one line of the log; empty if the model sets no defaults.
std::string Described(const SamplingDefaults& defaults) {
  std::string text;
  for (size_t i = 0; i < defaults.values.size(); ++i) {
    if (!defaults.values[i]) continue;
    absl::StrAppend(&text, " ", kSamplingFields[i].name, "=", *defaults.values[i]);
  }
  if (defaults.max_new_tokens) absl::StrAppend(&text, " max_tokens=", *defaults.max_new_tokens);
  return text;
}

/// 0 without a draft.
int64_t NumBaseRows(const Engine& engine) {
  if (engine.vocab() == nullptr) return 0;
  const std::shared_ptr<const ActiveVocab> active = engine.vocab()->Active();
  return active->base()->num_rows();
}

/// Known decoding costs at the current number of requests.
std::optional<DecodingCosts> CostsOf(const DraftPolicy& policy, const Scheduler& scheduler) {
  const int64_t num_requests = std::max<int64_t>(std::ssize(scheduler.running()), 1);
  if (policy.DraftMs(num_requests) == 0.0) return std::nullopt;
  DecodingCosts costs{.draft_pass_ms = policy.DraftMs(num_requests)};
  for (int64_t rows = 1; rows <= DecodingCosts::kMostRows; rows *= 2) {
    costs.verify_pass_ms.push_back(policy.VerifyMs(rows));
  }
  const double plain = policy.PlainRate(num_requests);
  if (plain > 0.0) costs.speed_up = policy.DraftedRate(num_requests) / plain;
  return costs;
}

/// Resident memory of this process in MB; 0 if the system does not report it.
int64_t ResidentMegabytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t num_pages = 0, num_resident = 0;
  if (!(statm >> num_pages >> num_resident)) return 0;
  return num_resident * sysconf(_SC_PAGESIZE) / 1'000'000;
}

/// Returns the "model_type" of a config.json; "" if it has none.
std::string ModelTypeOf(const nlohmann::json& config) {
  const auto found = config.find("model_type");
  return found != config.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

absl::StatusOr<Service> DescribeService(const ServeFlags& flags, Session& session, Engine& engine) {
  const ModelSource& source = session.models().model();
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json config, source.ReadJson("config.json"));
  const SchedulerOptions& scheduling = engine.router().scheduler().options();
  Service service;
  service.model_name = flags.served_model_name;
  service.source = source;
  service.version = kVersion;
  service.model_type = ModelTypeOf(config);
  service.architectures = {session.models().config().architecture};
  service.arguments = {{"draft_path", session.models().draft().path()},
                       {"host", flags.http.host},
                       {"port", flags.http.port},
                       {"dynamic_rows", session.flags().dynamic_rows},
                       {"max_prefill_tokens", scheduling.max_prefill_tokens},
                       {"chunked_prefill_size", scheduling.chunked_prefill_size},
                       {"max_queued_requests", scheduling.max_queued_requests},
                       {"disable_radix_cache", scheduling.disable_radix_cache}};
  service.max_running_requests = scheduling.max_running_requests;
  const SamplingDefaults& defaults = session.models().sampling();
  defaults.ApplyTo(service.sampling);
  service.max_new_tokens = defaults.max_new_tokens;
  const bool drafts = session.models().has_draft() || session.decoding().copies_alone;
  service.num_draft_tokens = drafts ? session.decoding().num_draft_tokens : 0;
  return service;
}

absl::StatusOr<Service> DescribeService(const ServeFlags& flags, const ServedEncoders& encoders) {
  const EncodingModel& model = encoders.front();
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json config, model.source().ReadJson("config.json"));
  Service service;
  service.model_name = encoders.Descriptions().front().name;
  service.source = model.source();
  service.version = kVersion;
  service.model_type = ModelTypeOf(config);
  service.architectures = {model.config().architecture};
  service.arguments = {{"host", flags.http.host},
                       {"port", flags.http.port},
                       {"max_batch_tokens", flags.max_batch_tokens}};
  return service;
}

std::string Summary(const ServeFlags& flags, Session& session, Engine& engine,
                    const PromptEncoder& encoder) {
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const RunFlags& run = session.flags();
  const SchedulerOptions& scheduling = engine.router().scheduler().options();
  std::string summary = absl::StrCat(
      "model=", quoted(run.models.model), " architecture=", session.models().config().architecture,
      " weights=", session.models().target().weight_types(), " memory_mb=", ResidentMegabytes(),
      " pool_tokens=", scheduling.max_total_tokens, " context_length=", scheduling.context_length);
  if (session.models().has_draft()) {
    const VocabBase& base = *session.base();
    const DecodingOptions& decoding = session.decoding();
    const bool begins_with_sketch = decoding.sketch_alone && session.sketch() != nullptr;
    const int64_t num_rows =
        begins_with_sketch ? 0 : std::min(session.models().tokenizer().size(), base.num_rows());
    const int64_t num_all = session.models().draft_head().vocab_size;
    const int64_t num_sketched = session.sketch() != nullptr ? decoding.num_sketch_rows : 0;
    const int64_t sketch_bytes = session.sketch() != nullptr ? session.sketch()->bytes() : 0;
    const int64_t num_own = base.is_full_head() && !begins_with_sketch
                                ? 0
                                : base.max_successors() + run.dynamic_rows + num_sketched;
    const HeadWeight head = session.models().draft_head();
    const int64_t row_bytes = RowBytes(head.dtype, head.hidden);
    absl::StrAppend(
        &summary, " draft=", quoted(run.models.draft), " rows=", num_rows,
        " head_bytes=", std::min(num_rows + num_own, num_all) * row_bytes + sketch_bytes,
        " full_head_bytes=", num_all * row_bytes);
    if (session.ladder() != nullptr) {
      absl::StrAppend(&summary, " sizes=", session.ladder()->rows().front(), "..",
                      session.ladder()->rows().back());
    }
    if (!session.scores_full_head()) {
      absl::StrAppend(&summary, " successors=", base.max_successors(),
                      " dynamic_rows=", run.dynamic_rows,
                      " list=", quoted(flags.run.vocab.custom_vocab_path));
      if (session.sketch() != nullptr || decoding.sketch_alone) {
        const std::string learned =
            decoding.learning != nullptr ? decoding.learning->sketch_cache : "";
        absl::StrAppend(&summary, " sketch_rows=", decoding.num_sketch_rows,
                        " sketch=", quoted(run.sketch.path.empty() ? learned : run.sketch.path));
      }
      if (decoding.learning != nullptr && session.sketch() == nullptr) {
        absl::StrAppend(&summary, " note=",
                        quoted("the draft scores its full head until a sketch of it is fitted"));
      }
    }
  } else {
    absl::StrAppend(&summary, " draft=none");
  }
  return absl::StrCat(summary, " template=", std::string(encoder.template_name()),
                      Described(session.models().sampling()));
}

std::string Summary(const ServedEncoders& encoders) {
  return absl::StrCat("model=none memory_mb=", ResidentMegabytes(), encoders.Summary());
}

EngineLoad LoadOf(const Engine& engine, const ServedEncoders& encoders) {
  const Router& router = engine.router();
  const Scheduler& scheduler = router.scheduler();
  const EngineStats& stats = engine.speculative().stats();
  const WaitingTokens waiting = scheduler.waiting_tokens();
  return {.num_running = std::ssize(scheduler.running()) + scheduler.num_prefilling(),
          .num_queued = scheduler.num_queued(),
          .num_waiting_tokens = waiting.all,
          .num_waiting_uncached_tokens = waiting.uncached,
          .num_used_tokens = scheduler.options().max_total_tokens - scheduler.available_len(),
          .num_cached_tokens = scheduler.cache().evictable_len(),
          .max_total_tokens = scheduler.options().max_total_tokens,
          .new_token_ratio = scheduler.new_token_ratio(),
          .scheduling = scheduler.stats(),
          .num_steps = stats.num_steps,
          .num_draft_passes = stats.num_draft_passes,
          .num_resting_steps = stats.num_resting_steps,
          .num_draft_failures = stats.num_draft_failures,
          .draft_error = engine.speculative().draft_error(),
          .draft_ms = stats.draft_ms,
          .verify_ms = stats.verify_ms,
          .costs = CostsOf(engine.speculative().policy(), scheduler),
          .base_rows = NumBaseRows(engine),
          .num_size_changes = engine.sizer() != nullptr ? engine.sizer()->num_changes() : 0,
          .encoders = encoders.Loads(router)};
}

}  // namespace shortlist
