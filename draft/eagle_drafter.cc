#include "draft/eagle_drafter.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "draft/speculation.h"

namespace shortlist {
namespace {

// Maximum positions of one sequence whose states are kept for the next draft. If there are more (a
// long prompt), they are fed at once.
constexpr int64_t kMaxPending = 256;

struct State final : DrafterState {
  int64_t len = 0;  // leading positions whose keys and values come from the target's states
  std::vector<float> features;  // [num_features, target_width] of positions len, len + 1, ...
  int64_t num_features = 0;
  int64_t num_fed = 0;           // number of `features` that are in the cache already
  int64_t num_drafted_fed = 0;   // tokens of the chain that the network has computed
  std::vector<float> predicted;  // [hidden] feature for the next of them
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

/// Copies row `row` of a prediction's features for the next pass of the sequence.
void KeepPredicted(const Matrix& features, int64_t row, State& state) {
  const float* const begin = features.floats() + row * features.cols();
  state.predicted.assign(begin, begin + features.cols());
}

}  // namespace

absl::StatusOr<std::unique_ptr<EagleDrafter>> EagleDrafter::Create(
    EagleNetwork& network, int64_t num_slots, int64_t emit_size, ThreadPool& pool,
    std::shared_ptr<const HeadOnDevice> device) {
  SHORTLIST_ASSIGN_OR_RETURN(PrunedHead head, CreateHead(network.head_weight(), emit_size, pool,
                                                         device.get(), network.head_rows()));
  SHORTLIST_ASSIGN_OR_RETURN(KvCache cache,
                             KvCache::Create(network.config(), num_slots, network.kv_dtype()));
  return std::unique_ptr<EagleDrafter>(
      new EagleDrafter(network, std::move(cache), std::move(head)));
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
  const int64_t width = features.cols();
  SHORTLIST_CHECK(width == network_.target_width());
  state.features.erase(state.features.begin(), state.features.begin() + state.num_fed * width);
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
  batch_.Clear();
  std::vector<const Sequence*> sequences;
  for (const StepWork& of : work) {
    AddPending(*of.sequence, of.kv_slots, StateOf(*of.sequence), batch_);
    sequences.push_back(of.sequence);
  }
  SHORTLIST_RETURN_IF_ERROR(ForwardPending(sequences).status());
  for (const StepWork& of : work) {
    State& state = StateOf(*of.sequence);
    state.num_fed = state.num_features;
  }
  return batch_.num_tokens();
}

absl::Status EagleDrafter::RunMadeUp(int64_t num_chains, int64_t len) {
  batch_.Clear();
  batch_.AddMadeUp(num_chains, len);
  Matrix states(batch_.num_tokens(), network_.target_width());
  std::fill_n(states.floats(), states.num_elements(), 1.0f);
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix features, network_.Fuse(states));
  return network_.Forward(batch_, features, cache_).status();
}

/// Runs the network over batch_.
absl::StatusOr<EagleNetwork::Prediction> EagleDrafter::Forward(const Matrix& features) {
  SHORTLIST_ASSIGN_OR_RETURN(EagleNetwork::Prediction prediction,
                             network_.Forward(batch_, features, cache_));
  SHORTLIST_RETURN_IF_ERROR(TellStates(prediction.scored));
  return prediction;
}

/// Runs the network over batch_, which AddPending() filled with the states of `of`.
absl::StatusOr<EagleNetwork::Prediction> EagleDrafter::ForwardPending(
    std::span<const Sequence* const> of) {
  const int64_t width = network_.target_width();
  Matrix states(batch_.num_tokens(), width);
  float* to = states.floats();
  for (const Sequence* const sequence : of) {
    const State& state = static_cast<const State&>(*FindSpeculation(*sequence)->draft_state);
    const int64_t count = (state.num_features - state.num_fed) * width;
    to = std::copy_n(state.features.data() + state.num_fed * width, count, to);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix features, network_.Fuse(states));
  return Forward(features);
}

absl::StatusOr<Matrix> EagleDrafter::Begin(std::span<DraftTask* const> tasks) {
  batch_.Clear();
  std::vector<const Sequence*> sequences;
  for (const DraftTask* task : tasks) {
    State& state = StateOf(*task);
    SHORTLIST_CHECK(state.len + state.num_features == task->sequence->num_tokens() - 1);
    state.num_fed =
        std::min(state.num_fed, state.num_features - 1);  // the last one yields the prediction
    AddPending(*task->sequence, task->kv_slots, state, batch_);
    sequences.push_back(task->sequence);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const EagleNetwork::Prediction prediction, ForwardPending(sequences));
  std::vector<int64_t> last_rows;
  int64_t end = 0;
  for (const DraftTask* task : tasks) {
    State& state = StateOf(*task);
    end += state.num_features - state.num_fed;
    last_rows.push_back(end - 1);
    KeepPredicted(prediction.features, end - 1, state);
    state.num_fed = state.num_features;
    state.num_drafted_fed = 0;
  }
  return FeedChains(tasks, GatherRows(prediction.scored, last_rows));
}

absl::StatusOr<Matrix> EagleDrafter::Next(std::span<DraftTask* const> tasks, const Matrix&) {
  return FeedChains(tasks, Matrix(std::ssize(tasks), network_.config().hidden));
}

/// Computes the tokens of the chains that are not computed yet, one of each chain per pass, because
/// a token needs the feature that its predecessor yields. Returns `scored`, [tasks.size(), hidden],
/// with the rows of these chains replaced by what the head is to score after their last tokens.
absl::StatusOr<Matrix> EagleDrafter::FeedChains(std::span<DraftTask* const> tasks, Matrix scored) {
  const int64_t hidden = scored.cols();
  while (true) {
    batch_.Clear();
    std::vector<size_t> fed;
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
      fed.push_back(m);
    }
    if (fed.empty()) return scored;
    Matrix features(std::ssize(fed), hidden);
    for (size_t i = 0; i < fed.size(); ++i) {
      std::ranges::copy(StateOf(*tasks[fed[i]]).predicted, features.floats() + i * hidden);
    }
    SHORTLIST_ASSIGN_OR_RETURN(const EagleNetwork::Prediction next, Forward(features));
    for (size_t i = 0; i < fed.size(); ++i) {
      KeepPredicted(next.features, static_cast<int64_t>(i), StateOf(*tasks[fed[i]]));
      std::copy_n(next.scored.floats() + i * hidden, hidden, scored.floats() + fed[i] * hidden);
    }
  }
}

}  // namespace shortlist
