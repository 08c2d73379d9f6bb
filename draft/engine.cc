#include "draft/engine.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "vocab/held_by.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxDraftTokens = 64;
constexpr int64_t kScoredRows = 32;  // of a prompt at a time: their logits are [rows, vocab_size]

/// Adds the time until it ends to a counter of milliseconds.
class Timer {
 public:
  explicit Timer(double& total_ms)
      : total_ms_(total_ms), start_(std::chrono::steady_clock::now()) {}
  ~Timer() {
    total_ms_ +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
            .count();
  }

 private:
  double& total_ms_;
  std::chrono::steady_clock::time_point start_;
};

/// Its cache must have the engine's slots.
absl::Status CheckDrafter(const Drafter* drafter, int64_t num_slots) {
  if (drafter == nullptr || drafter->num_slots() >= num_slots) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the drafter has ", drafter->num_slots(),
                                                 " KV slots, the engine needs ", num_slots));
}

/// The drafter's head must have rows of the ids that it shall score.
absl::Status CheckVocab(const ActiveVocab& active, int64_t vocab_size, const Drafter* drafter) {
  if (active.vocab_size() != vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat("active vocabulary over ", active.vocab_size(),
                                                   " tokens for a target of ", vocab_size));
  }
  if (drafter == nullptr) return absl::OkStatus();
  int32_t largest = active.base()->largest_id();
  for (const int32_t id : active.rows().subspan(active.base_size())) {
    largest = std::max(largest, id);
  }
  if (largest < drafter->num_rows()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "active token id ", largest, " for a drafter whose head has ", drafter->num_rows(), " rows"));
}

/// `top`: [rows, num_top] the best tokens of each row, -1 where there are no more.
std::vector<TokenId> LikeliestLast(std::span<const TokenId> top, int64_t num_top) {
  std::vector<TokenId> likely;
  for (int64_t rank = num_top - 1; rank >= 0; --rank) {
    for (int64_t i = rank; i < std::ssize(top); i += num_top) {
      if (Raw(top[i]) >= 0) likely.push_back(top[i]);
    }
  }
  return likely;
}

}  // namespace

void EngineStats::Add(const EngineStats& other) {
  num_steps += other.num_steps;
  num_draft_passes += other.num_draft_passes;
  num_draft_failures += other.num_draft_failures;
  draft_ms += other.draft_ms;
  verify_ms += other.verify_ms;
}

EngineStats EngineStats::Since(const EngineStats& earlier) const {
  return {.num_steps = num_steps - earlier.num_steps,
          .num_draft_passes = num_draft_passes - earlier.num_draft_passes,
          .num_draft_failures = num_draft_failures - earlier.num_draft_failures,
          .draft_ms = draft_ms - earlier.draft_ms,
          .verify_ms = verify_ms - earlier.verify_ms};
}

SpeculativeEngine::SpeculativeEngine(Decoder& target, Drafter* drafter,
                                     DynamicVocabularyManager* vocab, Options options,
                                     KvCache cache, TargetHead head,
                                     std::unique_ptr<DynamicVocabularyManager> full_head)
    : target_(target),
      drafter_(drafter),
      full_head_(std::move(full_head)),
      vocab_(vocab != nullptr ? *vocab : *full_head_),
      options_(std::move(options)),
      discovery_(options_.discovery),
      cache_(std::move(cache)),
      head_(std::move(head)) {}

