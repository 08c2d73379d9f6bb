#include "router/router.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/running_clock.h"
#include "base/status_macros.h"
#include "router/encoding_loop.h"
#include "router/generation_loop.h"
#include "router/model_loop.h"
#include "router/model_turns.h"
#include "router/scheduler.h"

namespace shortlist {
namespace {

/// Share of the thread's time relative to an encoder's: clients wait for each token of a stream.
constexpr double kGenerationShare = 2.0;

std::vector<double> Shares(bool generates, size_t num_encoders) {
  std::vector<double> shares(num_encoders, 1.0);
  if (generates) shares.insert(shares.begin(), kGenerationShare);
  return shares;
}

/// Rejects a request that no model here serves.
template <typename Input>
void Refuse(Input& input, absl::Status status, BatchTokenIdOut& out) {
  out.rows.push_back({.rid = std::move(input.rid),
                      .receiver = std::move(input.receiver),
                      .finished = true,
                      .status = std::move(status)});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Router>> Router::Create(SpeculativeEngine& engine, Options options) {
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<GenerationLoop> generation,
                             GenerationLoop::Create(engine, options.scheduler));
  return Over(std::move(generation), std::move(options));
}

absl::StatusOr<std::unique_ptr<Router>> Router::Create(Options options) {
  return Over(/*generation=*/nullptr, std::move(options));
}

absl::StatusOr<std::unique_ptr<Router>> Router::Over(std::unique_ptr<GenerationLoop> generation,
                                                     Options options) {
  if (!options.now) {
    options.now = [clock = std::make_shared<RunningClock>()] { return clock->Now(); };
  }
  std::vector<std::unique_ptr<EncodingLoop>> encoders;
  for (Encoder& encoder : options.encoders) {
    if (!encoder.options.now) encoder.options.now = options.now;
    SHORTLIST_ASSIGN_OR_RETURN(
        encoders.emplace_back(),
        EncodingLoop::Create(std::move(encoder.options), std::move(encoder.encode)));
  }
  return std::unique_ptr<Router>(
      new Router(std::move(generation), std::move(encoders), std::move(options.now)));
}

Router::Router(std::unique_ptr<GenerationLoop> generation,
               std::vector<std::unique_ptr<EncodingLoop>> encoders, std::function<double()> now)
    : generation_(std::move(generation)),
      encoders_(std::move(encoders)),
      now_(std::move(now)),
      turns_(std::make_unique<ModelTurns>(Shares(generation_ != nullptr, encoders_.size()))) {
  if (generation_ != nullptr) loops_.push_back(generation_.get());
  for (const std::unique_ptr<EncodingLoop>& encoder : encoders_) loops_.push_back(encoder.get());
}

Router::~Router() = default;

const EncodingLoop& Router::encoder(size_t i) const { return *encoders_[i]; }
void Router::RetractAll() { generation_->RetractAll(); }
void Router::FlushCache() { generation_->scheduler().FlushCache(); }
const Scheduler& Router::scheduler() const { return generation_->scheduler(); }
absl::Status Router::CheckInvariants() const { return scheduler().CheckInvariants(); }

bool Router::idle() const {
  return std::all_of(loops_.begin(), loops_.end(),
                     [](const ModelLoop* loop) { return loop->idle(); });
}

void Router::Take(RouterMessage message, double now_s, BatchTokenIdOut& out) {
  if (auto* generate = std::get_if<TokenizedGenerateReqInput>(&message)) {
    if (generates()) return generation_->Add(std::move(*generate), now_s);
    Refuse(*generate, absl::FailedPreconditionError("no generating model is loaded"), out);
  } else if (auto* embed = std::get_if<TokenizedEmbedReqInput>(&message)) {
    const size_t model = embed->model;
    if (model < encoders_.size()) return encoders_[model]->Add(std::move(*embed), now_s);
    Refuse(*embed,
           absl::FailedPreconditionError(
               absl::StrCat("model ", model, " of ", encoders_.size(), " encoders")),
           out);
  } else {
    const std::string& rid = std::get<AbortReq>(message).rid;
    std::any_of(loops_.begin(), loops_.end(), [&rid](ModelLoop* loop) { return loop->Abort(rid); });
  }
}

BatchTokenIdOut Router::ExposedStep(std::vector<RouterMessage> recv_reqs) {
  BatchTokenIdOut out;
  const double begin_s = now_();
  for (RouterMessage& message : recv_reqs) Take(std::move(message), begin_s, out);
  if (!idle()) {
    const size_t next = turns_->Next([this](size_t i) { return !loops_[i]->idle(); });
    loops_[next]->Step(begin_s);
    if (loops_.size() > 1) turns_->Took(next, now_() - begin_s);
  }
  for (ModelLoop* loop : loops_) {
    BatchTokenIdOut rows = loop->TakeRows();
    if (out.rows.empty()) {
      out = std::move(rows);
    } else {
      std::move(rows.rows.begin(), rows.rows.end(), std::back_inserter(out.rows));
    }
  }
  return out;
}

}  // namespace shortlist
