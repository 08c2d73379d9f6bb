#include "draft/speculation_loop.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "draft/measure_costs.h"
#include "draft/prompt_logprobs.h"
#include "draft/speculation.h"
#include "draft/step_coverage.h"

namespace shortlist {
namespace {

/// Checks that the drafter's cache has at least the engine's slots.
absl::Status CheckDrafter(const Drafter* drafter, int64_t num_slots) {
  if (drafter == nullptr || drafter->num_slots() >= num_slots) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the drafter has ", drafter->num_slots(),
                                                 " KV slots, the engine needs ", num_slots));
}

}  // namespace

SpeculationLoop::SpeculationLoop(Decoder& target, Drafter* drafter, StepVocabs vocabs,
                                 Options options, KvCache cache, TargetHead head)
    : target_(target),
      drafter_(drafter),
      draft_side_(drafter),
      options_(std::move(options)),
      discovery_(options_.continuation_rows, drafter != nullptr),
      vocabs_(std::move(vocabs)),
      cache_(std::move(cache)),
      head_(std::move(head)) {}

absl::StatusOr<std::unique_ptr<SpeculativeEngine>> SpeculativeEngine::Create(
    Decoder& target, Drafter* drafter, DynamicVocabularyManager* vocab, Options options,
    ThreadPool& pool) {
  SHORTLIST_RETURN_IF_ERROR(options.Validate());
  SHORTLIST_RETURN_IF_ERROR(CheckDrafter(drafter, options.num_slots));
  SHORTLIST_ASSIGN_OR_RETURN(StepVocabs vocabs,
                             StepVocabs::Create(target.config().vocab_size, vocab, drafter));
  SHORTLIST_ASSIGN_OR_RETURN(TargetHead head,
                             TargetHead::Create(target.head_weight(), options.emit_size, pool));
  SHORTLIST_ASSIGN_OR_RETURN(KvCache cache,
                             KvCache::Create(target.config(), options.num_slots, target.dtype()));
  auto engine = std::make_unique<SpeculationLoop>(
      target, drafter, std::move(vocabs), std::move(options), std::move(cache), std::move(head));
  SHORTLIST_RETURN_IF_ERROR(engine->Measure());
  return engine;
}

int64_t SpeculativeEngine::vocab_size() const { return target().config().vocab_size; }

int64_t SpeculativeEngine::context_len() const { return target().config().context_len; }

double SpeculationLoop::NowMs() const {
  if (options_.now_ms) return options_.now_ms();
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

absl::Status SpeculationLoop::Measure() {
  if (drafter_ == nullptr || options_.draft_p_min || options_.num_draft_tokens == 0) {
    return absl::OkStatus();
  }
  return MeasureCosts({.target = target_,
                       .cache = cache_,
                       .head = head_,
                       .drafter = *drafter_,
                       .num_draft_tokens = options_.num_draft_tokens,
                       .num_slots = options_.num_slots,
                       .now_ms = [this] { return NowMs(); }},
                      policy_);
}

/// Fills batch_ with at most `max_tokens` uncomputed tokens.
std::vector<SpeculationLoop::Chunk> SpeculationLoop::BatchChunks(std::span<const StepWork> work,
                                                                 int64_t max_tokens) {
  SHORTLIST_CHECK(max_tokens >= 1);
  std::vector<Chunk> chunks;
  batch_.Clear();
  results_.assign(work.size(), StepResult());
  for (size_t i = 0; i < work.size(); ++i) {
    const Sequence& sequence = *work[i].sequence;
    const int64_t begin = sequence.cached_len;
    const int64_t len = std::min(sequence.num_tokens() - begin, max_tokens - batch_.num_tokens());
    if (len <= 0 || sequence.finished()) continue;
    SHORTLIST_CHECK(std::ssize(work[i].kv_slots) >= begin + len);
    chunks.push_back({i, batch_.num_tokens(), len, begin + len == sequence.num_tokens()});
    batch_.AddChain(std::span(sequence.tokens()).subspan(begin, len), begin,
                    work[i].kv_slots.first(begin + len));
  }
  return chunks;
}

absl::StatusOr<std::span<const StepResult>> SpeculationLoop::Prefill(std::span<const StepWork> work,
                                                                     int64_t max_tokens) {
  for (const StepWork& of : work) {
    const Sequence* const sequence = of.sequence;
    if (sequence->num_tokens() >= target_.config().context_len) {
      return absl::InvalidArgumentError(absl::StrCat("a prompt of ", sequence->num_tokens(),
                                                     " tokens leaves no room in a context of ",
                                                     target_.config().context_len));
    }
  }
  std::vector<Chunk> chunks = BatchChunks(work, max_tokens);
  RowDetail detail = RowDetail::kBest;
  for (const Chunk& chunk : chunks) {
    if (chunk.completes) detail = std::max(detail, DetailFor(*work[chunk.index].sequence));
  }
  if (chunks.empty()) return TakeResults(work);
  const double begin_ms = NowMs();
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix hidden, target_.Forward(batch_, cache_));
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
      verifier_.Verify(sequence, /*tokens=*/{}, /*distributions=*/{}, verdict.From(verdict_row++),
                       options_.verify, target_.config().context_len);
    }
    results_[chunk.index].num_emitted = sequence.num_tokens() - before;
    draft_side_.Accept(work[chunk.index], hidden.Rows(chunk.first_row, chunk.len));
  }
  draft_side_.CompletePrompts(work);
  return TakeResults(work);
}