absl::StatusOr<std::unique_ptr<SpeculativeEngine>> SpeculativeEngine::Create(
    Decoder& target, Drafter* drafter, DynamicVocabularyManager* vocab, Options options,
    ThreadPool& pool) {
  if (options.num_draft_tokens < 0 || options.num_draft_tokens > kMaxDraftTokens) {
    return absl::InvalidArgumentError(absl::StrCat("num_draft_tokens ", options.num_draft_tokens,
                                                   " not in [0, ", kMaxDraftTokens, "]"));
  }
  if (!(options.draft_p_min >= 0.0 && options.draft_p_min <= 1.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("draft_p_min ", options.draft_p_min, " not in [0, 1]"));
  }
  if (!(options.coverage_floor >= 0.0 && options.coverage_floor <= 1.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("coverage_floor ", options.coverage_floor, " not in [0, 1]"));
  }
  if (const int64_t k = options.discovery.target_top_k; k < 1 || k > LmHead::kMaxTopK) {
    return absl::InvalidArgumentError(
        absl::StrCat("target_top_k ", k, " not in [1, ", LmHead::kMaxTopK, "]"));
  }
  if (const int64_t k = options.discovery.prompt_target_rows; k < 0 || k > LmHead::kMaxTopK) {
    return absl::InvalidArgumentError(
        absl::StrCat("prompt_target_rows ", k, " not in [0, ", LmHead::kMaxTopK, "]"));
  }
  if (options.num_slots < 1) {
    return absl::InvalidArgumentError(absl::StrCat("num_slots ", options.num_slots, " below 1"));
  }
  const int64_t vocab_size = target.config().vocab_size;
  SHORTLIST_RETURN_IF_ERROR(CheckDrafter(drafter, options.num_slots));
  if (vocab != nullptr) {
    SHORTLIST_RETURN_IF_ERROR(CheckVocab(*vocab->Active(), vocab_size, drafter));
  }
  SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<const VocabBase> all_rows,
                             VocabBase::FullHead(vocab_size));
  SHORTLIST_ASSIGN_OR_RETURN(auto full_head,
                             DynamicVocabularyManager::Create(std::move(all_rows), /*options=*/{}));
  SHORTLIST_ASSIGN_OR_RETURN(TargetHead head,
                             TargetHead::Create(target.head_weight(), options.emit_size, pool));
  SHORTLIST_ASSIGN_OR_RETURN(KvCache cache,
                             KvCache::Create(target.config(), options.num_slots, target.dtype()));
  return std::unique_ptr<SpeculativeEngine>(new SpeculativeEngine(
      target, drafter, vocab, options, std::move(cache), std::move(head), std::move(full_head)));
}

