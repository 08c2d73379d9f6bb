#include "draft/chain_drafter.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "draft/constraint_path.h"
#include "draft/speculation.h"
#include "kernels/sampling.h"

namespace shortlist {
namespace {

TokenId LastToken(const DraftTask& task) {
  return task.chain.tokens.empty() ? task.sequence->tokens().back() : task.chain.tokens.back();
}

}  // namespace

ChainDrafter::ChainDrafter(PrunedHead head)
    : head_(std::move(head)),
      no_rows_(std::make_shared<ActiveVocab>(
          /*version=*/0,
          *VocabBase::Create({}, head_.vocab_size(), /*successors=*/{}, /*max_successors=*/0,
                             head_.head_rows()),
          std::vector<int32_t>())) {}

void ChainDrafter::UseSketch(std::shared_ptr<const Sketch> sketch, int64_t num_rows,
                             ThreadPool& pool, std::shared_ptr<const HeadOnDevice> device) {
  SHORTLIST_CHECK(head_.head_rows() == nullptr);
  sketch_.emplace(std::move(sketch), num_rows, pool, std::move(device));
}

void ChainDrafter::LearnSketch(SketchFitter& fitter, int64_t num_rows, ThreadPool& pool,
                               std::shared_ptr<const HeadOnDevice> device) {
  fitter_ = &fitter;
  use_fitted_ = [this, num_rows, &pool, device](std::shared_ptr<const Sketch> sketch) {
    UseSketch(std::move(sketch), num_rows, pool, device);
  };
}

absl::StatusOr<PrunedHead> ChainDrafter::CreateHead(const HeadWeight& weight, int64_t emit_size,
                                                    ThreadPool& pool, const HeadOnDevice* device,
                                                    std::shared_ptr<const HeadRows> head_rows) {
  if (device == nullptr) {
    const int64_t num_rows = head_rows != nullptr ? head_rows->NumBelow(emit_size) : emit_size;
    return PrunedHead::Create(weight, num_rows, pool, std::move(head_rows));
  }
  if (head_rows != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("a head with rows for ", head_rows->size(),
                                                   " of ", head_rows->vocab_size(),
                                                   " tokens is scored on the CPU alone"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<HeadScorer> scorer, device->NewScorer(emit_size));
  return PrunedHead::Create(std::move(scorer), emit_size);
}

absl::Status ChainDrafter::TellStates(const Matrix& hidden) {
  if (fitter_ != nullptr) fitter_->Add(hidden);
  return moments_ == nullptr ? absl::OkStatus() : moments_->Add(hidden);
}

bool ChainDrafter::HasRows(const DraftTask& task) const {
  if (task.few) return !task.few->empty();
  return task.active->is_full_head() || sketch_ || task.active->size() > 0 ||
         SpeculationOf(*task.sequence).tail.size() > 0 ||
         !task.active->base()->SuccessorsOf(LastToken(task)).empty();
}

/// Returns the vocabulary that the task scores at the end of its chain, and sets `few`. Null if
/// there is nothing to score.
const ActiveVocab* ChainDrafter::VocabFor(DraftTask& task) const {
  task.few.reset();
  const std::span<const Sequence::Constraint> constraints = task.sequence->constraints();
  if (!constraints.empty()) {
    if (const auto tokens = ConstraintPath(constraints, task.chain.tokens).SmallAllowedSet()) {
      task.few.emplace();
      for (const TokenId id : *tokens) {
        if (head_.Scores(id)) task.few->push_back(Raw(id));
      }
    }
  }
  if (!HasRows(task)) return nullptr;
  return task.few ? no_rows_.get() : task.active;
}

absl::Status ChainDrafter::Draft(std::span<DraftTask> tasks, bool wants_distributions) {
  if (fitter_ != nullptr) {
    if (std::shared_ptr<const Sketch> sketch = fitter_->TakeNext()) use_fitted_(std::move(sketch));
  }
  std::vector<DraftTask*> live;
  for (DraftTask& task : tasks) {
    task.chain = {};
    task.policy.Force(wants_distributions, task.chain);
    const int64_t num_forced = task.chain.size();
    if (num_forced == 0 || task.policy.WantsMore(task.chain, NumPasses(num_forced + 1))) {
      live.push_back(&task);
    }
  }
  if (live.empty()) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(Matrix hidden, Begin(live));
  while (true) {
    std::vector<int64_t> lengths;
    for (const DraftTask* task : live) lengths.push_back(task->chain.size());
    SHORTLIST_RETURN_IF_ERROR(ProposeOne(live, hidden, wants_distributions));
    std::vector<int64_t> rows;
    std::vector<DraftTask*> going_on;
    for (size_t m = 0; m < live.size(); ++m) {
      DraftedChain& chain = live[m]->chain;
      ++chain.num_passes;
      if (chain.size() == lengths[m]) continue;
      live[m]->policy.Force(wants_distributions, chain);
      if (!live[m]->policy.WantsMore(chain, NumPasses(chain.size() - lengths[m]))) continue;
      rows.push_back(static_cast<int64_t>(m));
      going_on.push_back(live[m]);
    }
    if (going_on.empty()) return absl::OkStatus();
    if (going_on.size() < live.size()) hidden = GatherRows(hidden, rows);
    live = std::move(going_on);
    SHORTLIST_ASSIGN_OR_RETURN(hidden, Next(live, hidden));
  }
}

/// Scores tasks over the same vocabulary together. A task whose vocabulary has no rows yet, or
/// whose constraints allow nothing, proposes nothing.
absl::Status ChainDrafter::ProposeOne(std::span<DraftTask* const> tasks, const Matrix& hidden,
                                      bool wants_distributions) {
  std::vector<const ActiveVocab*> vocabs;
  for (DraftTask* const task : tasks) vocabs.push_back(VocabFor(*task));
  for (size_t first = 0; first < tasks.size(); ++first) {
    const ActiveVocab* const active = vocabs[first];
    if (active == nullptr) continue;  // nothing to score, or done
    std::vector<DraftTask*> group;
    std::vector<int64_t> rows;
    for (size_t m = first; m < tasks.size(); ++m) {
      if (vocabs[m] != active) continue;
      vocabs[m] = nullptr;
      group.push_back(tasks[m]);
      rows.push_back(static_cast<int64_t>(m));
    }
    if (group.size() == tasks.size()) {
      return ProposeOver(*active, tasks, hidden, wants_distributions);
    }
    SHORTLIST_RETURN_IF_ERROR(
        ProposeOver(*active, group, GatherRows(hidden, rows), wants_distributions));
  }
  return absl::OkStatus();
}

/// If the draft samples with the target's noise, the sketch ranks rows with that noise too, so that
/// the sampled token is likely among the chosen rows. Rejection sampling is exact only if the rows
/// do not depend on the sample.
absl::Status ChainDrafter::ChooseBySketch(std::span<DraftTask* const> tasks, const Matrix& states,
                                          bool wants_distributions) {
  races_.clear();
  for (const DraftTask* task : tasks) {
    const SamplingParams& sampling = task->sequence->sampling();
    SketchRace& race = races_.emplace_back();
    if (wants_distributions || sampling.greedy()) continue;
    race = {.inverse_temperature = InverseTemperature(sampling.temperature),
            .seed = sampling.seed,
            .position = task->sequence->num_tokens() + task->chain.size()};
  }
  SHORTLIST_RETURN_IF_ERROR(sketch_->Choose(states.floats(), std::ssize(tasks), races_));
  for (size_t m = 0; m < tasks.size(); ++m) {
    const std::span<const int32_t> rows = sketch_->of_token(static_cast<int64_t>(m));
    tasks[m]->chain.sketch_rows.emplace_back(rows.begin(), rows.end());
    const SketchChooser::Ranked ranked = sketch_->ranked_of_token(static_cast<int64_t>(m));
    tasks[m]->chain.ranked_rows.push_back(
        {{ranked.ids.begin(), ranked.ids.end()}, {ranked.keys.begin(), ranked.keys.end()}});
  }
  return absl::OkStatus();
}

/// Sets tails_, or few_ if `active` is no_rows_, to the rows of each token besides those of
/// `active`.
absl::Status ChainDrafter::SelectRows(const ActiveVocab& active, std::span<DraftTask* const> tasks,
                                      const Matrix& states, bool wants_distributions) {
  if (&active == no_rows_.get()) {
    few_.clear();
    for (DraftTask* const task : tasks) {
      DraftedChain& chain = task->chain;
      chain.narrowed.push_back(static_cast<int32_t>(chain.size()));
      few_.push_back(*task->few);
      if (!sketch_ || task->active->is_full_head()) continue;
      chain.sketch_rows.emplace_back();
      chain.ranked_rows.emplace_back();
    }
    return absl::OkStatus();
  }
  const bool has_sketch = sketch_ && !active.is_full_head();
  if (has_sketch) {
    SHORTLIST_RETURN_IF_ERROR(ChooseBySketch(tasks, states, wants_distributions));
  }
  tails_.Clear(active);
  for (const DraftTask* task : tasks) {
    tails_.Add(SpeculationOf(*task->sequence).tail.ids(), LastToken(*task),
               has_sketch ? task->chain.sketch_rows.back() : std::span<const int32_t>());
  }
  return absl::OkStatus();
}

absl::Status ChainDrafter::ProposeOver(const ActiveVocab& active, std::span<DraftTask* const> tasks,
                                       const Matrix& states, bool wants_distributions) {
  SHORTLIST_RETURN_IF_ERROR(SelectRows(active, tasks, states, wants_distributions));
  bool best_suffices = !wants_distributions;
  bool weighs = false;
  for (const DraftTask* task : tasks) {
    const Sequence& sequence = *task->sequence;
    weighs |= task->policy.weighs();
    const int64_t num_output = sequence.num_output() + task->chain.size();
    best_suffices &= sequence.sampling().greedy() && sequence.sampling().UsesRawLogits(num_output);
  }
  const HeadInput hidden = HeadInput::Of(states);
  const HeadSelection selection{active, &active == no_rows_.get() ? few_ : tails_.of_tokens()};
  std::vector<Choice> choices(tasks.size());
  if (!best_suffices) {
    SHORTLIST_ASSIGN_OR_RETURN(logits_, head_.Logits(hidden, selection, std::move(logits_)));
    ChooseFromLogits(tasks, wants_distributions, choices);
    return Append(tasks, choices, hidden);
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::vector<PrunedHead::Best> best,
      weighs ? head_.TopK(hidden, selection, /*k=*/1) : head_.Argmax(hidden, selection));
  for (size_t m = 0; m < tasks.size(); ++m) {
    choices[m] = {best[m].id, best[m].logit};
    if (Raw(best[m].id) >= 0 && weighs) {
      choices[m].stands = tasks[m]->policy.Weigh(best[m].id, best[m].probability, tasks[m]->chain);
    }
  }
  return Append(tasks, choices, hidden);
}

/// Chooses and weighs a token for each task from logits_.
void ChainDrafter::ChooseFromLogits(std::span<DraftTask* const> tasks, bool wants_distributions,
                                    std::span<Choice> choices) {
  for (size_t m = 0; m < tasks.size(); ++m) {
    DraftTask& task = *tasks[m];
    const bool weighs = task.policy.weighs();
    chooser_.Prepare(logits_.of_token(m), logits_.ids[m], *task.sequence, task.chain.tokens);
    std::optional<DraftId> row;
    bool stands = true;
    if (weighs && !wants_distributions) {
      const std::optional<TokenChooser::SureChoice> choice = chooser_.ChooseSurely();
      if (!choice) continue;
      row = choice->row;
      stands = task.policy.Weigh(chooser_.TokenAt(*row), choice->probability, task.chain);
    } else {
      row = chooser_.Choose();
      if (!row) continue;
      if (weighs) {
        task.policy.WeighDraw(
            LargestProbabilityCpu(logits_.of_token(m).data(), logits_.ids[m].size()), task.chain);
      }
    }
    if (wants_distributions) task.chain.distributions.push_back(chooser_.Distribution());
    choices[m] = {chooser_.TokenAt(*row), logits_.of_token(m)[Raw(*row)], stands};
  }
}

absl::Status ChainDrafter::Append(std::span<DraftTask* const> tasks,
                                  std::span<const Choice> choices, HeadInput hidden) {
  // A token mapped from the wrong row never shows in the output, only in the acceptance. Check the
  // map: the logit recomputed from the token's own row must have the same bits. This costs one row
  // of the head.
  const TokenId any{head_.head_rows() != nullptr ? head_.head_rows()->ids()[0] : 0};
  std::vector<TokenId> ids;  // any one with a row where there is no choice
  for (const Choice& choice : choices) {
    ids.push_back(Raw(choice.token) >= 0 ? choice.token : any);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<float> expected, head_.RowLogits(hidden, ids));
  for (size_t m = 0; m < tasks.size(); ++m) {
    if (Raw(choices[m].token) < 0) continue;
    if (std::bit_cast<uint32_t>(expected[m]) != std::bit_cast<uint32_t>(choices[m].logit)) {
      ++tasks[m]->sequence->stats.num_mapping_faults;
    }
    if (choices[m].stands) tasks[m]->chain.tokens.push_back(choices[m].token);
  }
  return absl::OkStatus();
}

}  // namespace shortlist
