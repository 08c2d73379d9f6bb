#include "draft/speculation_loop.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "draft/measure_costs.h"
#include "draft/prompt_logprobs.h"
#include "draft/speculation.h"

namespace shortlist {
namespace {

/// Checks that the drafter's cache has at least the engine's slots.
absl::Status CheckDrafter(const Drafter* drafter, int64_t num_slots) {
  if (drafter == nullptr || drafter->num_slots() >= num_slots) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the drafter has ", drafter->num_slots(),
                                                 " KV slots, the engine needs ", num_slots));
}

/// Without a drafter, copies must be requested.
EngineOptions OptionsWith(const Drafter* drafter, EngineOptions options) {
  options.suffix_drafts &= drafter != nullptr || options.copies_alone;
  return options;
}

bool KeepsOutputs(const EngineOptions& options) {
  return options.suffix_drafts && options.num_draft_tokens > 0 && options.past_output_bytes > 0;
}

}  // namespace

SpeculationLoop::SpeculationLoop(const ModelConfig& config, std::unique_ptr<Executor> target,
                                 Drafter* drafter, StepVocabs vocabs, Options options,
                                 TargetHead head)
    : config_(config),
      target_(std::move(target)),
      drafter_(drafter),
      draft_side_(drafter),
      options_(OptionsWith(drafter, std::move(options))),
      discovery_(options_.continuation_rows, drafter != nullptr),
      vocabs_(std::move(vocabs)),
      head_(std::move(head)),
      past_outputs_(KeepsOutputs(options_)
                        ? std::make_unique<PastOutputs>(options_.past_output_bytes)
                        : nullptr),
      proposer_({.options = options_,
                 .drafter = drafter,
                 .context_len = config.context_len,
                 .discovery = discovery_,
                 .vocabs = vocabs_,
                 .draft_side = draft_side_,
                 .policy = policy_,
                 .past_outputs = past_outputs_.get(),
                 .now_ms = [this] { return NowMs(); }}) {}

absl::StatusOr<std::unique_ptr<SpeculativeEngine>> SpeculativeEngine::Create(
    CausalModel& target, Drafter* drafter, DynamicVocabularyManager* vocab, Options options,
    ThreadPool& pool) {
  SHORTLIST_RETURN_IF_ERROR(options.Validate());
  SHORTLIST_RETURN_IF_ERROR(CheckDrafter(drafter, options.num_slots));
  SHORTLIST_ASSIGN_OR_RETURN(StepVocabs vocabs,
                             StepVocabs::Create(target.config().vocab_size, vocab, drafter));
  SHORTLIST_ASSIGN_OR_RETURN(TargetHead head,
                             TargetHead::Create(target.head_weight(), options.emit_size, pool));
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor,
                             target.NewExecutor(options.num_slots));
  auto engine =
      std::make_unique<SpeculationLoop>(target.config(), std::move(executor), drafter,
                                        std::move(vocabs), std::move(options), std::move(head));
  SHORTLIST_RETURN_IF_ERROR(engine->Measure());
  return engine;
}

