#include "text/tokenizer/split_step.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/unicode.h"

namespace shortlist {
namespace {

/// A part of a text: a match, or the text before, between or after matches.
struct Stretch {
  size_t begin, end;
  bool is_match;
};

/// Finds all stretches of [0, size) in order. `invert`: swaps matches and the text between them.
void FindStretches(const std::vector<Match>& matches, size_t size, bool invert,
                   std::vector<Stretch>& stretches) {
  stretches.clear();
  size_t done = 0;
  for (const Match& match : matches) {
    if (match.begin > done) stretches.push_back({done, match.begin, invert});
    stretches.push_back({match.begin, match.end, !invert});
    done = match.end;
  }
  if (done < size) stretches.push_back({done, size, invert});
}

/// Joins a match to the stretch before it in the list, unless that is a match too or there is none.
void JoinMatches(std::vector<Stretch>& stretches) {
  size_t kept = 0;
  bool after_match = false;
  for (const Stretch& stretch : stretches) {
    if (stretch.is_match && !after_match && kept > 0) {
      Stretch& last = stretches[kept - 1];
      last.begin = std::min(last.begin, stretch.begin);
      last.end = std::max(last.end, stretch.end);
    } else {
      stretches[kept++] = stretch;
    }
    after_match = stretch.is_match;
  }
  stretches.resize(kept);
}

void JoinNeighboursOfOneKind(std::vector<Stretch>& stretches) {
  size_t kept = 0;
  for (const Stretch& stretch : stretches) {
    if (kept > 0 && stretches[kept - 1].is_match == stretch.is_match) {
      stretches[kept - 1].end = stretch.end;
    } else {
      stretches[kept++] = stretch;
    }
  }
  stretches.resize(kept);
}

/// Keeps only the stretches that become pieces.
void KeepPieces(SplitBehavior behavior, std::vector<Stretch>& stretches) {
  switch (behavior) {
    case SplitBehavior::kIsolated:
      return;
    case SplitBehavior::kRemoved:
      std::erase_if(stretches, [](const Stretch& stretch) { return stretch.is_match; });
      return;
    case SplitBehavior::kContiguous:
      return JoinNeighboursOfOneKind(stretches);
    case SplitBehavior::kMergedWithPrevious:
      return JoinMatches(stretches);
    case SplitBehavior::kMergedWithNext:
      std::reverse(stretches.begin(), stretches.end());
      JoinMatches(stretches);
      std::reverse(stretches.begin(), stretches.end());
      return;
  }
}

class SplitStep : public PreTokenizerStep {
 public:
  SplitStep(SplitBehavior behavior, bool invert) : behavior_(behavior), invert_(invert) {}

  absl::Status Apply(TextPieces& pieces) const override {
    pieces.next.clear();
    std::vector<Match> matches;
    std::vector<Stretch> stretches;
    for (const TextPiece& piece : pieces.pieces) {
      matches.clear();
      SHORTLIST_RETURN_IF_ERROR(ForEachMatch(piece.text, *pieces.budget, [&](Match match) {
        matches.push_back(match);
        // An empty match has a piece before it, so each match but the first implies a piece.
        return KeepsEachMatch() && matches.size() - 1 > pieces.max_next
                   ? pieces.budget->CheckIds(pieces.budget->max_ids() + 1)
                   : absl::OkStatus();
      }));
      FindStretches(matches, piece.text.size(), invert_, stretches);
      KeepPieces(behavior_, stretches);
      for (const Stretch& stretch : stretches) {
        if (stretch.begin == stretch.end) continue;
        SHORTLIST_RETURN_IF_ERROR(
            pieces.AddNext({piece.text.substr(stretch.begin, stretch.end - stretch.begin),
                            piece.at_origin && stretch.begin == 0}));
      }
    }
    std::swap(pieces.pieces, pieces.next);
    return absl::OkStatus();
  }

