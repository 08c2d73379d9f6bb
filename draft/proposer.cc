#include "draft/proposer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "draft/speculation.h"
#include "vocab/vocab_sizer.h"

namespace shortlist {

/// True if the drafter, and not only constraints and copies, may draft for `sequence`.
bool Proposer::HasDrafterFor(const Sequence& sequence) const {
  return parts_.draft_side.CanDraft(sequence) &&
         sequence.num_tokens() < parts_.drafter->context_len();
}

int64_t Proposer::NumDraftTokens(const StepWork& work) const {
  const Sequence& sequence = *work.sequence;
  const bool has_drafter = HasDrafterFor(sequence);
  const bool can_draft =
      has_drafter || parts_.options.suffix_drafts || !sequence.constraints().empty();
  if (!sequence.speculates() || !can_draft) return 0;
  // The last token of a step is the target's own, so the draft needs one token fewer than still
  // wanted. Each draft token needs a slot after the last token and a position in both contexts.
  const int64_t wanted = sequence.sampling().max_new_tokens - sequence.num_output() - 1;
  const int64_t slots = std::ssize(work.kv_slots) - sequence.num_tokens();
  const int64_t context_len = has_drafter
                                  ? std::min(parts_.context_len, parts_.drafter->context_len())
                                  : parts_.context_len;
  const int64_t positions = context_len - sequence.num_tokens();
  return std::max<int64_t>(0,
                           std::min({parts_.options.num_draft_tokens, wanted, slots, positions}));
}

/// Prepares the draft task of one sequence, after updating the sequence's tail.
DraftTask Proposer::NewTask(const StepWork& work) const {
  const EngineOptions& options = parts_.options;
  Sequence& sequence = *work.sequence;
  const StepVocabs::Snapshot& snapshot = parts_.vocabs.Of(work);
  const ActiveVocab& active = *snapshot.active;
  parts_.discovery.BeforeStep(work, active);
  const int64_t max_tokens = snapshot.fit.ok() ? NumDraftTokens(work) : 0;
  if (parts_.drafter != nullptr && sequence.speculates() &&
      sequence.num_tokens() >= parts_.drafter->context_len()) {
    ++sequence.stats.num_steps_beyond_draft;
  }
  Speculation& speculation = SpeculationOf(sequence);
  // A base that adapts its size grows if it covers too little.
  const bool grows =
      options.sizer != nullptr && options.sizer->grows_base() && parts_.vocabs.IsOwn(snapshot);
  const bool falls_back =
      max_tokens > 0 && !active.is_full_head() && !grows && speculation.guard.has_collapsed();
  SequenceStats& stats = sequence.stats;
  stats.num_fallback_steps += falls_back ? 1 : 0;
  const bool over_full_head = active.is_full_head() || falls_back;
  const int64_t full_rows =
      std::min(options.emit_size, parts_.vocabs.full_head().base()->num_rows());
  stats.active_rows = over_full_head ? full_rows
                                     : active.size() + speculation.tail.size() +
                                           active.base()->max_successors() +
                                           parts_.draft_side.num_sketch_rows();
  const bool knows_coverage = !over_full_head && stats.num_step_tokens > 0;
  return {.sequence = &sequence,
          .kv_slots = work.kv_slots,
          .active = falls_back ? &parts_.vocabs.full_head() : &active,
          .policy = {speculation.chain_memory,
                     sequence.tokens(),
                     {.max_tokens = max_tokens,
                      .p_min = options.draft_p_min.value_or(0.0),
                      .thresholds = options.draft_p_min ? nullptr : &thresholds_,
                      .copies = options.suffix_drafts,
                      .past_outputs = parts_.past_outputs,
                      .cache_salt = &sequence.cache_salt(),
                      .coverage = knows_coverage ? stats.coverage() : 1.0,
                      .constraints = sequence.constraints()}},
          .chain = {}};
}

/// Returns the number of tokens that the draft lacks after a rest, or of a prompt; 0 after a
/// drafted step, which leaves one chain and the target's token to compute.
int64_t Proposer::NumMissing(const Sequence& sequence) const {
  const int64_t left = sequence.num_tokens() - parts_.drafter->CachedLen(sequence);
  return left > parts_.options.num_draft_tokens + 2 ? left : 0;
}

bool Proposer::CatchUpPays(const StepWork& work, int64_t num_requests) const {
  const Sequence& sequence = *work.sequence;
  const int64_t missing = NumMissing(sequence);
  const int64_t wanted = sequence.sampling().max_new_tokens - sequence.num_output();
  return missing == 0 || parts_.options.draft_p_min ||
         parts_.policy.PaysBack(num_requests, missing, wanted);
}

/// True if `work` should draft in this step, if the step drafts. Many missing tokens are computed
/// over several steps, so that no step has to wait for all of them.
bool Proposer::Prepare(const StepWork& work, int64_t num_requests, Proposal& proposal) {
  if (!parts_.draft_side.Start(work) || !CatchUpPays(work, num_requests)) return false;
  if (NumMissing(*work.sequence) <= Drafter::kMaxCatchUp) return true;
  const double begin_ms = parts_.now_ms();
  const int64_t computed = parts_.draft_side.CatchUp(std::span(&work, 1));
  const double ms = parts_.now_ms() - begin_ms;
  parts_.policy.AddDraftPrefill(computed, ms);
  proposal.catch_up_ms += ms;
  return false;
}

/// Makes the tasks, and returns the places of those for which the drafter is to draft.
std::vector<size_t> Proposer::ChooseDrafting(std::span<const StepWork> work, Proposal& proposal) {
  std::vector<size_t> drafting;
  for (size_t i = 0; i < work.size(); ++i) {
    proposal.tasks.push_back(NewTask(work[i]));
    if (proposal.tasks[i].policy.max_tokens() == 0 || !HasDrafterFor(*work[i].sequence)) continue;
    if (Prepare(work[i], std::ssize(work), proposal)) {
      drafting.push_back(i);
    } else {
      proposal.rests = true;
    }
  }
  if (drafting.empty()) return drafting;
  proposal.rests = !TakeStep(drafting.size(), proposal);
  return proposal.rests ? std::vector<size_t>() : drafting;
}

/// True if the step drafts. Sets thresholds_ if it does.
bool Proposer::TakeStep(size_t num_drafting, Proposal& proposal) {
  if (parts_.options.draft_p_min) return true;
  const int64_t num_requests = std::ssize(proposal.tasks);
  if (parts_.policy.TakeStep(num_requests, num_drafting)) {
    thresholds_ =
        parts_.policy.Thresholds(num_requests, num_drafting, parts_.options.num_draft_tokens);
    return true;
  }
  // A step that measures plain decoding must be plain.
  if (!parts_.policy.Rests(num_requests)) {
    for (DraftTask& task : proposal.tasks) task.policy.Rest();
  }
  return false;
}

void Proposer::Draft(std::span<const size_t> drafting, Proposal& proposal) {
  std::vector<DraftTask> tasks;
  for (const size_t i : drafting) tasks.push_back(proposal.tasks[i]);
  proposal.caught_up = std::ranges::any_of(
      tasks, [this](const DraftTask& task) { return NumMissing(*task.sequence) > 0; });
  const bool wants_distributions = parts_.options.verify == VerifyMode::kRejection;
  const absl::Status drafted = parts_.drafter->Draft(tasks, wants_distributions);
  if (!drafted.ok()) return parts_.draft_side.CountFailure(drafted);
  for (size_t n = 0; n < tasks.size(); ++n) {
    DraftTask& task = proposal.tasks[drafting[n]];
    task = std::move(tasks[n]);
    proposal.num_passes = std::max(proposal.num_passes, task.chain.num_passes);
    task.policy.Copy(wants_distributions, task.chain);
  }
}

/// Drafts forced text and copies for the tasks that the drafter did not draft for.
void Proposer::DraftWithoutDrafter(bool has_drafted, Proposal& proposal) {
  std::vector<DraftTask*> tasks;
  for (DraftTask& task : proposal.tasks) {
    const bool is_empty = task.chain.size() == 0 && task.chain.num_passes == 0;
    if (is_empty && task.policy.max_tokens() > 0) tasks.push_back(&task);
  }
  if (tasks.empty()) return;
  if (!has_drafted) {
    thresholds_ = parts_.policy.Thresholds(std::ssize(proposal.tasks), std::ssize(tasks),
                                           parts_.options.num_draft_tokens);
  }
  const bool wants_distributions = parts_.options.verify == VerifyMode::kRejection;
  for (DraftTask* task : tasks) {
    task->policy.Force(wants_distributions, task->chain);
    task->policy.Copy(wants_distributions, task->chain);
  }
}

Proposal Proposer::Propose(std::span<const StepWork> work) {
  const VocabSizer* const sizer = parts_.options.sizer;
  if (parts_.drafter != nullptr && sizer != nullptr && sizer->num_sketch_rows() > 0) {
    parts_.drafter->set_num_sketch_rows(sizer->num_sketch_rows());
  }
  Proposal proposal;
  const std::vector<size_t> drafting = ChooseDrafting(work, proposal);
  if (!drafting.empty()) Draft(drafting, proposal);
  DraftWithoutDrafter(!drafting.empty(), proposal);
  return proposal;
}

}  // namespace shortlist