double SpeculationLoop::NowMs() const {
  if (options_.now_ms) return options_.now_ms();
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

absl::Status SpeculationLoop::Measure() {
  const bool drafts = drafter_ != nullptr || options_.suffix_drafts;
  if (!drafts || options_.draft_p_min || options_.num_draft_tokens == 0) return absl::OkStatus();
  return MeasureCosts({.context_len = config_.context_len,
                       .target = *target_,
                       .head = head_,
                       .drafter = drafter_,
                       .num_draft_tokens = options_.num_draft_tokens,
                       .now_ms = [this] { return NowMs(); }},
                      policy_);
}

absl::StatusOr<SpeculationLoop::TargetPass> SpeculationLoop::RunTarget() {
  StateTaps taps;
  if (drafter_ != nullptr && drafter_->needs_features()) taps.boundaries = drafter_->taps();
  StateTaps* const wanted = taps.boundaries.empty() ? nullptr : &taps;
  TargetPass pass;
  SHORTLIST_ASSIGN_OR_RETURN(pass.hidden, target_->Forward(batch_, wanted));
  pass.features = wanted != nullptr ? taps.states : pass.hidden;
  return pass;
}

/// Creates the missing states in the target's recurrent layers.
absl::Status SpeculationLoop::CreateStates(std::span<const StepWork> work) {
  if (config_.num_recurrent_layers() == 0) return absl::OkStatus();
  return CatchBadAlloc("states of recurrent layers", [&] {
    for (const StepWork& of : work) {
      std::unique_ptr<SequenceState>& state = SpeculationOf(*of.sequence).target_state;
      if (state == nullptr) state = target_->NewState({});
    }
    return absl::OkStatus();
  });
}

/// Fills batch_ with at most `max_tokens` uncomputed tokens.
std::vector<SpeculationLoop::Chunk> SpeculationLoop::BatchChunks(std::span<const StepWork> work,
                                                                 int64_t max_tokens) {
  SHORTLIST_CHECK(max_tokens >= 1);
  std::vector<Chunk> chunks;
  batch_.Clear();
  results_.assign(work.size(), StepResult());
  for (size_t i = 0; i < work.size(); ++i) {
    Sequence& sequence = *work[i].sequence;
    const int64_t begin = sequence.cached_len;
    const int64_t len = std::min(sequence.num_tokens() - begin, max_tokens - batch_.num_tokens());
    if (len <= 0 || sequence.finished()) continue;
    SHORTLIST_CHECK(std::ssize(work[i].kv_slots) >= begin + len);
    chunks.push_back({i, batch_.num_tokens(), len, begin + len == sequence.num_tokens()});
    batch_.AddChain(std::span(sequence.tokens()).subspan(begin, len), begin,
                    work[i].kv_slots.first(begin + len),
                    {.state = SpeculationOf(sequence).target_state.get(),
                     .ends_prompt = chunks.back().completes});
  }
  return chunks;
}

absl::StatusOr<std::span<const StepResult>> SpeculationLoop::Prefill(std::span<const StepWork> work,
                                                                     int64_t max_tokens) {
  for (const StepWork& of : work) {
    const Sequence* const sequence = of.sequence;
    if (sequence->num_tokens() >= config_.context_len) {
      return absl::InvalidArgumentError(absl::StrCat("a prompt of ", sequence->num_tokens(),
                                                     " tokens leaves no room in a context of ",
                                                     config_.context_len));
    }
  }
  SHORTLIST_RETURN_IF_ERROR(CreateStates(work));
  std::vector<Chunk> chunks = BatchChunks(work, max_tokens);
  RowDetail detail = RowDetail::kBest;
  for (const Chunk& chunk : chunks) {
    if (chunk.completes) detail = std::max(detail, DetailFor(*work[chunk.index].sequence));
  }
  if (chunks.empty()) return TakeResults(work);
  const double begin_ms = NowMs();
  SHORTLIST_ASSIGN_OR_RETURN(const TargetPass pass, RunTarget());
  const Matrix& hidden = pass.hidden;
  policy_.AddPrefill(batch_.num_tokens(), NowMs() - begin_ms);
  for (Chunk& chunk : chunks) {
    SHORTLIST_RETURN_IF_ERROR(ScorePrompt(*work[chunk.index].sequence,
                                          hidden.Rows(chunk.first_row, chunk.len), head_, verdict_,
                                          chunk.prompt_infos));
  }

  std::vector<int64_t> last_rows;  // of the sequences whose last token is computed by this pass
  for (const Chunk& chunk : chunks) {
    if (chunk.completes) last_rows.push_back(chunk.first_row + chunk.len - 1);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const TargetHead::Verdict verdict,
                             head_.Judge(GatherRows(hidden, last_rows), detail, {}));
  int64_t verdict_row = 0;
  for (Chunk& chunk : chunks) {
    Sequence& sequence = *work[chunk.index].sequence;
    const int64_t before = sequence.num_tokens();
    sequence.cached_len += chunk.len;
    std::move(chunk.prompt_infos.begin(), chunk.prompt_infos.end(),
              std::back_inserter(sequence.prompt_infos));
    if (chunk.completes) {
      verifier_.Verify(sequence, /*chain=*/{}, verdict.From(verdict_row++), options_.verify,
                       config_.context_len);
    }
    results_[chunk.index].num_emitted = sequence.num_tokens() - before;
    draft_side_.Accept(work[chunk.index], pass.features.Rows(chunk.first_row, chunk.len));
  }
  draft_side_.CompletePrompts(work);
  return TakeResults(work);
}

/// Returns the results of the pass that just ended. Keeps the outputs that it finished.
std::span<const StepResult> SpeculationLoop::TakeResults(std::span<const StepWork> work) {
  for (size_t i = 0; i < work.size(); ++i) {
    results_[i].cached_len = work[i].sequence->cached_len;
    results_[i].shareable_len = draft_side_.ShareableLen(*work[i].sequence);
    if (past_outputs_ == nullptr || results_[i].num_emitted == 0) continue;
    const Sequence& sequence = *work[i].sequence;
    if (sequence.finished()) past_outputs_->Add(sequence.cache_salt(), sequence.output());
  }
  stats_.num_draft_failures = draft_side_.num_failures();
  return results_;
}

void SpeculationLoop::AdoptPrefix(Sequence& sequence, std::span<const int32_t> slots,
                                  std::span<const TokenId> rows) {
  const int64_t len = std::ssize(slots);
  SHORTLIST_CHECK(len < sequence.num_tokens() && len == target_->ResumableLen(slots));
  std::unique_ptr<SequenceState> state = target_->NewState(slots);
  Speculation& speculation = SpeculationOf(sequence);
  speculation.adopted_rows.assign(rows.begin(), rows.end());
  draft_side_.Adopt(sequence, len);
  speculation.target_state = std::move(state);
  sequence.cached_len = len;
}

void SpeculationLoop::End(Sequence& sequence, std::span<const int32_t> slots) {
  SHORTLIST_CHECK(std::ssize(slots) <= sequence.cached_len);
  if (sequence.engine_state == nullptr) return;
  std::unique_ptr<SequenceState> state = std::move(SpeculationOf(sequence).target_state);
  // A state cannot go back.
  if (state != nullptr && state->len() <= std::ssize(slots)) target_->Keep(std::move(state), slots);
  sequence.engine_state = nullptr;
}

void SpeculationLoop::AddContinuations(Sequence& sequence, std::vector<TokenId> tokens) {
  SpeculationOf(sequence).continuations = std::move(tokens);
}

int64_t SpeculationLoop::num_continuations(const Sequence& sequence) const {
  return discovery_.num_continuations(sequence);
}

bool SpeculationLoop::DraftingPays(int64_t num_requests, int64_t prompt_len,
                                   int64_t max_new_tokens) const {
  return options_.draft_p_min.has_value() || drafter_ == nullptr || !drafter_->needs_features() ||
         policy_.PaysBack(num_requests, prompt_len, max_new_tokens);
}

std::vector<TokenId> SpeculationLoop::TailRows(const Sequence& sequence) const {
  const Speculation* const speculation = FindSpeculation(sequence);
  if (speculation == nullptr) return {};
  return speculation->tail.IdsUpTo(RowSource::kPrefix);
}

absl::StatusOr<std::span<const StepResult>> SpeculationLoop::Step(std::span<const StepWork> work) {
  results_.assign(work.size(), StepResult());
  if (work.empty()) return TakeResults(work);
  const EngineStats before = stats_;
  // A vocabulary that does not fit disables drafting for its own requests only.
  for (const StepVocabs::Snapshot& snapshot : vocabs_.Take(work)) {
    if (!snapshot.fit.ok()) draft_side_.CountFailure(snapshot.fit);
  }
  const double begin_ms = NowMs();
  const Proposal proposal = proposer_.Propose(work);
  const double drafted_ms = NowMs();
  stats_.draft_ms += drafted_ms - begin_ms;
  stats_.num_draft_passes += proposal.num_passes;
  stats_.num_resting_steps += proposal.rests ? 1 : 0;
  SHORTLIST_RETURN_IF_ERROR(VerifyAll(work, proposal.tasks));
  stats_.verify_ms += NowMs() - drafted_ms;
  ++stats_.num_steps;
  UpdatePolicy(proposal, stats_.Since(before));
  for (const StepWork& of : work) {
    const bool lags =
        draft_side_.HasState(*of.sequence) && !proposer_.CatchUpPays(of, std::ssize(work));
    if (lags) draft_side_.EndIdle(of);
  }
  TellSizer(work, proposal, stats_.Since(before));
  vocabs_.Clear();
  draft_side_.CompletePrompts(work);
  return TakeResults(work);
}

/// Runs the target's pass over all drafted chains and applies the verdicts.
absl::Status SpeculationLoop::VerifyAll(std::span<const StepWork> work,
                                        std::span<const DraftTask> tasks) {
  batch_.Clear();
  RowDetail detail = RowDetail::kBest;
  std::vector<TokenId> chain;
  for (const DraftTask& task : tasks) {
    Sequence& sequence = *task.sequence;
    SHORTLIST_CHECK(!sequence.finished() && sequence.cached_len == sequence.num_tokens() - 1);
    SHORTLIST_CHECK(std::ssize(task.kv_slots) >= sequence.num_tokens());
    chain.assign(1, sequence.tokens().back());
    chain.insert(chain.end(), task.chain.tokens.begin(), task.chain.tokens.end());
    batch_.AddChain(
        chain, sequence.cached_len, task.kv_slots.first(sequence.cached_len + chain.size()),
        {.state = SpeculationOf(sequence).target_state.get(), .final_len = sequence.num_tokens()});
    detail = std::max(detail, DetailFor(sequence));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const TargetPass pass, RunTarget());
  const Matrix& hidden = pass.hidden;
  SHORTLIST_ASSIGN_OR_RETURN(verdict_, head_.Judge(hidden, detail, std::move(verdict_)));

  int64_t row = 0;
  num_step_judged_ = num_step_accepted_ = num_step_certain_ = num_step_certain_accepted_ = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const DraftTask& task = tasks[i];
    const DraftedChain& drafted = task.chain;
    Sequence& sequence = *task.sequence;
    const int64_t before = sequence.num_tokens();
    std::optional<ConstraintPath> path = PathFor(sequence);
    const int64_t num_accepted = verifier_.Verify(sequence, drafted, verdict_.From(row),
                                                  options_.verify, config_.context_len);
    const int64_t num_emitted = sequence.num_tokens() - before;
    results_[i].num_emitted = num_emitted;
    CountVerdict(drafted, num_accepted, num_emitted, sequence.stats);
    sequence.cached_len += num_emitted;
    SpeculationOf(sequence).chain_memory.Learn(drafted, num_accepted);
    Learn(work[i], {.task = &task,
                    .active = vocabs_.Of(work[i]).active.get(),
                    .has_sketch = draft_side_.num_sketch_rows() > 0,
                    .num_accepted = num_accepted,
                    .num_emitted = num_emitted,
                    .path = std::move(path)});
    if (num_emitted > 0) draft_side_.Accept(work[i], pass.features.Rows(row, num_emitted));
    row += drafted.size() + 1;
  }
  return absl::OkStatus();
}