/// Fills batch_ with at most `max_tokens` uncomputed tokens.
std::vector<SpeculativeEngine::Chunk> SpeculativeEngine::BatchChunks(std::span<const StepWork> work,
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

absl::StatusOr<std::span<const StepResult>> SpeculativeEngine::Prefill(
    std::span<const StepWork> work, int64_t max_tokens) {
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
  SHORTLIST_ASSIGN_OR_RETURN(const at::Tensor hidden, target_.Forward(batch_, cache_));
  for (Chunk& chunk : chunks) {
    SHORTLIST_RETURN_IF_ERROR(ScorePrompt(*work[chunk.index].sequence, hidden, chunk));
  }

  std::vector<int64_t> last_rows;  // of the sequences whose last token this pass reached
  for (const Chunk& chunk : chunks) {
    if (chunk.completes) last_rows.push_back(chunk.first_row + chunk.len - 1);
  }
  const int64_t num_top = NumPromptTop(work, chunks);
  SHORTLIST_ASSIGN_OR_RETURN(const TargetHead::Verdict verdict,
                             head_.Judge(GatherRows(hidden, last_rows), detail, {}, num_top));
  int64_t verdict_row = 0;
  for (Chunk& chunk : chunks) {
    Sequence& sequence = *work[chunk.index].sequence;
    const int64_t before = sequence.num_tokens();
    sequence.cached_len += chunk.len;
    std::move(chunk.prompt_infos.begin(), chunk.prompt_infos.end(),
              std::back_inserter(sequence.prompt_infos));
    if (chunk.completes) {
      if (num_top > 0 && MayGuess(work[chunk.index])) {
        SpeculationOf(sequence).prompt_likely =
            LikeliestLast(std::span(verdict.top).subspan(verdict_row * num_top, num_top), num_top);
      }
      verifier_.Verify(sequence, /*tokens=*/{}, /*distributions=*/{}, verdict.From(verdict_row++),
                       options_.verify, target_.config().context_len);
    }
    results_[chunk.index].num_emitted = sequence.num_tokens() - before;
    TellDrafter(work[chunk.index], hidden.narrow(0, chunk.first_row, chunk.len));
  }
  return TakeResults(work);
}

/// Those of the pass that has ended.
std::span<const StepResult> SpeculativeEngine::TakeResults(std::span<const StepWork> work) {
  for (size_t i = 0; i < work.size(); ++i) {
    results_[i].cached_len = work[i].sequence->cached_len;
    results_[i].shareable_len = ShareableLen(*work[i].sequence);
  }
  return results_;
}

/// The log-probabilities that are asked for and that the hidden states of `chunk` give: those at a
/// position tell of the token behind it.
absl::Status SpeculativeEngine::ScorePrompt(const Sequence& sequence, const at::Tensor& hidden,
                                            Chunk& chunk) {
  const SamplingParams& sampling = sequence.sampling();
  if (sampling.prompt_logprobs_start < 0) return absl::OkStatus();
  const int64_t begin = sequence.cached_len;
  const int64_t end = std::min(begin + chunk.len, sequence.prompt_len() - 1);
  int64_t position = sampling.prompt_logprobs_start + std::ssize(sequence.prompt_infos);
  SHORTLIST_CHECK(position >= std::min(begin, end));
  while (position < end) {
    const int64_t num_rows = std::min(end - position, kScoredRows);
    SHORTLIST_ASSIGN_OR_RETURN(
        verdict_, head_.Judge(hidden.narrow(0, chunk.first_row + position - begin, num_rows),
                              RowDetail::kLogprobs, std::move(verdict_)));
    const TargetRows rows = verdict_.From(/*first_row=*/0);
    for (int64_t row = 0; row < num_rows; ++row) {
      rows.AddLogprobs(row, sequence.tokens()[++position], sampling.num_logprobs,
                       chunk.prompt_infos.emplace_back());
    }
  }
  return absl::OkStatus();
}

void SpeculativeEngine::AdoptPrefix(Sequence& sequence, int64_t len,
                                    std::span<const TokenId> rows) {
  SHORTLIST_CHECK(len >= 0 && len < sequence.num_tokens());
  sequence.cached_len = len;
  const bool drafts =
      drafter_ != nullptr && sequence.speculates() && len <= drafter_->context_len();
  Speculation& speculation = SpeculationOf(sequence);
  speculation.draft_state = drafts ? drafter_->NewState(len) : nullptr;
  speculation.adopted_rows.assign(rows.begin(), rows.end());
}

void SpeculativeEngine::AddContinuations(Sequence& sequence, std::vector<TokenId> tokens) {
  SpeculationOf(sequence).continuations = std::move(tokens);
}

int64_t SpeculativeEngine::num_continuations(const Sequence& sequence) const {
  if (drafter_ == nullptr || !sequence.speculates() || sequence.max_tail_rows() == 0) return 0;
  constexpr int64_t kTokensOfARow = 4;  // many tokens repeat, and many are active anyway
  return options_.discovery.continuation_rows * kTokensOfARow;
}

int64_t SpeculativeEngine::ShareableLen(const Sequence& sequence) const {
  if (drafter_ == nullptr || !sequence.speculates()) return sequence.cached_len;
  const Speculation* const speculation = FindSpeculation(sequence);
  if (speculation == nullptr || speculation->draft_state == nullptr) return 0;
  return std::min(sequence.cached_len, drafter_->CachedLen(sequence));
}

std::vector<TokenId> SpeculativeEngine::TailRows(const Sequence& sequence) const {
  const Speculation* const speculation = FindSpeculation(sequence);
  if (speculation == nullptr) return {};
  return speculation->tail.IdsUpTo(RowSource::kPrefix);
}

absl::StatusOr<std::span<const StepResult>> SpeculativeEngine::Step(
    std::span<const StepWork> work) {
  results_.assign(work.size(), StepResult());
  if (work.empty()) return TakeResults(work);
  TakeSnapshots(work);
  const EngineStats before = stats_;
  std::vector<DraftTask> tasks(work.size());
  {
    Timer timer(stats_.draft_ms);
    Propose(work, tasks);
  }
  {
    Timer timer(stats_.verify_ms);
    SHORTLIST_RETURN_IF_ERROR(VerifyAll(work, tasks));
  }
  ++stats_.num_steps;
  TellSizer(work, tasks, before);
  snapshots_.clear();
  return TakeResults(work);
}

/// The target's pass over all that was drafted, and what follows from it.
absl::Status SpeculativeEngine::VerifyAll(std::span<const StepWork> work,
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
  SHORTLIST_ASSIGN_OR_RETURN(const at::Tensor hidden, target_.Forward(batch_, cache_));
  const int64_t num_top = NumTop(work);
  SHORTLIST_ASSIGN_OR_RETURN(verdict_, head_.Judge(hidden, detail, std::move(verdict_), num_top));

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
    Learn(work[i], task, num_accepted, num_emitted,
          LikeliestLast(std::span(verdict_.top).subspan(row * num_top, num_emitted * num_top),
                        num_top));
    if (num_emitted > 0) TellDrafter(work[i], hidden.narrow(0, row, num_emitted));
    row += static_cast<int64_t>(task.tokens.size()) + 1;
  }
  return absl::OkStatus();
}