/// Returns the results of the pass that just ended.
std::span<const StepResult> SpeculationLoop::TakeResults(std::span<const StepWork> work) {
  for (size_t i = 0; i < work.size(); ++i) {
    results_[i].cached_len = work[i].sequence->cached_len;
    results_[i].shareable_len = draft_side_.ShareableLen(*work[i].sequence);
  }
  stats_.num_draft_failures = draft_side_.num_failures();
  return results_;
}

void SpeculationLoop::AdoptPrefix(Sequence& sequence, int64_t len, std::span<const TokenId> rows) {
  SHORTLIST_CHECK(len >= 0 && len < sequence.num_tokens());
  sequence.cached_len = len;
  draft_side_.Adopt(sequence, len);
  SpeculationOf(sequence).adopted_rows.assign(rows.begin(), rows.end());
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
  const std::vector<DraftTask> tasks = Propose(work);
  const double drafted_ms = NowMs();
  stats_.draft_ms += drafted_ms - begin_ms;
  SHORTLIST_RETURN_IF_ERROR(VerifyAll(work, tasks));
  stats_.verify_ms += NowMs() - drafted_ms;
  ++stats_.num_steps;
  UpdatePolicy(tasks, before);
  for (const StepWork& of : work) {
    const bool lags = draft_side_.HasState(*of.sequence) && !CatchUpPays(of, std::ssize(work));
    if (lags) draft_side_.EndIdle(of);
  }
  TellSizer(work, tasks, before);
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
    const Sequence& sequence = *task.sequence;
    SHORTLIST_CHECK(!sequence.finished() && sequence.cached_len == sequence.num_tokens() - 1);
    SHORTLIST_CHECK(std::ssize(task.kv_slots) >= sequence.num_tokens());
    chain.assign(1, sequence.tokens().back());
    chain.insert(chain.end(), task.tokens.begin(), task.tokens.end());
    batch_.AddChain(chain, sequence.cached_len,
                    task.kv_slots.first(sequence.cached_len + chain.size()));
    detail = std::max(detail, DetailFor(sequence));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix hidden, target_.Forward(batch_, cache_));
  SHORTLIST_ASSIGN_OR_RETURN(verdict_, head_.Judge(hidden, detail, std::move(verdict_)));

  int64_t row = 0;
  num_step_judged_ = num_step_accepted_ = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const DraftTask& task = tasks[i];
    Sequence& sequence = *task.sequence;
    const int64_t before = sequence.num_tokens();
    const int64_t num_accepted =
        verifier_.Verify(sequence, task.tokens, task.distributions, verdict_.From(row),
                         options_.verify, target_.config().context_len);
    const int64_t num_emitted = sequence.num_tokens() - before;
    results_[i].num_emitted = num_emitted;
    SequenceStats& stats = sequence.stats;
    ++stats.num_verify_steps;
    stats.num_step_tokens += num_emitted;
    stats.num_drafted += static_cast<int64_t>(task.tokens.size());
    stats.num_copied += task.num_copied;
    stats.num_accepted += num_accepted;
    sequence.cached_len += num_emitted;
    task.Learn(num_accepted);
    num_step_accepted_ += num_accepted;
    num_step_judged_ += std::min(num_emitted, std::ssize(task.tokens));
    Learn(work[i], task, num_accepted, num_emitted);
    if (num_emitted > 0) draft_side_.Accept(work[i], hidden.Rows(row, num_emitted));
    row += static_cast<int64_t>(task.tokens.size()) + 1;
  }
  return absl::OkStatus();
}