void SpeculationLoop::CountVerdict(const DraftedChain& drafted, int64_t num_accepted,
                                   int64_t num_emitted, SequenceStats& stats) {
  ++stats.num_verify_steps;
  stats.num_step_tokens += num_emitted;
  stats.num_drafted += drafted.size();
  stats.num_copied += drafted.num_copied;
  stats.num_forced += drafted.num_forced();
  stats.num_accepted += num_accepted;
  stats.by_place.resize(std::max<size_t>(stats.by_place.size(), drafted.size()));
  for (int64_t place = 0; place < drafted.size(); ++place) {
    const auto source = static_cast<size_t>(drafted.SourceOf(place));
    ++stats.by_place[place].num_drafted[source];
    if (place < num_accepted) ++stats.by_place[place].num_accepted[source];
  }
  // Copies are last. They and forced tokens are no merit of the drafter.
  const int64_t num_judged = std::min(num_emitted, drafted.first_copy());
  const int64_t num_before_copies = std::min(num_accepted, drafted.first_copy());
  const int64_t num_of_drafter = num_before_copies - drafted.NumForced(num_before_copies);
  num_step_judged_ += num_judged - drafted.NumForced(num_judged);
  num_step_accepted_ += num_of_drafter;
  num_step_certain_ += drafted.num_copied + drafted.NumForced(drafted.first_copy());
  num_step_certain_accepted_ += num_accepted - num_of_drafter;
}