/// Whether the request has rows of its own for what is likely to come.
bool SpeculativeEngine::MayGuess(const StepWork& work) const {
  return drafter_ != nullptr && work.sequence->max_tail_rows() > 0 && work.sequence->speculates() &&
         !VocabOf(work).Active()->is_full_head();
}

/// The target's best of each row that are looked at.
int64_t SpeculativeEngine::NumTop(std::span<const StepWork> work) const {
  const int64_t num_top = std::min(discovery_.target_top_k(), options_.emit_size);
  const bool anyone =
      num_top > 0 && std::ranges::any_of(work, [&](const StepWork& of) { return MayGuess(of); });
  return anyone ? num_top : 0;
}

/// The same of the last rows of prompts.
int64_t SpeculativeEngine::NumPromptTop(std::span<const StepWork> work,
                                        std::span<const Chunk> chunks) const {
  const int64_t num_top = std::min(discovery_.prompt_top_k(), options_.emit_size);
  const bool anyone = num_top > 0 && std::ranges::any_of(chunks, [&](const Chunk& chunk) {
                        return chunk.completes && MayGuess(work[chunk.index]);
                      });
  return anyone ? num_top : 0;
}

/// A step that another vocabulary had a part in says nothing about the sizes.
void SpeculativeEngine::TellSizer(std::span<const StepWork> work, std::span<const DraftTask> tasks,
                                  const EngineStats& before) {
  if (options_.sizer == nullptr || options_.sizer->TakeNext()) return;
  SizeControl::Step step{.num_requests = std::ssize(tasks)};
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Snapshot& snapshot = SnapshotOf(work[i]);
    if (snapshot.of != &vocab_ || tasks[i].active != snapshot.active.get()) return;
    step.num_emitted += results_[i].num_emitted;
    step.num_drafted += std::ssize(tasks[i].tokens);
  }
  const EngineStats of_step = stats_.Since(before);
  step.num_passes = of_step.num_draft_passes;
  step.draft_ms = of_step.draft_ms;
  step.verify_ms = of_step.verify_ms;
  step.num_accepted = num_step_accepted_;
  step.num_judged = num_step_judged_;
  options_.sizer->AddStep(step, *SnapshotOf(work.front()).active);
}