void SpeculationLoop::UpdatePolicy(std::span<const DraftTask> tasks, const EngineStats& before) {
  const EngineStats of_step = stats_.Since(before);
  DraftPolicy::Step step{.num_requests = std::ssize(tasks),
                         .num_passes = of_step.num_draft_passes,
                         .draft_ms = of_step.draft_ms - step_catch_up_ms_,
                         .num_rows = batch_.num_tokens(),
                         .verify_ms = of_step.verify_ms,
                         .num_judged = num_step_judged_,
                         .num_accepted = num_step_accepted_,
                         .caught_up = step_caught_up_,
                         .catch_up_ms = step_catch_up_ms_};
  for (size_t i = 0; i < tasks.size(); ++i) {
    step.num_drafting += tasks[i].num_passes > 0 ? 1 : 0;
    step.num_emitted += results_[i].num_emitted;
  }
  policy_.AddStep(step);
}

/// A step in which another vocabulary took part is no evidence for the sizer.
void SpeculationLoop::TellSizer(std::span<const StepWork> work, std::span<const DraftTask> tasks,
                                const EngineStats& before) {
  if (options_.sizer == nullptr || options_.sizer->TakeNext()) return;
  if (NumSketchRows() > 0) options_.sizer->TellSketch();
  SizeControl::Step step{.num_requests = std::ssize(tasks)};
  for (size_t i = 0; i < tasks.size(); ++i) {
    const StepVocabs::Snapshot& snapshot = vocabs_.Of(work[i]);
    if (!vocabs_.IsOwn(snapshot) || tasks[i].active != snapshot.active.get()) return;
    step.num_emitted += results_[i].num_emitted;
    step.num_drafted += std::ssize(tasks[i].tokens);
  }
  const EngineStats of_step = stats_.Since(before);
  step.num_passes = of_step.num_draft_passes;
  step.draft_ms = of_step.draft_ms - step_catch_up_ms_;
  step.verify_ms = of_step.verify_ms;
  step.num_accepted = num_step_accepted_;
  step.num_judged = num_step_judged_;
  options_.sizer->AddStep(step, *vocabs_.Of(work.front()).active);
}

int64_t SpeculationLoop::NumDraftTokens(const StepWork& work) const {
  const Sequence& sequence = *work.sequence;
  if (!draft_side_.CanDraft(sequence)) return 0;
  // The last token of a step is the target's own, so the draft needs one token fewer than still
  // wanted. Each draft token needs a slot after the last token and a position in both contexts.
  const int64_t wanted = sequence.sampling().max_new_tokens - sequence.num_output() - 1;
  const int64_t slots = std::ssize(work.kv_slots) - sequence.num_tokens();
  const int64_t positions =
      std::min(target_.config().context_len, drafter_->context_len()) - sequence.num_tokens();
  return std::max<int64_t>(0, std::min({options_.num_draft_tokens, wanted, slots, positions}));
}

int64_t SpeculationLoop::NumSketchRows() const {
  return drafter_ != nullptr ? drafter_->num_sketch_rows() : 0;
}

/// Prepares the draft task of one sequence, after updating the sequence's tail.
DraftTask SpeculationLoop::NewTask(const StepWork& work) {
  Sequence& sequence = *work.sequence;
  const StepVocabs::Snapshot& snapshot = vocabs_.Of(work);
  const ActiveVocab& active = *snapshot.active;
  discovery_.BeforeStep(work, active);
  DraftTask task{.sequence = &sequence,
                 .kv_slots = work.kv_slots,
                 .active = &active,
                 .num_draft_tokens = snapshot.fit.ok() ? NumDraftTokens(work) : 0,
                 .p_min = options_.draft_p_min.value_or(0.0),
                 .thresholds = options_.draft_p_min ? nullptr : &thresholds_,
                 .looks_up = options_.prompt_lookup};
  if (drafter_ != nullptr && sequence.speculates() &&
      sequence.num_tokens() >= drafter_->context_len()) {
    ++sequence.stats.num_steps_beyond_draft;
  }
  const Speculation& speculation = SpeculationOf(sequence);
  // A base that adapts its size grows if it covers too little.
  const bool grows =
      options_.sizer != nullptr && options_.sizer->grows_base() && vocabs_.IsOwn(snapshot);
  if (task.num_draft_tokens > 0 && !active.is_full_head() && !grows &&
      speculation.guard.has_collapsed()) {
    task.active = &vocabs_.full_head();
    ++sequence.stats.num_fallback_steps;
  }
  sequence.stats.active_rows = task.active->is_full_head()
                                   ? options_.emit_size
                                   : active.size() + speculation.tail.size() +
                                         active.base()->max_successors() + NumSketchRows();
  return task;
}

/// Returns the number of tokens that the draft lacks after a rest, or of a prompt; 0 after a
/// drafted step, which leaves one chain and the target's token to compute.
int64_t SpeculationLoop::NumMissing(const Sequence& sequence) const {
  const int64_t left = sequence.num_tokens() - drafter_->CachedLen(sequence);
  return left > options_.num_draft_tokens + 2 ? left : 0;
}

