#include "draft/chain_drafter.h"

#include <bit>
#include <utility>

#include "base/status_macros.h"
#include "kernels/sampling.h"

namespace shortlist {

absl::Status ChainDrafter::Draft(std::span<DraftTask> tasks, const ActiveVocab& active,
                                 bool wants_distributions) {
  std::vector<DraftTask*> live;
  for (DraftTask& task : tasks) {
    task.probability = 1.0;
    task.tokens.clear();
    task.distributions.clear();
    live.push_back(&task);
  }
  SHORTLIST_ASSIGN_OR_RETURN(at::Tensor hidden, Begin(live));
  while (true) {
    const size_t length = live.front()->tokens.size();
    SHORTLIST_RETURN_IF_ERROR(ProposeOne(live, hidden, active, wants_distributions));
    std::vector<int64_t> rows;
    std::vector<DraftTask*> going_on;
    for (size_t m = 0; m < live.size(); ++m) {
      const bool grew = live[m]->tokens.size() == length + 1;
      if (!grew || !live[m]->WantsMore()) continue;
      rows.push_back(static_cast<int64_t>(m));
      going_on.push_back(live[m]);
    }
    if (going_on.empty()) return absl::OkStatus();
    if (going_on.size() < live.size()) hidden = GatherRows(hidden, rows);
    live = std::move(going_on);
    SHORTLIST_ASSIGN_OR_RETURN(hidden, Next(live, hidden));
  }
}

absl::Status ChainDrafter::ProposeOne(std::span<DraftTask* const> tasks, const at::Tensor& hidden,
                                      const ActiveVocab& active, bool wants_distributions) {
  std::vector<const RequestTail*> tails;
  bool best_suffices = !wants_distributions;
  bool weighs = false;
  for (const DraftTask* task : tasks) {
    const Sequence& sequence = *task->sequence;
    tails.push_back(&sequence.tail);
    weighs |= task->p_min > 0.0;
    const int64_t num_output = sequence.num_output() + static_cast<int64_t>(task->tokens.size());
    best_suffices &= sequence.sampling().greedy() && sequence.sampling().UsesRawLogits(num_output);
  }
  const float* rows = hidden.data_ptr<float>();
  const LmHead::Selection selection{active, tails};
  if (best_suffices) {
    SHORTLIST_ASSIGN_OR_RETURN(
        const std::vector<LmHead::Best> best,
        weighs ? head_.ArgmaxWithProbability(hidden, selection) : head_.Argmax(hidden, selection));
    for (size_t m = 0; m < tasks.size(); ++m) {
      if (Raw(best[m].id) < 0) continue;  // nothing to propose: the chain ends here
      if (weighs) tasks[m]->Weigh(best[m].probability);
      Append(*tasks[m], best[m].id, best[m].logit, rows + m * head_.hidden());
    }
    return absl::OkStatus();
  }
  SHORTLIST_ASSIGN_OR_RETURN(logits_, head_.Logits(hidden, selection, std::move(logits_)));
  for (size_t m = 0; m < tasks.size(); ++m) {
    DraftTask& task = *tasks[m];
    chooser_.Prepare(logits_.row(m), logits_.ids[m], *task.sequence, task.tokens);
    const std::optional<DraftId> slot = chooser_.Choose();
    if (!slot) continue;
    if (weighs) task.Weigh(LargestProbabilityCpu(logits_.row(m).data(), logits_.ids[m].size()));
    if (wants_distributions) task.distributions.push_back(chooser_.Distribution());
    Append(task, chooser_.TokenAt(*slot), logits_.row(m)[Raw(*slot)], rows + m * head_.hidden());
  }
  return absl::OkStatus();
}

void ChainDrafter::Append(DraftTask& task, TokenId token, float logit, const float* hidden) {
  // A token mapped from the wrong slot never shows in the output, only in the acceptance. Its logit
  // betrays it: recomputed from the token's own row it must have the same bits, and that costs one
  // row of the head.
  const float expected = head_.RowLogit(hidden, token);
  if (std::bit_cast<uint32_t>(expected) != std::bit_cast<uint32_t>(logit)) {
    ++task.sequence->stats.num_mapping_faults;
  }
  task.tokens.push_back(token);
}

}  // namespace shortlist