void SpeculationLoop::UpdatePolicy(const Proposal& proposal, const EngineStats& of_step) {
  const std::vector<DraftTask>& tasks = proposal.tasks;
  DraftPolicy::Step step{.num_requests = std::ssize(tasks),
                         .num_passes = proposal.num_passes,
                         .draft_ms = of_step.draft_ms - proposal.catch_up_ms,
                         .num_rows = batch_.num_tokens(),
                         .verify_ms = of_step.verify_ms,
                         .num_judged = num_step_judged_,
                         .num_accepted = num_step_accepted_,
                         .num_certain = num_step_certain_,
                         .num_certain_accepted = num_step_certain_accepted_,
                         .caught_up = proposal.caught_up,
                         .catch_up_ms = proposal.catch_up_ms};
  for (size_t i = 0; i < tasks.size(); ++i) {
    step.num_drafting += tasks[i].chain.num_passes > 0 ? 1 : 0;
    step.num_new += tasks[i].sequence->stats.num_verify_steps == 1 ? 1 : 0;
    step.num_emitted += results_[i].num_emitted;
  }
  policy_.AddStep(step);
}

/// A step in which another vocabulary took part is no evidence for the sizer.
void SpeculationLoop::TellSizer(std::span<const StepWork> work, const Proposal& proposal,
                                const EngineStats& of_step) {
  if (options_.sizer == nullptr || options_.sizer->TakeNext()) return;
  if (draft_side_.num_sketch_rows() > 0) options_.sizer->TellSketch();
  const std::vector<DraftTask>& tasks = proposal.tasks;
  SizeControl::Step step{.num_requests = std::ssize(tasks)};
  for (size_t i = 0; i < tasks.size(); ++i) {
    const StepVocabs::Snapshot& snapshot = vocabs_.Of(work[i]);
    if (!vocabs_.IsOwn(snapshot) || tasks[i].active != snapshot.active.get()) return;
    step.num_emitted += results_[i].num_emitted;
    step.num_drafted += tasks[i].chain.size() - tasks[i].chain.num_forced();
  }
  step.num_passes = proposal.num_passes;
  step.draft_ms = of_step.draft_ms - proposal.catch_up_ms;
  step.verify_ms = of_step.verify_ms;
  step.num_accepted = num_step_accepted_;
  step.num_judged = num_step_judged_;
  options_.sizer->AddStep(step, *vocabs_.Of(work.front()).active);
}