  bool drops_text() const override { return behavior_ == SplitBehavior::kRemoved; }

 private:
  virtual absl::Status ForEachMatch(std::string_view text, EncodeBudget& budget,
                                    absl::FunctionRef<absl::Status(Match)> visit) const = 0;
  bool KeepsEachMatch() const { return behavior_ == SplitBehavior::kIsolated; }

  const SplitBehavior behavior_;
  const bool invert_;
};

class PatternSplitStep final : public SplitStep {
 public:
  PatternSplitStep(Pattern pattern, SplitBehavior behavior, bool invert)
      : SplitStep(behavior, invert), pattern_(std::move(pattern)) {}

 private:
  absl::Status ForEachMatch(std::string_view text, EncodeBudget& budget,
                            absl::FunctionRef<absl::Status(Match)> visit) const override {
    return pattern_.ForEachMatch(text, &budget, visit);
  }
  const Pattern pattern_;
};

class CharacterSplitStep final : public SplitStep {
 public:
  CharacterSplitStep(uint8_t flags, SplitBehavior behavior)
      : SplitStep(behavior, /*invert=*/false), flags_(flags) {}

 private:
  absl::Status ForEachMatch(std::string_view text, EncodeBudget& /*budget*/,
                            absl::FunctionRef<absl::Status(Match)> visit) const override {
    const CharTable& table = CharTable::Get();
    for (size_t i = 0; i < text.size();) {
      const size_t begin = i;
      if ((table.flags(NextChar(text, i)) & flags_) == 0) continue;
      SHORTLIST_RETURN_IF_ERROR(visit({begin, i}));
    }
    return absl::OkStatus();
  }
  const uint8_t flags_;
};

class TilingStep final : public PreTokenizerStep {
 public:
  explicit TilingStep(SplitPattern pattern) : pattern_(pattern) {}

  absl::Status Apply(TextPieces& pieces) const override {
    pieces.next.clear();
    for (const TextPiece& piece : pieces.pieces) {
      for (size_t begin = 0; begin < piece.text.size();) {
        const size_t end = PieceEnd(pattern_, piece.text, begin);
        SHORTLIST_RETURN_IF_ERROR(
            pieces.AddNext({piece.text.substr(begin, end - begin), piece.at_origin && begin == 0}));
        begin = end;
      }
    }
    std::swap(pieces.pieces, pieces.next);
    return absl::OkStatus();
  }

 private:
  const SplitPattern pattern_;
};

}  // namespace

absl::StatusOr<SplitBehavior> ParseSplitBehavior(const nlohmann::json& spec) {
  static const std::map<std::string, SplitBehavior> kBehaviors = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  SHORTLIST_ASSIGN_OR_RETURN(const std::string name, ReadString(spec, "behavior"));
  const auto found = kBehaviors.find(name);
  if (found == kBehaviors.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("behavior \"", Excerpt(name), "\" is not supported"));
  }
  return found->second;
}

std::unique_ptr<PreTokenizerStep> MakeSplitStep(Pattern pattern, SplitBehavior behavior,
                                                bool invert) {
  // These patterns cover the text: there is nothing between their matches.
  const bool keeps_matches = behavior == SplitBehavior::kIsolated && !invert;
  const bool drops_gaps = behavior == SplitBehavior::kRemoved && invert;
  if (keeps_matches || drops_gaps) {
    if (const auto known = FindSplitPattern(pattern.expression)) return MakeTilingStep(*known);
  }
  return std::make_unique<PatternSplitStep>(std::move(pattern), behavior, invert);
}

std::unique_ptr<PreTokenizerStep> MakeTilingStep(SplitPattern pattern) {
  return std::make_unique<TilingStep>(pattern);
}

std::unique_ptr<PreTokenizerStep> MakeCharacterSplitStep(uint8_t flags, SplitBehavior behavior) {
  return std::make_unique<CharacterSplitStep>(flags, behavior);
}

}  // namespace shortlist
