#include "draft/engine.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

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

/// Its cache must have the engine's slots, its head rows of the ids that it shall score.
absl::Status CheckDrafter(const Drafter* drafter, const DynamicVocabularyManager* vocab,
                          int64_t num_slots) {
  if (drafter == nullptr) return absl::OkStatus();
  if (drafter->num_slots() < num_slots) {
    return absl::InvalidArgumentError(absl::StrCat("the drafter has ", drafter->num_slots(),
                                                   " KV slots, the engine needs ", num_slots));
  }
  if (vocab == nullptr) return absl::OkStatus();
  const std::shared_ptr<const ActiveVocab> active = vocab->Active();
  int32_t largest = active->base()->largest_id();
  for (const int32_t id : active->rows()) largest = std::max(largest, id);
  if (largest < drafter->num_rows()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "active token id ", largest, " for a drafter whose head has ", drafter->num_rows(), " rows"));
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
                                     std::shared_ptr<const ActiveVocab> full_head)
    : target_(target),
      drafter_(drafter),
      vocab_(vocab),
      options_(options),
      cache_(std::move(cache)),
      head_(std::move(head)),
      full_head_(std::move(full_head)) {}

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
  if (options.num_slots < 1) {
    return absl::InvalidArgumentError(absl::StrCat("num_slots ", options.num_slots, " below 1"));
  }
  const int64_t vocab_size = target.config().vocab_size;
  if (vocab != nullptr && vocab->Active()->vocab_size() != vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat("active vocabulary over ",
                                                   vocab->Active()->vocab_size(),
                                                   " tokens for a target of ", vocab_size));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckDrafter(drafter, vocab, options.num_slots));
  SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<const VocabBase> empty,
                             VocabBase::Create({}, vocab_size));
  auto full_head = std::make_shared<const ActiveVocab>(/*version=*/0, std::move(empty),
                                                       /*dynamic=*/std::vector<int32_t>());
  SHORTLIST_ASSIGN_OR_RETURN(
      TargetHead head,
      TargetHead::Create(target.head_weight(), options.emit_size, full_head, pool));
  SHORTLIST_ASSIGN_OR_RETURN(KvCache cache,
                             KvCache::Create(target.config(), options.num_slots, target.dtype()));
  return std::unique_ptr<SpeculativeEngine>(new SpeculativeEngine(
      target, drafter, vocab, options, std::move(cache), std::move(head), std::move(full_head)));
}

/// Fills batch_ with at most `max_tokens` uncomputed tokens.
std::vector<SpeculativeEngine::Chunk> SpeculativeEngine::BatchChunks(
    std::span<Sequence* const> sequences, int64_t max_tokens) {
  SHORTLIST_CHECK(max_tokens >= 1);
  std::vector<Chunk> chunks;
  batch_.Clear();
  for (size_t i = 0; i < sequences.size(); ++i) {
    const Sequence& sequence = *sequences[i];
    const int64_t begin = sequence.cached_len;
    const int64_t len = std::min(sequence.num_tokens() - begin, max_tokens - batch_.num_tokens());
    if (len <= 0 || sequence.finished()) continue;
    SHORTLIST_CHECK(static_cast<int64_t>(sequence.kv_slots.size()) >= begin + len);
    chunks.push_back({i, batch_.num_tokens(), len, begin + len == sequence.num_tokens()});
    batch_.AddChain(std::span(sequence.tokens()).subspan(begin, len), begin,
                    std::span(sequence.kv_slots).first(begin + len));
  }
  return chunks;
}

absl::Status SpeculativeEngine::Prefill(std::span<Sequence* const> sequences, int64_t max_tokens) {
  for (const Sequence* sequence : sequences) {
    if (sequence->num_tokens() >= target_.config().context_len) {
      return absl::InvalidArgumentError(absl::StrCat("a prompt of ", sequence->num_tokens(),
                                                     " tokens leaves no room in a context of ",
                                                     target_.config().context_len));
    }
  }
  std::vector<Chunk> chunks = BatchChunks(sequences, max_tokens);
  RowDetail detail = RowDetail::kBest;
  for (const Chunk& chunk : chunks) {
    if (chunk.completes) detail = std::max(detail, DetailFor(*sequences[chunk.index]));
  }
  if (chunks.empty()) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const at::Tensor hidden, target_.Forward(batch_, cache_));
  for (Chunk& chunk : chunks) {
    SHORTLIST_RETURN_IF_ERROR(ScorePrompt(*sequences[chunk.index], hidden, chunk));
  }

  std::vector<int64_t> last_rows;  // of the sequences whose last token this pass reached
  for (const Chunk& chunk : chunks) {
    if (chunk.completes) last_rows.push_back(chunk.first_row + chunk.len - 1);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const TargetHead::Verdict verdict,
                             head_.Judge(GatherRows(hidden, last_rows), detail, {}));
  int64_t verdict_row = 0;
  for (Chunk& chunk : chunks) {
    Sequence& sequence = *sequences[chunk.index];
    sequence.cached_len += chunk.len;
    std::move(chunk.prompt_infos.begin(), chunk.prompt_infos.end(),
              std::back_inserter(sequence.prompt_infos));
    if (chunk.completes) {
      verifier_.Verify(sequence, /*tokens=*/{}, /*distributions=*/{}, verdict.From(verdict_row++),
                       options_.verify, target_.config().context_len);
    }
    TellDrafter(sequence, hidden.narrow(0, chunk.first_row, chunk.len));
  }
  return absl::OkStatus();
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