/// A vocabulary that does not fit costs its requests their drafts, and nobody anything else.
void SpeculativeEngine::TakeSnapshots(std::span<const StepWork> work) {
  snapshots_.clear();
  for (const StepWork& of : work) {
    DynamicVocabularyManager* const vocab = &VocabOf(of);
    const bool is_known = std::any_of(snapshots_.begin(), snapshots_.end(),
                                      [&](const Snapshot& taken) { return taken.of == vocab; });
    if (is_known) continue;
    Snapshot snapshot{.of = vocab, .active = vocab->Active()};
    const absl::Status fits = CheckVocab(*snapshot.active, vocab_size(), drafter_);
    if (!fits.ok()) {
      CountDraftFailure(fits);
      snapshot = {.of = vocab, .active = full_head_->Active(), .fits = false};
    }
    snapshots_.push_back(std::move(snapshot));
  }
}

DynamicVocabularyManager& SpeculativeEngine::VocabOf(const StepWork& work) const {
  return work.vocab != nullptr ? *work.vocab : vocab_;
}

const SpeculativeEngine::Snapshot& SpeculativeEngine::SnapshotOf(const StepWork& work) const {
  const DynamicVocabularyManager* const vocab = &VocabOf(work);
  return *std::find_if(snapshots_.begin(), snapshots_.end(),
                       [&](const Snapshot& snapshot) { return snapshot.of == vocab; });
}

int64_t SpeculativeEngine::NumDraftTokens(const StepWork& work) const {
  const Sequence& sequence = *work.sequence;
  const Speculation* const speculation = FindSpeculation(sequence);
  const bool drafts = speculation != nullptr && speculation->draft_state != nullptr;
  if (drafter_ == nullptr || !drafts) return 0;
  // The last token of a step is the target's own, so one fewer draft than tokens still wanted; each
  // draft token needs a slot behind the last token and a position in both contexts.
  const int64_t wanted = sequence.sampling().max_new_tokens - sequence.num_output() - 1;
  const int64_t slots = std::ssize(work.kv_slots) - sequence.num_tokens();
  const int64_t positions =
      std::min(target_.config().context_len, drafter_->context_len()) - sequence.num_tokens();
  return std::max<int64_t>(0, std::min({options_.num_draft_tokens, wanted, slots, positions}));
}

void SpeculativeEngine::Propose(std::span<const StepWork> work, std::vector<DraftTask>& tasks) {
  if (drafter_ != nullptr && options_.sizer != nullptr && options_.sizer->num_sketch_rows() > 0) {
    drafter_->set_num_sketch_rows(options_.sizer->num_sketch_rows());
  }
  const int64_t drafter_rows = drafter_ != nullptr ? drafter_->num_sketch_rows() : 0;
  std::vector<DraftTask> drafting;
  for (size_t i = 0; i < work.size(); ++i) {
    Sequence& sequence = *work[i].sequence;
    tasks[i].sequence = &sequence;
    tasks[i].kv_slots = work[i].kv_slots;
    const Snapshot& snapshot = SnapshotOf(work[i]);
    const ActiveVocab& active = *snapshot.active;
    tasks[i].num_draft_tokens = snapshot.fits ? NumDraftTokens(work[i]) : 0;
    tasks[i].p_min = options_.draft_p_min;
    tasks[i].looks_up = options_.prompt_lookup;
    Speculation& speculation = SpeculationOf(sequence);
    RequestTail& tail = speculation.tail;
    tail.Reconcile(active);
    std::vector<TokenId>& given = speculation.given;
    given.insert(given.end(), work[i].new_dynamic_tokens.begin(), work[i].new_dynamic_tokens.end());
    if (active.is_full_head()) {
      speculation.tail_has_prompt = false;  // another vocabulary begins anew
    } else {
      const std::vector<TokenId> rows = std::exchange(speculation.adopted_rows, {});
      const std::vector<TokenId> continuations = std::exchange(speculation.continuations, {});
      const std::vector<TokenId> likely = std::exchange(speculation.prompt_likely, {});
      Discovered news{.given = work[i].new_dynamic_tokens,
                      .prefix = rows,
                      .continuations = continuations,
                      .prompt_likely = likely};
      if (!std::exchange(speculation.tail_has_prompt, true)) {
        news.prompt = std::span(sequence.tokens()).first(sequence.prompt_len());
        news.output = sequence.output();
        news.given = given;
      }
      discovery_.Extend(news, active, tail, sequence.stats.num_rows_added);
    }
    // A base that finds its size by itself grows where it holds too little.
    const bool is_sized =
        options_.sizer != nullptr && options_.sizer->sizes_base() && snapshot.of == &vocab_;
    const bool falls_back = tasks[i].num_draft_tokens > 0 && !active.is_full_head() && !is_sized &&
                            speculation.guard.has_collapsed();
    tasks[i].active = falls_back ? full_head_->Active().get() : &active;
    if (falls_back) ++sequence.stats.num_fallback_steps;
    sequence.stats.active_rows =
        tasks[i].active->is_full_head()
            ? options_.emit_size
            : active.size() + tail.size() + active.base()->max_successors() + drafter_rows;
    if (tasks[i].num_draft_tokens > 0) drafting.push_back(tasks[i]);
  }
  if (drafting.empty()) return;
  const bool wants_distributions = options_.verify == VerifyMode::kRejection;
  const absl::Status status = drafter_->Draft(drafting, wants_distributions);
  if (!status.ok()) return CountDraftFailure(status);  // the step goes on as plain decoding
  int64_t longest = 0;
  size_t next = 0;
  for (DraftTask& task : tasks) {
    if (task.num_draft_tokens == 0) continue;
    task = std::move(drafting[next++]);
    longest = std::max(longest, task.num_passes);
    task.Copy(wants_distributions);
  }
  stats_.num_draft_passes += longest;
}

