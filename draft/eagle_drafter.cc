#include "draft/eagle_drafter.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "draft/speculation.h"

namespace shortlist {
namespace {

// Maximum features of one sequence kept for the next draft. If there are more (a long prompt), they
// are fed at once.
constexpr int64_t kMaxPending = 256;

struct State final : DrafterState {
  int64_t len = 0;  // leading positions whose keys and values come from the target's features
  std::vector<float> features;  // [num_features, hidden] of positions len, len + 1, ...
  int64_t num_features = 0;
  int64_t num_fed = 0;          // number of `features` that are in the cache already
  int64_t num_drafted_fed = 0;  // tokens of the chain that the network has computed
};

State& StateOf(Sequence& sequence) {
  return static_cast<State&>(*SpeculationOf(sequence).draft_state);
}

State& StateOf(const DraftTask& task) { return StateOf(*task.sequence); }

/// Appends features [state.num_fed .. num_features) of one sequence to the batch. Position i takes
/// token i + 1.
void AddPending(const Sequence& sequence, std::span<const int32_t> kv_slots, const State& state,
                ForwardBatch& batch) {
  const int64_t first = state.len + state.num_fed;
  const int64_t end = state.len + state.num_features;
  batch.AddChain(std::span(sequence.tokens()).subspan(first + 1, end - first), first,
                 kv_slots.first(end));
}

void CopyPending(const State& state, int64_t hidden_size, float*& to) {
  const int64_t count = (state.num_features - state.num_fed) * hidden_size;
  std::memcpy(to, state.features.data() + state.num_fed * hidden_size, count * sizeof(float));
  to += count;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EagleDrafter>> EagleDrafter::Create(
    EagleModel& model, const Decoder& target, int64_t num_slots, int64_t emit_size,
    ThreadPool& pool, std::shared_ptr<const HeadOnDevice> device) {
  SHORTLIST_ASSIGN_OR_RETURN(PrunedHead head,
                             CreateHead(model.head_weight(), emit_size, pool, device.get()));
  SHORTLIST_ASSIGN_OR_RETURN(KvCache cache,
                             KvCache::Create(model.config(), num_slots, target.dtype()));
  return std::unique_ptr<EagleDrafter>(new EagleDrafter(model, std::move(cache), std::move(head)));
}

std::unique_ptr<DrafterState> EagleDrafter::NewState(int64_t cached_len) const {
  auto state = std::make_unique<State>();
  state->len = cached_len;
  return state;
}

int64_t EagleDrafter::CachedLen(const Sequence& sequence) const {
  const State& state = static_cast<const State&>(*FindSpeculation(sequence)->draft_state);
  // The next draft feeds the last feature again.
  return state.len + std::max<int64_t>(std::min(state.num_fed, state.num_features - 1), 0);
}

absl::Status EagleDrafter::Accept(const StepWork& work, const Matrix& features) {
  Sequence& sequence = *work.sequence;
  State& state = StateOf(sequence);
  const int64_t hidden_size = features.cols();
  state.features.erase(state.features.begin(),
                       state.features.begin() + state.num_fed * hidden_size);
  state.len += state.num_fed;
  state.num_features -= std::exchange(state.num_fed, 0);
  const float* rows = features.floats();
  state.features.insert(state.features.end(), rows, rows + features.num_elements());
  state.num_features += features.rows();
  SHORTLIST_CHECK(state.len + state.num_features == sequence.cached_len);
  if (state.num_features <= kMaxPending) return absl::OkStatus();
  return CatchUp(std::span(&work, 1)).status();
}

absl::StatusOr<int64_t> EagleDrafter::CatchUp(std::span<const StepWork> work) {
  const int64_t hidden_size = model_.config().hidden;
  batch_.Clear();
  for (const StepWork& of : work) {
    AddPending(*of.sequence, of.kv_slots, StateOf(*of.sequence), batch_);
  }
  Matrix pending = Matrix(batch_.num_tokens(), hidden_size);
  float* to = pending.floats();
  for (const StepWork& of : work) CopyPending(StateOf(*of.sequence), hidden_size, to);
  SHORTLIST_RETURN_IF_ERROR(Forward(pending).status());
  for (const StepWork& of : work) {
    State& state = StateOf(*of.sequence);
    state.num_fed = state.num_features;
  }
  return pending.rows();
}

absl::Status EagleDrafter::RunMadeUp(int64_t num_chains, int64_t len) {
  batch_.Clear();
  batch_.AddMadeUp(num_chains, len);
  Matrix features(batch_.num_tokens(), model_.config().hidden);
  std::fill_n(features.floats(), features.num_elements(), 1.0f);
  return model_.Forward(batch_, features, cache_).status();
}

/// Computes the hidden states of batch_.
absl::StatusOr<Matrix> EagleDrafter::Forward(const Matrix& features) {
  SHORTLIST_ASSIGN_OR_RETURN(Matrix hidden, model_.Forward(batch_, features, cache_));
  SHORTLIST_RETURN_IF_ERROR(TellStates(hidden));
  return hidden;
}

absl::StatusOr<Matrix> EagleDrafter::Begin(std::span<DraftTask* const> tasks) {
  const int64_t hidden_size = model_.config().hidden;
  batch_.Clear();
  for (const DraftTask* task : tasks) {
    State& state = StateOf(*task);
    SHORTLIST_CHECK(state.len + state.num_features == task->sequence->num_tokens() - 1);
    state.num_fed =
        std::min(state.num_fed, state.num_features - 1);  // the last one yields the prediction
    AddPending(*task->sequence, task->kv_slots, state, batch_);
  }
  Matrix features = Matrix(batch_.num_tokens(), hidden_size);
  float* to = features.floats();
  for (const DraftTask* task : tasks) CopyPending(StateOf(*task), hidden_size, to);
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix rows, Forward(features));

  std::vector<int64_t> last_rows;
  int64_t end = 0;
  for (const DraftTask* task : tasks) {
    State& state = StateOf(*task);
    end += state.num_features - state.num_fed;
    last_rows.push_back(end - 1);
    state.num_fed = state.num_features;
    state.num_drafted_fed = 0;
  }
  return FeedChains(tasks, GatherRows(rows, last_rows));
}

/// Computes the tokens of the chains that are not computed yet, one of each chain per pass, because
/// a token needs the feature that its predecessor yields. `features` [tasks.size(), hidden]
/// predicted the first of them; returns those of the last.
absl::StatusOr<Matrix> EagleDrafter::FeedChains(std::span<DraftTask* const> tasks,
                                                Matrix features) {
  while (true) {
    batch_.Clear();
    std::vector<int64_t> fed;
    for (size_t m = 0; m < tasks.size(); ++m) {
      const DraftTask& task = *tasks[m];
      const int64_t place = StateOf(task).num_drafted_fed;
      if (place == task.chain.size()) continue;
      // Token t_n (the first drafted) and the predicted feature f_n-1 share position n - 1, and so
      // on.
      const int64_t position = task.sequence->num_tokens() - 1 + place;
      batch_.AddChain(std::span(&task.chain.tokens[place], 1), position,
                      task.kv_slots.first(position + 1));
      ++StateOf(task).num_drafted_fed;
      fed.push_back(static_cast<int64_t>(m));
    }
    if (fed.empty()) return features;
    if (fed.size() == tasks.size()) {
      SHORTLIST_ASSIGN_OR_RETURN(features, Forward(features));
      continue;
    }
    SHORTLIST_ASSIGN_OR_RETURN(const Matrix next, Forward(GatherRows(features, fed)));
    for (size_t i = 0; i < fed.size(); ++i) {
      std::copy_n(next.floats() + i * next.cols(), next.cols(),
                  features.floats() + fed[i] * next.cols());
    }
  }
}

}  // namespace shortlist
