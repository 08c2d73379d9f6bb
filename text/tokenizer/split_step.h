#ifndef SHORTLIST_TEXT_TOKENIZER_SPLIT_STEP_H_
#define SHORTLIST_TEXT_TOKENIZER_SPLIT_STEP_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/tokenizer/pattern.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/split_pattern.h"

namespace shortlist {

/// What becomes of the matches that a text is split at.
enum class SplitBehavior {
  kRemoved,             // they go
  kIsolated,            // each is a piece of its own
  kMergedWithPrevious,  // each ends the piece before it
  kMergedWithNext,      // each begins the piece behind it
  kContiguous,          // neighbouring matches are one piece
};

/// The member "behavior" of `spec`.
absl::StatusOr<SplitBehavior> ParseSplitBehavior(const nlohmann::json& spec);

/// Splits at the matches of `pattern`; with `invert`, at what lies between them. Takes the
/// well-known expressions by hand (text/tokenizer/split_pattern.h).
std::unique_ptr<PreTokenizerStep> MakeSplitStep(Pattern pattern, SplitBehavior behavior,
                                                bool invert);

/// Cuts into the pieces of a well-known expression.
std::unique_ptr<PreTokenizerStep> MakeTilingStep(SplitPattern pattern);

/// Splits at the characters that have one of `flags` (CharFlag).
std::unique_ptr<PreTokenizerStep> MakeCharacterSplitStep(uint8_t flags, SplitBehavior behavior);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_SPLIT_STEP_H_