absl::Status SpeculativeEngine::Encode(std::span<Sequence* const> sequences, int64_t max_tokens,
                                       HiddenCallback receive) {
  for (const Sequence* sequence : sequences) {
    if (sequence->num_tokens() > target_.config().context_len) {
      return absl::InvalidArgumentError(absl::StrCat("a prompt of ", sequence->num_tokens(),
                                                     " tokens exceeds the context of ",
                                                     target_.config().context_len));
    }
  }
  const std::vector<Chunk> chunks = BatchChunks(sequences, max_tokens);
  if (chunks.empty()) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const at::Tensor hidden, target_.Forward(batch_, cache_));
  for (const Chunk& chunk : chunks) sequences[chunk.index]->cached_len += chunk.len;
  for (const Chunk& chunk : chunks) {
    receive(chunk.index, hidden.narrow(0, chunk.first_row, chunk.len));
  }
  return absl::OkStatus();
}

void SpeculativeEngine::AdoptPrefix(Sequence& sequence, int64_t len,
                                    std::span<const TokenId> rows) {
  SHORTLIST_CHECK(len >= 0 && len < sequence.num_tokens());
  sequence.cached_len = len;
  const bool drafts =
      drafter_ != nullptr && sequence.speculates() && len <= drafter_->context_len();
  sequence.draft_state = drafts ? drafter_->NewState(len) : nullptr;
  if (vocab_ != nullptr && !rows.empty()) sequence.tail.Add(rows, *vocab_->Active());
}

int64_t SpeculativeEngine::ShareableLen(const Sequence& sequence) const {
  if (drafter_ == nullptr || !sequence.speculates()) return sequence.cached_len;
  if (sequence.draft_state == nullptr) return 0;
  return std::min(sequence.cached_len, drafter_->CachedLen(sequence));
}

absl::Status SpeculativeEngine::Step(std::span<Sequence* const> sequences,
                                     std::span<const TokenId> new_dynamic_ids) {
  if (sequences.empty()) return absl::OkStatus();
  if (vocab_ != nullptr && !new_dynamic_ids.empty()) {
    SHORTLIST_RETURN_IF_ERROR(vocab_->Add(new_dynamic_ids));
  }
  // One snapshot from the first draft token to the end of verification.
  const std::shared_ptr<const ActiveVocab> active =
      vocab_ != nullptr ? vocab_->Active() : full_head_;
  std::vector<DraftTask> tasks(sequences.size());
  {
    Timer timer(stats_.draft_ms);
    Propose(sequences, *active, tasks);
  }

  Timer timer(stats_.verify_ms);
  batch_.Clear();
  RowDetail detail = RowDetail::kBest;
  std::vector<TokenId> chain;
  for (const DraftTask& task : tasks) {
    const Sequence& sequence = *task.sequence;
    SHORTLIST_CHECK(!sequence.finished() && sequence.cached_len == sequence.num_tokens() - 1);
    chain.assign(1, sequence.tokens().back());
    chain.insert(chain.end(), task.tokens.begin(), task.tokens.end());
    batch_.AddChain(chain, sequence.cached_len,
                    std::span(sequence.kv_slots).first(sequence.cached_len + chain.size()));
    detail = std::max(detail, DetailFor(sequence));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const at::Tensor hidden, target_.Forward(batch_, cache_));
  SHORTLIST_ASSIGN_OR_RETURN(verdict_, head_.Judge(hidden, detail, std::move(verdict_)));

  int64_t row = 0;
  for (const DraftTask& task : tasks) {
    Sequence& sequence = *task.sequence;
    const int64_t before = sequence.num_tokens();
    const int64_t num_accepted =
        verifier_.Verify(sequence, task.tokens, task.distributions, verdict_.From(row),
                         options_.verify, target_.config().context_len);
    const int64_t num_emitted = sequence.num_tokens() - before;
    SequenceStats& stats = sequence.stats;
    ++stats.num_verify_steps;
    stats.num_step_tokens += num_emitted;
    stats.num_drafted += static_cast<int64_t>(task.tokens.size());
    stats.num_copied += task.num_copied;
    stats.num_accepted += num_accepted;
    sequence.cached_len += num_emitted;
    task.Learn(num_accepted);
    Learn(sequence, std::span(sequence.tokens()).last(num_emitted),
          std::span(task.tokens).first(task.tokens.size() - task.num_copied), *active);
    if (num_emitted > 0) TellDrafter(sequence, hidden.narrow(0, row, num_emitted));
    row += static_cast<int64_t>(task.tokens.size()) + 1;
  }
  ++stats_.num_steps;
  return absl::OkStatus();
}

