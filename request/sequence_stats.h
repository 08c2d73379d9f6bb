#ifndef SHORTLIST_REQUEST_SEQUENCE_STATS_H_
#define SHORTLIST_REQUEST_SEQUENCE_STATS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "vocab/row_source.h"

namespace shortlist {

/// What proposed a drafted token: the drafter, a constraint that names it, or a copy of earlier
/// text.
enum class ProposalSource { kDrafter, kForced, kCopied };

inline constexpr size_t kNumProposalSources = static_cast<size_t>(ProposalSource::kCopied) + 1;

/// Returns "drafter", "forced" or "copied".
constexpr const char* ProposalSourceName(ProposalSource source) {
  return source == ProposalSource::kDrafter  ? "drafter"
         : source == ProposalSource::kForced ? "forced"
                                             : "copied";
}

/// Drafted tokens at one place of the chains, by ProposalSource.
struct PlaceCounts {
  std::array<int64_t, kNumProposalSources> num_drafted{};
  std::array<int64_t, kNumProposalSources> num_accepted{};  // of num_drafted, those emitted
};

/// Counters of speculation for one request.
struct SequenceStats {
  int64_t num_verify_steps = 0;  // target passes after prefill
  int64_t num_step_tokens = 0;   // tokens emitted by them (correction and bonus included)
  int64_t num_drafted = 0;
  int64_t num_copied = 0;    // of num_drafted, copied from earlier text
  int64_t num_forced = 0;    // of num_drafted, named by a constraint: no draft pass
  int64_t num_accepted = 0;  // drafted tokens that were emitted
  // By place in the chain, from 0; as long as the longest chain. A token after a rejected one
  // counts as drafted. The sums are num_drafted and num_accepted.
  std::vector<PlaceCounts> by_place;
  // Of num_step_tokens, those that the draft could have proposed: in the active vocabulary of their
  // step, the request's tail, the successors of the previous token, or the rows chosen by the
  // sketch. All of them if the draft scores the full head. Those whose rows a constraint named
  // (num_constrained) are neither covered nor escapes. The others are escapes.
  int64_t num_covered = 0;
  // Of num_step_tokens, those at positions that no draft pass reached, where a sketch would have
  // chosen rows: neither covered nor escapes.
  int64_t num_unscored = 0;
  // Of num_step_tokens without num_unscored, by why the draft could have proposed them; kNone:
  // escapes.
  CountsBySource num_held{};
  CountsBySource num_rows_added{};  // to the request's tail, by source
  // Corrections that the draft could have proposed: an error of the draft, not of the vocabulary.
  int64_t num_covered_corrections = 0;
  // Of num_verify_steps, those drafted with the full head because coverage had collapsed.
  int64_t num_fallback_steps = 0;
  // Of num_verify_steps, those without a draft because the sequence fills the draft's context.
  int64_t num_steps_beyond_draft = 0;
  // Drafted tokens whose logit is not that of their row: the map is broken.
  int64_t num_mapping_faults = 0;
  // Maximum number of rows that the draft head scored for this request in a pass of its last step.
  int64_t active_rows = 0;

  /// Adds the counts of another request; active_rows becomes the maximum of the two.
  void Add(const SequenceStats& other) {
    num_verify_steps += other.num_verify_steps;
    num_step_tokens += other.num_step_tokens;
    num_drafted += other.num_drafted;
    num_copied += other.num_copied;
    num_forced += other.num_forced;
    num_accepted += other.num_accepted;
    by_place.resize(std::max(by_place.size(), other.by_place.size()));
    for (size_t place = 0; place < other.by_place.size(); ++place) {
      for (size_t source = 0; source < kNumProposalSources; ++source) {
        by_place[place].num_drafted[source] += other.by_place[place].num_drafted[source];
        by_place[place].num_accepted[source] += other.by_place[place].num_accepted[source];
      }
    }
    num_covered += other.num_covered;
    num_unscored += other.num_unscored;
    for (size_t source = 0; source < kNumRowSources; ++source) {
      num_held[source] += other.num_held[source];
      num_rows_added[source] += other.num_rows_added[source];
    }
    num_covered_corrections += other.num_covered_corrections;
    num_fallback_steps += other.num_fallback_steps;
    num_steps_beyond_draft += other.num_steps_beyond_draft;
    num_mapping_faults += other.num_mapping_faults;
    active_rows = std::max(active_rows, other.active_rows);
  }

  /// Drafted tokens per verify step.
  double draft_length() const { return Ratio(num_drafted, num_verify_steps); }
  double copied_length() const { return Ratio(num_copied, num_verify_steps); }
  double forced_length() const { return Ratio(num_forced, num_verify_steps); }
  double accept_length() const { return Ratio(num_step_tokens, num_verify_steps); }
  double acceptance_rate() const { return Ratio(num_accepted, num_drafted); }
  double coverage() const {
    return Ratio(num_covered, num_step_tokens - num_unscored - num_constrained());
  }
  /// Acceptance rate at positions whose target token was covered: the loss that is not coverage's.
  double covered_acceptance_rate() const {
    return Ratio(num_accepted, num_accepted + num_covered_corrections);
  }
  int64_t num_escapes() const {
    return num_step_tokens - num_unscored - num_constrained() - num_covered;
  }
  /// Of num_step_tokens, those at places where a constraint named the rows that count.
  int64_t num_constrained() const { return num_held[Index(RowSource::kGrammar)]; }

 private:
  static double Ratio(int64_t a, int64_t b) { return b == 0 ? 0.0 : static_cast<double>(a) / b; }
};

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_SEQUENCE_STATS_H_