bool SpeculationLoop::CatchUpPays(const StepWork& work, int64_t num_requests) const {
  const Sequence& sequence = *work.sequence;
  const int64_t missing = NumMissing(sequence);
  const int64_t wanted = sequence.sampling().max_new_tokens - sequence.num_output();
  return missing == 0 || options_.draft_p_min || policy_.PaysBack(num_requests, missing, wanted);
}

/// True if `work` should draft in this step, if the step drafts. Many missing tokens are computed
/// over several steps, so that no step has to wait for all of them.
bool SpeculationLoop::Prepare(const StepWork& work, int64_t num_requests) {
  if (!draft_side_.Start(work) || !CatchUpPays(work, num_requests)) return false;
  if (NumMissing(*work.sequence) <= Drafter::kMaxCatchUp) return true;
  const double begin_ms = NowMs();
  const int64_t computed = draft_side_.CatchUp(std::span(&work, 1));
  const double ms = NowMs() - begin_ms;
  policy_.AddDraftPrefill(computed, ms);
  step_catch_up_ms_ += ms;
  return false;
}

std::vector<DraftTask> SpeculationLoop::Propose(std::span<const StepWork> work) {
  if (drafter_ != nullptr && options_.sizer != nullptr && options_.sizer->num_sketch_rows() > 0) {
    drafter_->set_num_sketch_rows(options_.sizer->num_sketch_rows());
  }
  step_caught_up_ = false;
  step_catch_up_ms_ = 0.0;
  bool refuses = false;
  std::vector<DraftTask> tasks, drafting;
  for (const StepWork& of : work) {
    tasks.push_back(NewTask(of));
    DraftTask& task = tasks.back();
    if (task.num_draft_tokens == 0) continue;
    if (Prepare(of, std::ssize(work))) {
      drafting.push_back(task);
    } else {
      task.num_draft_tokens = 0;
      refuses = true;
    }
  }
  if (drafting.empty()) {
    stats_.num_resting_steps += refuses ? 1 : 0;
    return tasks;
  }
  if (!options_.draft_p_min) {
    if (!policy_.TakeStep(std::ssize(work), std::ssize(drafting))) {
      for (DraftTask& task : tasks) task.num_draft_tokens = 0;
      ++stats_.num_resting_steps;
      return tasks;
    }
    thresholds_ =
        policy_.Thresholds(std::ssize(work), std::ssize(drafting), options_.num_draft_tokens);
  }
  step_caught_up_ = std::ranges::any_of(
      drafting, [this](const DraftTask& task) { return NumMissing(*task.sequence) > 0; });
  const bool wants_distributions = options_.verify == VerifyMode::kRejection;
  if (const absl::Status drafted = drafter_->Draft(drafting, wants_distributions); !drafted.ok()) {
    draft_side_.CountFailure(drafted);  // the step continues as plain decoding
    return tasks;
  }
  int64_t longest = 0;
  size_t next = 0;
  for (DraftTask& task : tasks) {
    if (task.num_draft_tokens == 0) continue;
    task = std::move(drafting[next++]);
    longest = std::max(longest, task.num_passes);
    task.Copy(wants_distributions);
  }
  stats_.num_draft_passes += longest;
  return tasks;
}

/// Updates statistics and vocabularies. Of the `num_emitted` tokens that resulted from `task`, the
/// first `num_accepted` were drafted.
void SpeculationLoop::Learn(const StepWork& work, const DraftTask& task, int64_t num_accepted,
                            int64_t num_emitted) {
  Sequence& sequence = *work.sequence;
  const StepVocabs::Snapshot& snapshot = vocabs_.Of(work);
  const ActiveVocab& active = *snapshot.active;
  const JudgedStep step{.task = &task,
                        .active = &active,
                        .has_sketch = NumSketchRows() > 0,
                        .num_accepted = num_accepted,
                        .num_emitted = num_emitted};
  const StepCoverage coverage = CountCoverage(step, options_.coverage_floor);
  if (options_.sizer != nullptr && vocabs_.IsOwn(snapshot)) {
    TellSizerOfTokens(step, coverage, *options_.sizer);
  }
  const std::span<const TokenId> emitted = std::span(sequence.tokens()).last(num_emitted);
  discovery_.AfterStep(sequence, active, emitted);
  if (!snapshot.fit.ok()) return;
  DynamicVocabularyManager& vocab = vocabs_.ManagerOf(work);
  absl::Status status =
      vocab.Observe(coverage.scored, coverage.shared_drafted, &active, coverage.held);
  if (!coverage.unscored.empty()) status.Update(vocab.Add(coverage.unscored));
  SHORTLIST_CHECK(status.ok());  // ids of the target and of the snapshot are in range
}

}  // namespace shortlist