int64_t SpeculativeEngine::NumDraftTokens(const Sequence& sequence) const {
  if (drafter_ == nullptr || sequence.draft_state == nullptr) return 0;
  // The last token of a step is the target's own, so one fewer draft than tokens still wanted; each
  // draft token needs a slot behind the last token and a position in both contexts.
  const int64_t wanted = sequence.sampling().max_new_tokens - sequence.num_output() - 1;
  const int64_t slots = static_cast<int64_t>(sequence.kv_slots.size()) - sequence.num_tokens();
  const int64_t positions =
      std::min(target_.config().context_len, drafter_->context_len()) - sequence.num_tokens();
  return std::max<int64_t>(0, std::min({options_.num_draft_tokens, wanted, slots, positions}));
}

void SpeculativeEngine::Propose(std::span<Sequence* const> sequences, const ActiveVocab& active,
                                std::vector<DraftTask>& tasks) {
  std::vector<DraftTask> drafting;
  for (size_t i = 0; i < sequences.size(); ++i) {
    Sequence& sequence = *sequences[i];
    tasks[i].sequence = &sequence;
    tasks[i].num_draft_tokens = NumDraftTokens(sequence);
    tasks[i].p_min = options_.draft_p_min;
    tasks[i].looks_up = options_.prompt_lookup;
    sequence.tail.Reconcile(active);
    if (!std::exchange(sequence.tail_has_prompt, true))
      sequence.tail.Add(sequence.tokens(), active);
    sequence.stats.active_rows =
        active.empty() ? options_.emit_size
                       : active.size() + sequence.tail.size() + active.base()->max_successors();
    if (tasks[i].num_draft_tokens > 0) drafting.push_back(tasks[i]);
  }
  if (drafting.empty()) return;
  const bool wants_distributions = options_.verify == VerifyMode::kRejection;
  const absl::Status status = drafter_->Draft(drafting, active, wants_distributions);
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

void SpeculativeEngine::Learn(Sequence& sequence, std::span<const TokenId> emitted,
                              std::span<const TokenId> drafted, const ActiveVocab& active) {
  // Rows that this request scored for itself, behind the token `last`.
  const auto own = [&](TokenId last, TokenId id) {
    return sequence.tail.Contains(id) || active.base()->IsSuccessor(last, id);
  };
  const TokenId before = sequence.tokens().rbegin()[std::ssize(emitted)];
  TokenInfo* info = sequence.token_infos.data() + sequence.token_infos.size() - emitted.size();
  TokenId last = before;
  for (TokenId id : emitted) {
    const bool covered = active.empty() || active.Contains(id) || own(last, id);
    sequence.stats.num_covered += covered ? 1 : 0;
    (info++)->escape = !covered;
    last = id;
  }
  std::vector<TokenId> shared_drafted;  // the manager does not know the request's own rows
  last = before;
  for (TokenId id : drafted) {
    if (active.Contains(id) || !own(last, id)) shared_drafted.push_back(id);
    last = id;
  }
  sequence.tail.Add(emitted, active);
  if (vocab_ == nullptr) return;
  const absl::Status status = vocab_->Observe(emitted, shared_drafted, &active);
  SHORTLIST_CHECK(status.ok());  // ids of the target and of the snapshot are in range
}

void SpeculativeEngine::TellDrafter(Sequence& sequence, const at::Tensor& features) {
  if (drafter_ == nullptr || !sequence.speculates() || sequence.finished()) return;
  if (sequence.cached_len > drafter_->context_len()) {  // too long for this drafter, now and ever
    sequence.draft_state = nullptr;
    return;
  }
  if (sequence.draft_state == nullptr) {
    // A drafter joins at the start of a sequence or not at all: it must see every position once.
    if (sequence.cached_len != features.size(0)) return;
    sequence.draft_state = drafter_->NewState(/*cached_len=*/0);
  }
  if (const absl::Status status = drafter_->Accept(sequence, features); !status.ok()) {
    sequence.draft_state = nullptr;  // this sequence decodes plainly from here on
    CountDraftFailure(status);
  }
}

void SpeculativeEngine::CountDraftFailure(const absl::Status& why) {
  ++stats_.num_draft_failures;
  draft_error_ = why;
}

}  // namespace shortlist
