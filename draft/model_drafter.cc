#include "draft/model_drafter.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "draft/speculation.h"

namespace shortlist {
namespace {

// Maximum tokens of one sequence per pass: bounds the scratch memory.
constexpr int64_t kMaxChunk = 512;

struct State final : DrafterState {
  int64_t len = 0;         // leading tokens of the sequence whose keys and values are in the cache
  int64_t num_marked = 0;  // positions whose slots are marked kSame
  std::vector<TokenId> fed;  // draft tokens fed after `len`; valid where the target agreed
};

State& StateOf(Sequence& sequence) {
  return static_cast<State&>(*SpeculationOf(sequence).draft_state);
}

State& StateOf(const DraftTask& task) { return StateOf(*task.sequence); }

/// Records that the task's whole chain is in the cache.
void FedChain(const DraftTask& task) { StateOf(task).fed = task.chain.tokens; }

}  // namespace

absl::StatusOr<std::unique_ptr<ModelDrafter>> ModelDrafter::Create(
    CausalModel& model, int64_t num_slots, int64_t emit_size, ThreadPool& pool,
    std::shared_ptr<const HeadOnDevice> device) {
  if (model.config().vocab_size < emit_size) {
    return absl::FailedPreconditionError(
        absl::StrCat("the draft model has ", model.config().vocab_size,
                     " embedding rows, fewer than the target's ", emit_size, " tokens"));
  }
  if (model.state_bytes() > 0) {
    return absl::UnimplementedError(
        "a model with recurrent layers as a draft is not supported; as a target, it can draft by "
        "its own MTP layer");
  }
  SHORTLIST_ASSIGN_OR_RETURN(PrunedHead head,
                             CreateHead(model.head_weight(), emit_size, pool, device.get()));
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, model.NewExecutor(num_slots));
  return std::unique_ptr<ModelDrafter>(
      new ModelDrafter(model.config(), std::move(executor), std::move(head)));
}

std::unique_ptr<DrafterState> ModelDrafter::NewState(int64_t cached_len) const {
  auto state = std::make_unique<State>();
  state->len = state->num_marked = cached_len;
  return state;
}

int64_t ModelDrafter::CachedLen(const Sequence& sequence) const {
  const State& state = static_cast<const State&>(*FindSpeculation(sequence)->draft_state);
  return std::min(state.len, sequence.num_tokens() - 1);  // the last token is fed again
}

int64_t ModelDrafter::WrittenLen(std::span<const int32_t> kv_slots) const {
  return std::ranges::find_if(kv_slots, [this](int32_t slot) { return slots_[slot] != kSame; }) -
         kv_slots.begin();
}

void ModelDrafter::Overwritten(std::span<const int32_t> kv_slots) {
  for (const int32_t slot : kv_slots) slots_[slot] = kOther;
}

/// Advances the sequence's state over the draft tokens that the target emitted, and over positions
/// that another sequence computed. The last token stays: feeding it yields the prediction.
void ModelDrafter::Advance(Sequence& sequence, std::span<const int32_t> kv_slots) {
  State& state = StateOf(sequence);
  const int64_t last = sequence.num_tokens() - 1;
  for (const TokenId token : state.fed) {
    if (state.len >= last || sequence.tokens()[state.len] != token) break;
    ++state.len;
  }
  state.fed.clear();
  state.len = std::min(state.len, last);
  for (; state.num_marked < state.len; ++state.num_marked) {
    slots_[kv_slots[state.num_marked]] = kSame;
  }
  state.len += WrittenLen(kv_slots.subspan(state.len, last - state.len));
  state.num_marked = state.len;
}

/// Begins a batch of missing tokens, after Advance() for all sequences in it: no sequence may read
/// what another one writes.
void ModelDrafter::BeginMissing() {
  batch_.Clear();
  if (++batch_number_ < kFirstBatch) batch_number_ = kFirstBatch;
}

/// Adds tokens [state.len, end) of the sequence and then `drafted` to the batch. Returns false,
/// without an effect, if the batch writes one of these slots already for another sequence.
bool ModelDrafter::AddMissing(Sequence& sequence, std::span<const int32_t> kv_slots, int64_t end,
                              std::span<const TokenId> drafted) {
  const int64_t begin = StateOf(sequence).len;
  const std::span<const int32_t> written = kv_slots.subspan(begin, end - begin);
  const auto is_in_batch = [this](int32_t slot) { return slots_[slot] == batch_number_; };
  if (std::ranges::any_of(written, is_in_batch)) return false;
  for (const int32_t slot : written) slots_[slot] = batch_number_;
  std::vector<TokenId> tokens(sequence.tokens().begin() + begin, sequence.tokens().begin() + end);
  tokens.insert(tokens.end(), drafted.begin(), drafted.end());
  batch_.AddChain(tokens, begin, kv_slots.first(end + std::ssize(drafted)));
  return true;
}

