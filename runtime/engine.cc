#include "runtime/engine.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "model/checkpoint/config.h"
#include "router/messages.h"
#include "runtime/decoding.h"
#include "runtime/kv_pool_size.h"
#include "runtime/models.h"
#include "text/chat/prompt_encoder.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace shortlist {

absl::StatusOr<std::unique_ptr<Engine>> Engine::Open(Options options) {
  int64_t num_threads = options.num_threads;
  if (num_threads == 0) num_threads = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  auto pool = std::make_unique<ThreadPool>(static_cast<int>(num_threads));
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Models> models, Models::Open(options.models, *pool));
  SHORTLIST_ASSIGN_OR_RETURN(options.decoding.base, models->SelectBase(options.vocab));
  SHORTLIST_RETURN_IF_ERROR(
      options.sketch.Check(*options.decoding.base,
                           options.num_tail_rows.value_or(0) + options.decoding.num_shared_rows));
  SHORTLIST_ASSIGN_OR_RETURN(options.decoding.ladder, models->SelectLadder(options.vocab));
  SHORTLIST_RETURN_IF_ERROR(models->Load());
  SHORTLIST_RETURN_IF_ERROR(options.sketch.Open(*models, options.decoding));
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine,
                             Create(*models, options.decoding, options.scheduler));
  engine->own_pool_ = std::move(pool);
  engine->own_models_ = std::move(models);
  engine->num_tail_rows_ =
      options.num_tail_rows.value_or(options.decoding.sketch_alone ? SketchOptions::kTailRows : 0);
  return engine;
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(Models& models,
                                                       const DecodingOptions& decoding,
                                                       SchedulerOptions scheduler,
                                                       std::vector<Router::Encoder> encoders) {
  int64_t& num_slots = scheduler.max_total_tokens;
  if (num_slots == 0) {
    const int64_t context_length =
        scheduler.context_length == 0 ? models.config().context_len : scheduler.context_length;
    num_slots = ChooseNumSlots(FreeMemoryBytes(), models.kv_slot_bytes(), context_length);
  }
  if (const int64_t state_bytes = models.state_bytes(); state_bytes > 0) {
    scheduler.max_running_requests =
        LimitRunning(FreeMemoryBytes(), state_bytes, scheduler.max_running_requests);
  }
  std::unique_ptr<Engine> engine(new Engine(models));
  SHORTLIST_ASSIGN_OR_RETURN(*engine->decoding_, Decoding::Create(models, decoding, num_slots));
  SHORTLIST_ASSIGN_OR_RETURN(
      engine->router_, Router::Create(*engine->decoding_->engine,
                                      {.scheduler = scheduler, .encoders = std::move(encoders)}));
  return engine;
}

Engine::Engine(Models& models) : models_(models), decoding_(std::make_unique<Decoding>()) {}
Engine::~Engine() = default;

const SpeculativeEngine& Engine::speculative() const { return *decoding_->engine; }
ChainDrafter* Engine::drafter() { return decoding_->drafter.get(); }
DynamicVocabularyManager* Engine::vocab() { return decoding_->vocab.get(); }
const DynamicVocabularyManager* Engine::vocab() const { return decoding_->vocab.get(); }
const SketchFitter* Engine::sketch_fitter() const { return decoding_->fitter.get(); }
VocabSizer* Engine::sizer() { return decoding_->sizer.get(); }
const VocabSizer* Engine::sizer() const { return decoding_->sizer.get(); }

absl::StatusOr<Engine::Output> Engine::Generate(const std::string& prompt, SamplingParams params,
                                                const OnText& on_text) {
  SHORTLIST_CHECK(router_->idle());
  constexpr char kRid[] = "generate";
  const std::vector<TokenId> ends = models_.stop_token_ids();
  params.stop_token_ids.insert(params.stop_token_ids.end(), ends.begin(), ends.end());
  const std::vector<TokenId> stops = params.stop_token_ids;
  TokenizedGenerateReqInput input{.rid = kRid};
  const PromptEncoder encoder(models_.tokenizer(), models_.config().vocab_size);
  SHORTLIST_ASSIGN_OR_RETURN(input.input_ids, encoder.Encode(prompt, {}));
  input.sampling_params = std::move(params);
  input.max_tail_rows = num_tail_rows_;
  std::vector<RouterMessage> messages;
  messages.emplace_back(std::move(input));

  Output output;
  Detokenizer detokenizer(models_.tokenizer(), /*at_start=*/false);
  const auto append = [&](const std::string& piece) {
    output.text += piece;
    if (on_text && !piece.empty()) on_text(piece);
  };
  try {
    while (true) {
      for (BatchTokenIdOut::Row& row : router_->ExposedStep(std::exchange(messages, {})).rows) {
        for (const TokenId id : row.token_ids) {
          output.ids.push_back(id);
          if (std::find(stops.begin(), stops.end(), id) == stops.end())
            append(detokenizer.Append(id));
        }
        if (!row.finished) continue;
        if (!row.status.ok()) return row.status;
        append(detokenizer.Finish());
        output.finish_reason = row.finish_reason;
        output.stats = row.stats;
        return output;
      }
    }
  } catch (...) {
    if (!router_->idle()) router_->ExposedStep({AbortReq{kRid}});
    throw;
  }
}

}  // namespace shortlist