/// Of the `num_emitted` tokens that came of `task`, the first `num_accepted` were drafted.
/// `likely`: the target's best where each of them was chosen, the likeliest last.
void SpeculativeEngine::Learn(const StepWork& work, const DraftTask& task, int64_t num_accepted,
                              int64_t num_emitted, std::span<const TokenId> likely) {
  Sequence& sequence = *work.sequence;
  SequenceStats& stats = sequence.stats;
  const Snapshot& snapshot = SnapshotOf(work);
  const ActiveVocab& active = *snapshot.active;
  Speculation& speculation = SpeculationOf(sequence);
  RequestTail& tail = speculation.tail;
  // What held `id` at place `j` of the step, behind the token `last`.
  const auto source_of = [&](size_t j, TokenId last, TokenId id) {
    const RowSource known = HeldBy(active, tail, last, id);
    const bool is_sketched = known == RowSource::kNone && j < task.sketch_rows.size() &&
                             std::ranges::binary_search(task.sketch_rows[j], Raw(id));
    return is_sketched ? RowSource::kSketch : known;
  };
  const bool fell_back = task.active != &active;
  const bool has_sketch =
      drafter_ != nullptr && drafter_->num_sketch_rows() > 0 && !task.active->is_full_head();
  const std::span<const TokenId> emitted = std::span(sequence.tokens()).last(num_emitted);
  const TokenId before = sequence.tokens().rbegin()[num_emitted];
  std::vector<TokenId> scored, unscored;  // of `emitted`: whether a draft pass came to it
  std::vector<RowSource> held;            // [scored.size()]
  TokenInfo* info = sequence.token_infos.data() + sequence.token_infos.size() - num_emitted;
  TokenId last = before;
  for (size_t j = 0; j < emitted.size(); ++j) {
    const TokenId id = emitted[j];
    RowSource source = source_of(j, last, id);
    if (options_.sizer != nullptr && snapshot.of == &vocab_) {
      options_.sizer->CountToken(last, id, IsHeldAnyway(sequence, source, id),
                                 SketchRank(task, j, id));
    }
    if (has_sketch && j >= task.sketch_rows.size()) {
      ++stats.num_unscored;  // who knows what the sketch would have chosen
      unscored.push_back(id);
    } else {
      if (options_.coverage_floor > 0.0) {
        if (fell_back && source == RowSource::kNone && drafter_->num_sketch_rows() > 0) {
          speculation.guard.Rest(options_.coverage_floor);
        } else {
          speculation.guard.Count(source != RowSource::kNone, options_.coverage_floor);
        }
      }
      if (fell_back) source = RowSource::kBase;  // the full head's
      ++stats.num_held[Index(source)];
      stats.num_covered += source != RowSource::kNone ? 1 : 0;
      info->escape = source == RowSource::kNone;
      scored.push_back(id);
      held.push_back(source);
    }
    ++info;
    last = id;
  }
  // The correction, at the place of the first draft token that was wrong.
  const bool is_corrected = num_accepted < std::min(num_emitted, std::ssize(task.tokens));
  if (is_corrected && std::ssize(held) == num_emitted && held.back() != RowSource::kNone) {
    ++stats.num_covered_corrections;
  }
  std::vector<TokenId> shared_drafted;  // the manager does not know the request's own rows
  last = before;
  for (size_t j = 0; j + task.num_copied < task.tokens.size(); ++j) {
    const TokenId id = task.tokens[j];
    const RowSource source = source_of(j, last, id);
    if (!fell_back && source <= RowSource::kShared) shared_drafted.push_back(id);
    last = id;
  }
  discovery_.Extend({.output = emitted, .likely = likely}, active, tail, stats.num_rows_added);
  if (!snapshot.fits) return;
  absl::Status status = VocabOf(work).Observe(scored, shared_drafted, &active, held);
  if (!unscored.empty()) status.Update(VocabOf(work).Add(unscored));
  SHORTLIST_CHECK(status.ok());  // ids of the target and of the snapshot are in range
}

