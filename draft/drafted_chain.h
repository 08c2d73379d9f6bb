#ifndef SHORTLIST_DRAFT_DRAFTED_CHAIN_H_
#define SHORTLIST_DRAFT_DRAFTED_CHAIN_H_

#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "request/sequence_stats.h"

namespace shortlist {

/// Kind of evidence for a drafted token. Each kind has its own forecast.
enum class DraftSource {
  kDraft,         // the draft alone
  kDraftAndText,  // the draft and a match of earlier text (SuffixMatch) agree
  kText,          // the match alone
  kForced,        // a constraint of the request, which names the text that must follow
};

inline constexpr int kNumDraftSources = static_cast<int>(DraftSource::kForced) + 1;

/// Evidence for a drafted token, and its probability before any forecast.
struct DraftEvidence {
  DraftSource source;
  double probability;
};

/// A draft distribution over its support only, never scattered to the full vocabulary.
struct DraftDistribution {
  std::vector<int32_t> ids;  // distinct token ids
  std::vector<float> probs;  // [ids.size()], sum to 1

  /// Probability of `id`, 0 outside the support.
  float Probability(TokenId id) const;
};

/// Rows of the head that a sketch ranked for one token.
struct RankedRows {
  std::vector<int32_t> ids;    // ascending
  std::vector<uint32_t> keys;  // [ids.size()] larger is better, ties to the lower id

  static constexpr int64_t kUnranked = INT64_MAX;
  /// Number of rows that are better than `id`; kUnranked if `id` is not among the rows.
  int64_t RankOf(TokenId id) const;
};

/// What is proposed for one request in a step: tokens that may follow its last one, and how they
/// were found. A drafter, if there is one, proposes the first tokens, and constraints force some
/// between them; copies of earlier text may follow. Plain data: ChainPolicy ends it, the verifier
/// judges it, coverage and forecasts learn from it.
struct DraftedChain {
  std::vector<TokenId> tokens;
  std::vector<int32_t> forced;  // ascending places in `tokens` of forced ones, which cost no pass
  // Ascending places whose pass scored only what the constraints allow there, because that is few.
  std::vector<int32_t> narrowed;
  int64_t num_copied = 0;    // how many of the last `tokens` are copies
  int64_t num_passes = 0;    // passes of the drafter
  double probability = 1.0;  // estimated probability that the target accepts the whole chain
  // [size()] if ChainPolicy::weighs(), else [num_copied].
  std::vector<DraftEvidence> evidence;
  // [tokens.size()], only for rejection sampling.
  std::vector<DraftDistribution> distributions;
  // [num_passes] rows chosen by the sketch, ascending, none for a narrowed place; empty without a
  // sketch.
  std::vector<std::vector<int32_t>> sketch_rows;
  // [num_passes] all ranked rows, from which the sketch chose.
  std::vector<RankedRows> ranked_rows;

  int64_t size() const { return std::ssize(tokens); }
  /// Place of the first copy; size() if there is none.
  int64_t first_copy() const { return size() - num_copied; }
  bool IsForced(int64_t place) const;
  bool IsNarrowed(int64_t place) const;
  ProposalSource SourceOf(int64_t place) const;
  /// Number of forced tokens at places below `end`.
  int64_t NumForced(int64_t end) const;
  int64_t num_forced() const { return std::ssize(forced); }
  /// Number of the pass that scored rows for `place`, if the drafter reached it: one below
  /// num_passes. nullopt for a forced token.
  std::optional<int64_t> PassOf(int64_t place) const;
  /// Appends a token that is certain: a copied or a forced one.
  void AddCertain(TokenId token, bool wants_distributions);
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_DRAFTED_CHAIN_H_
