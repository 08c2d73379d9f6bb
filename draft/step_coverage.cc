#include "draft/step_coverage.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "draft/speculation.h"
#include "vocab/held_by.h"

namespace shortlist {
namespace {

/// Returns the source that covers `id` at place `j` of the step, after the token `last`.
RowSource SourceOf(const JudgedStep& step, size_t j, TokenId last, TokenId id) {
  const DraftTask& task = *step.task;
  const RequestTail& tail = SpeculationOf(*task.sequence).tail;
  const RowSource known = HeldBy(*step.active, tail, last, id);
  const std::optional<int64_t> pass = task.chain.PassOf(j);
  const bool is_sketched = known == RowSource::kNone && pass &&
                           *pass < std::ssize(task.chain.sketch_rows) &&
                           std::ranges::binary_search(task.chain.sketch_rows[*pass], Raw(id));
  return is_sketched ? RowSource::kSketch : known;
}

/// Excludes the request's own rows and tokens proposed by the full head: the manager does not know
/// them.
std::vector<TokenId> SharedDrafted(const JudgedStep& step) {
  std::vector<TokenId> shared;
  if (step.fell_back()) return shared;
  const DraftTask& task = *step.task;
  TokenId last = step.before();
  for (size_t j = 0; j < static_cast<size_t>(task.chain.first_copy()); ++j) {
    const TokenId id = task.chain.tokens[j];
    const bool is_of_vocab = !task.chain.IsForced(j) && !task.chain.IsNarrowed(j);
    if (is_of_vocab && SourceOf(step, j, last, id) <= RowSource::kShared) shared.push_back(id);
    last = id;
  }
  return shared;
}

}  // namespace

StepCoverage CountCoverage(const JudgedStep& step, double coverage_floor) {
  const DraftTask& task = *step.task;
  Sequence& sequence = *task.sequence;
  SequenceStats& stats = sequence.stats;
  CoverageGuard& guard = SpeculationOf(sequence).guard;
  const bool sketch_chooses = step.has_sketch && !task.active->is_full_head();
  const std::span<const TokenId> emitted = std::span(sequence.tokens()).last(step.num_emitted);
  const std::span<TokenInfo> infos = std::span(sequence.token_infos).last(step.num_emitted);
  StepCoverage coverage;
  std::optional<ConstraintPath> path = step.path;
  RowSource corrected_from = RowSource::kNone;  // of the last token; kNone if nothing scored it
  TokenId last = step.before();
  for (size_t j = 0; j < emitted.size(); ++j) {
    const TokenId id = emitted[j];
    const bool is_constrained = task.chain.IsForced(j) || (path && path->HasSmallAllowedSet());
    RowSource source = is_constrained ? RowSource::kGrammar : SourceOf(step, j, last, id);
    last = id;
    if (path) path->Advance(id);
    coverage.sources.push_back(source);
    if (source == RowSource::kGrammar) {
      ++stats.num_held[Index(source)];
      corrected_from = source;
      coverage.unscored.push_back(id);
      continue;
    }
    if (sketch_chooses && *task.chain.PassOf(j) >= std::ssize(task.chain.sketch_rows)) {
      ++stats.num_unscored;
      corrected_from = RowSource::kNone;
      coverage.unscored.push_back(id);
      continue;
    }
    if (step.fell_back() && source == RowSource::kNone && step.has_sketch) {
      guard.Rest(coverage_floor);
    } else {
      guard.Count(source != RowSource::kNone, coverage_floor);
    }
    if (step.fell_back() && task.active->Contains(id)) source = RowSource::kFallback;
    corrected_from = source;
    ++stats.num_held[Index(source)];
    stats.num_covered += source != RowSource::kNone ? 1 : 0;
    infos[j].escape = source == RowSource::kNone;
    coverage.scored.push_back(id);
    coverage.held.push_back(source);
  }
  // The correction is at the place of the first wrong draft token.
  const bool is_corrected = step.num_accepted < std::min(step.num_emitted, task.chain.size());
  if (is_corrected && corrected_from != RowSource::kNone) ++stats.num_covered_corrections;
  coverage.shared_drafted = SharedDrafted(step);
  return coverage;
}

void TellSizerOfTokens(const JudgedStep& step, const StepCoverage& coverage, VocabSizer& sizer) {
  const DraftTask& task = *step.task;
  const Sequence& sequence = *task.sequence;
  const std::span<const TokenId> emitted = std::span(sequence.tokens()).last(step.num_emitted);
  TokenId last = step.before();
  for (size_t j = 0; j < emitted.size(); ++j) {
    std::optional<int64_t> sketch_rank;  // nullopt if no draft pass reached this place
    if (!step.has_sketch) {
      sketch_rank = RankedRows::kUnranked;
    } else if (const std::optional<int64_t> pass = task.chain.PassOf(j);
               pass && *pass < std::ssize(task.chain.ranked_rows)) {
      sketch_rank = task.chain.ranked_rows[*pass].RankOf(emitted[j]);
    }
    const bool is_held =
        IsHeldAnyway(sequence, coverage.sources[j], emitted[j], sizer.sizes_base());
    sizer.CountToken(last, emitted[j], is_held, sketch_rank);
    last = emitted[j];
  }
}

bool IsHeldAnyway(const Sequence& sequence, RowSource source, TokenId id, bool sizes_base) {
  const bool is_of_base = source == RowSource::kBase || source == RowSource::kSuccessors;
  if (is_of_base && !sizes_base) return true;
  if (source == RowSource::kShared || source == RowSource::kGrammar ||
      (source >= RowSource::kGiven && source < RowSource::kSketch)) {
    return true;
  }
  if (sequence.max_tail_rows() == 0) return false;
  const auto found = sequence.history().counts().find(Raw(id));
  // The count includes the token just emitted.
  return found != sequence.history().counts().end() &&
         (found->second.in_prompt || found->second.in_output > 1);
}

}  // namespace shortlist