/// Whether a draft could propose an emitted token, held by `source`, with any base and without a
/// sketch: another part of the vocabulary holds it, or would, since the request's text had it
/// before.
bool SpeculativeEngine::IsHeldAnyway(const Sequence& sequence, RowSource source, TokenId id) const {
  const bool is_of_base = source == RowSource::kBase || source == RowSource::kSuccessors;
  if (is_of_base && !options_.sizer->sizes_base()) return true;
  if (source == RowSource::kShared ||
      (source >= RowSource::kGiven && source < RowSource::kSketch)) {
    return true;
  }
  if (sequence.max_tail_rows() == 0) return false;
  const auto found = sequence.history().counts().find(Raw(id));
  // The one that was just emitted is counted.
  return found != sequence.history().counts().end() &&
         (found->second.in_prompt || found->second.in_output > 1);
}

/// As VocabSizer::CountToken takes it, of a token at place `j` of what came of `task`.
std::optional<int64_t> SpeculativeEngine::SketchRank(const DraftTask& task, size_t j,
                                                     TokenId id) const {
  if (drafter_ == nullptr || drafter_->num_sketch_rows() == 0) return RankedRows::kUnranked;
  if (j >= task.ranked_rows.size()) return std::nullopt;
  return task.ranked_rows[j].RankOf(id);
}

void SpeculativeEngine::TellDrafter(const StepWork& work, const at::Tensor& features) {
  Sequence& sequence = *work.sequence;
  if (drafter_ == nullptr || !sequence.speculates() || sequence.finished()) return;
  std::unique_ptr<DrafterState>& draft_state = SpeculationOf(sequence).draft_state;
  if (sequence.cached_len > drafter_->context_len()) {  // too long for this drafter, now and ever
    draft_state = nullptr;
    return;
  }
  if (draft_state == nullptr) {
    // A drafter joins at the start of a sequence or not at all: it must see every position once.
    if (sequence.cached_len != features.size(0)) return;
    draft_state = drafter_->NewState(/*cached_len=*/0);
  }
  if (const absl::Status status = drafter_->Accept(work, features); !status.ok()) {
    draft_state = nullptr;  // this sequence decodes plainly from here on
    CountDraftFailure(status);
  }
}

void SpeculativeEngine::CountDraftFailure(const absl::Status& why) {
  ++stats_.num_draft_failures;
  draft_error_ = why;
}

}  // namespace shortlist
