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

/// How the matches at which a text is split are used.
enum class SplitBehavior {
  kRemoved,             // matches are dropped
  kIsolated,            // each match is a piece of its own
  kMergedWithPrevious,  // each match ends the piece before it
  kMergedWithNext,      // each match begins the piece after it
  kContiguous,          // adjacent matches are one piece
};

/// Parses the member "behavior" of `spec`.
absl::StatusOr<SplitBehavior> ParseSplitBehavior(const nlohmann::json& spec);

/// Returns a step that splits at the matches of `pattern`, or with `invert` at the text between
/// matches. Well-known expressions run by hand-written code (text/tokenizer/split_pattern.h).
std::unique_ptr<PreTokenizerStep> MakeSplitStep(Pattern pattern, SplitBehavior behavior,
                                                bool invert);

/// Returns a step that splits into the pieces of a well-known expression.
std::unique_ptr<PreTokenizerStep> MakeTilingStep(SplitPattern pattern);

/// Returns a step that splits at the characters that have one of `flags` (CharFlag).
std::unique_ptr<PreTokenizerStep> MakeCharacterSplitStep(uint8_t flags, SplitBehavior behavior);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_SPLIT_STEP_H_