/// Computes the hidden states of the missing tokens in batch_.
absl::StatusOr<Matrix> ModelDrafter::ForwardMissing() {
  absl::StatusOr<Matrix> hidden = Forward();
  for (const int32_t slot : batch_.out_slots()) {
    slots_[slot] = hidden.ok() ? kSame : kOther;
  }
  return hidden;
}

absl::StatusOr<int64_t> ModelDrafter::CatchUp(std::span<const StepWork> work) {
  for (const StepWork& of : work) Advance(*of.sequence, of.kv_slots);
  BeginMissing();
  std::vector<std::pair<State*, int64_t>> ends;
  for (const StepWork& of : work) {
    State& state = StateOf(*of.sequence);
    const int64_t end = std::min(of.sequence->cached_len, state.len + kMaxCatchUp);
    if (state.len < end && AddMissing(*of.sequence, of.kv_slots, end))
      ends.push_back({&state, end});
  }
  if (ends.empty()) return 0;
  SHORTLIST_RETURN_IF_ERROR(ForwardMissing().status());
  for (const auto& [state, end] : ends) state->len = state->num_marked = end;
  return batch_.num_tokens();
}

absl::Status ModelDrafter::RunMadeUp(int64_t num_chains, int64_t len) {
  batch_.Clear();
  batch_.AddMadeUp(num_chains, len);
  return executor_->Forward(batch_).status();
}

/// Computes the hidden states of batch_.
absl::StatusOr<Matrix> ModelDrafter::Forward() {
  SHORTLIST_ASSIGN_OR_RETURN(Matrix hidden, executor_->Forward(batch_));
  SHORTLIST_RETURN_IF_ERROR(TellStates(hidden));
  return hidden;
}

absl::StatusOr<Matrix> ModelDrafter::Begin(std::span<DraftTask* const> tasks) {
  const int64_t hidden_size = config_.hidden;
  Matrix hidden = Matrix(static_cast<int64_t>(tasks.size()), hidden_size);
  struct Chunk {
    size_t task;
    int64_t last_row, end;
  };
  std::vector<Chunk> chunks;
  std::vector<bool> is_done(tasks.size());
  while (std::ranges::count(is_done, false) > 0) {
    for (size_t m = 0; m < tasks.size(); ++m) {
      if (!is_done[m]) Advance(*tasks[m]->sequence, tasks[m]->kv_slots);
    }
    BeginMissing();
    chunks.clear();
    for (size_t m = 0; m < tasks.size(); ++m) {
      if (is_done[m]) continue;
      Sequence& sequence = *tasks[m]->sequence;
      const int64_t end = std::min(sequence.num_tokens(), StateOf(sequence).len + kMaxChunk);
      std::span<const TokenId> drafted;
      if (end == sequence.num_tokens()) drafted = tasks[m]->chain.tokens;
      // The first task is always added.
      if (!AddMissing(sequence, tasks[m]->kv_slots, end, drafted)) continue;
      chunks.push_back({m, batch_.num_tokens() - 1, end});
    }
    SHORTLIST_ASSIGN_OR_RETURN(const Matrix rows, ForwardMissing());
    for (const Chunk& chunk : chunks) {
      const int64_t num_tokens = tasks[chunk.task]->sequence->num_tokens();
      State& state = StateOf(*tasks[chunk.task]);
      state.len = chunk.end;
      state.num_marked = std::min(chunk.end, num_tokens - 1);  // the target lacks the last token
      is_done[chunk.task] = chunk.end == num_tokens;
      if (is_done[chunk.task]) {
        const DraftTask& task = *tasks[chunk.task];
        FedChain(task);
        for (const int32_t slot : task.kv_slots.subspan(num_tokens, task.chain.size())) {
          slots_[slot] = kOther;
        }
      }
      std::memcpy(hidden.floats() + chunk.task * hidden_size,
                  rows.floats() + chunk.last_row * hidden_size, hidden_size * sizeof(float));
    }
  }
  return hidden;
}

absl::StatusOr<Matrix> ModelDrafter::Next(std::span<DraftTask* const> tasks, const Matrix&) {
  batch_.Clear();
  std::vector<int64_t> last_rows;
  for (const DraftTask* task : tasks) {
    const int64_t num_tokens = task->sequence->num_tokens();
    const int64_t num_fed = std::ssize(StateOf(*task).fed);
    batch_.AddChain(std::span(task->chain.tokens).subspan(num_fed), num_tokens + num_fed,
                    task->kv_slots.first(num_tokens + task->chain.size()));
    last_rows.push_back(batch_.num_tokens() - 1);
  }
  SHORTLIST_ASSIGN_OR_RETURN(Matrix hidden, Forward());
  for (const DraftTask* task : tasks) FedChain(*task);
  return batch_.num_tokens() == std::ssize(tasks) ? std::move(hidden)
                                                  : GatherRows(hidden, last_rows);
}

}  // namespace shortlist