/// The path for JudgedStep, before the step's tokens are emitted.
std::optional<ConstraintPath> SpeculationLoop::PathFor(const Sequence& sequence) const {
  if (drafter_ == nullptr || !sequence.speculates() || sequence.constraints().empty()) {
    return std::nullopt;
  }
  return ConstraintPath(sequence.constraints());
}

/// Updates statistics and vocabularies.
void SpeculationLoop::Learn(const StepWork& work, const JudgedStep& step) {
  Sequence& sequence = *work.sequence;
  const StepVocabs::Snapshot& snapshot = vocabs_.Of(work);
  const ActiveVocab& active = *snapshot.active;
  const StepCoverage coverage = CountCoverage(step, options_.coverage_floor);
  if (options_.sizer != nullptr && vocabs_.IsOwn(snapshot)) {
    TellSizerOfTokens(step, coverage, *options_.sizer);
  }
  const std::span<const TokenId> emitted = std::span(sequence.tokens()).last(step.num_emitted);
  discovery_.AfterStep(sequence, active, emitted);
  if (!snapshot.fit.ok()) return;
  DynamicVocabularyManager& vocab = vocabs_.ManagerOf(work);
  absl::Status status =
      vocab.Observe(coverage.scored, coverage.shared_drafted, &active, coverage.held);
  if (!coverage.unscored.empty()) status.Update(vocab.Add(coverage.unscored));
  SHORTLIST_CHECK(status.ok());  // ids of the target and of the snapshot are in range
}

}  // namespace shortlist
