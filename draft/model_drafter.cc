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

// Maximum tokens of one sequence per pass: bounds the scratch memory of a long prompt's first
// draft.
constexpr int64_t kMaxChunk = 512;
// Maximum tokens of one sequence left for the next draft. If there are more (a long prompt), they
// are fed at once, so that no single step has to.
constexpr int64_t kMaxPending = 256;

struct State final : DrafterState {
  int64_t len = 0;  // leading tokens of the sequence whose keys and values are in the cache
  std::vector<TokenId> fed;  // draft tokens fed after them; valid where the target agreed
};

State& StateOf(Sequence& sequence) {
  return static_cast<State&>(*SpeculationOf(sequence).draft_state);
}

State& StateOf(const DraftTask& task) { return StateOf(*task.sequence); }

}  // namespace

absl::StatusOr<std::unique_ptr<ModelDrafter>> ModelDrafter::Create(
    Decoder& model, int64_t num_slots, int64_t emit_size, ThreadPool& pool,
    std::shared_ptr<const HeadOnDevice> device) {
  if (model.config().vocab_size < emit_size) {
    return absl::FailedPreconditionError(
        absl::StrCat("the draft model has ", model.config().vocab_size,
                     " embedding rows, fewer than the target's ", emit_size, " tokens"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(PrunedHead head,
                             CreateHead(model.head_weight(), emit_size, pool, device.get()));
  SHORTLIST_ASSIGN_OR_RETURN(KvCache cache,
                             KvCache::Create(model.config(), num_slots, model.dtype()));
  return std::unique_ptr<ModelDrafter>(new ModelDrafter(model, std::move(cache), std::move(head)));
}

std::unique_ptr<DrafterState> ModelDrafter::NewState(int64_t cached_len) const {
  auto state = std::make_unique<State>();
  state->len = cached_len;
  return state;
}

int64_t ModelDrafter::CachedLen(const Sequence& sequence) const {
  const State& state = static_cast<const State&>(*FindSpeculation(sequence)->draft_state);
  return std::min(state.len, sequence.num_tokens() - 1);  // the last token is fed again
}

absl::Status ModelDrafter::Accept(const StepWork& work, const Matrix&) {
  Sequence& sequence = *work.sequence;
  // The next Begin() compares the fed tokens with the emitted ones.
  if (sequence.cached_len - StateOf(sequence).len <= kMaxPending) return absl::OkStatus();
  return CatchUp(std::span(&work, 1));
}

absl::Status ModelDrafter::CatchUp(std::span<const StepWork> work) {
  batch_.Clear();
  for (const StepWork& of : work) {
    const int64_t begin = StateOf(*of.sequence).len, end = of.sequence->cached_len;
    batch_.AddChain(std::span(of.sequence->tokens()).subspan(begin, end - begin), begin,
                    of.kv_slots.first(end));
  }
  SHORTLIST_RETURN_IF_ERROR(Forward().status());
  for (const StepWork& of : work) {
    State& state = StateOf(*of.sequence);
    state.len = of.sequence->cached_len;
    state.fed.clear();
  }
  return absl::OkStatus();
}

/// Computes the hidden states of batch_.
absl::StatusOr<Matrix> ModelDrafter::Forward() {
  SHORTLIST_ASSIGN_OR_RETURN(Matrix hidden, model_.Forward(batch_, cache_));
  SHORTLIST_RETURN_IF_ERROR(TellStates(hidden));
  return hidden;
}

absl::StatusOr<Matrix> ModelDrafter::Begin(std::span<DraftTask* const> tasks) {
  for (DraftTask* task : tasks) {
    State& state = StateOf(*task);
    const std::vector<TokenId>& tokens = task->sequence->tokens();
    const int64_t last = task->sequence->num_tokens() - 1;
    for (TokenId token : state.fed) {
      if (state.len >= last || tokens[state.len] != token) break;
      ++state.len;
    }
    state.fed.clear();
    state.len =
        std::min(state.len, last);  // the last token is always fed: it yields the prediction
  }
  const int64_t hidden_size = model_.config().hidden;
  Matrix hidden = Matrix(static_cast<int64_t>(tasks.size()), hidden_size);
  bool done = false;
  while (!done) {
    done = true;
    batch_.Clear();
    struct Chunk {
      size_t task;
      int64_t last_row, end;
    };
    std::vector<Chunk> chunks;
    for (size_t m = 0; m < tasks.size(); ++m) {
      const Sequence& sequence = *tasks[m]->sequence;
      const int64_t begin = StateOf(*tasks[m]).len;
      const int64_t end = std::min(sequence.num_tokens(), begin + kMaxChunk);
      if (begin == end) continue;
      batch_.AddChain(std::span(sequence.tokens()).subspan(begin, end - begin), begin,
                      tasks[m]->kv_slots.first(end));
      chunks.push_back({m, batch_.num_tokens() - 1, end});
      done &= end == sequence.num_tokens();
    }
    SHORTLIST_ASSIGN_OR_RETURN(const Matrix rows, Forward());
    for (const Chunk& chunk : chunks) {
      StateOf(*tasks[chunk.task]).len = chunk.end;
      std::memcpy(hidden.floats() + chunk.task * hidden_size,
                  rows.floats() + chunk.last_row * hidden_size, hidden_size * sizeof(float));
    }
  }
  return hidden;
}

absl::StatusOr<Matrix> ModelDrafter::Next(std::span<DraftTask* const> tasks, const Matrix&) {
  batch_.Clear();
  for (const DraftTask* task : tasks) {
    const Sequence& sequence = *task->sequence;
    const int64_t position = sequence.num_tokens() + static_cast<int64_t>(task->tokens.size()) - 1;
    batch_.AddChain(std::span(&task->tokens.back(), 1), position,
                    task->kv_slots.first(position + 1));
  }
  SHORTLIST_ASSIGN_OR_RETURN(Matrix hidden, Forward());
  for (const DraftTask* task : tasks) StateOf(*task).fed.push_back(task->tokens.back());
  return hidden;
}

}  // namespace shortlist
