#ifndef SHORTLIST_TEXT_TOKENIZER_LITERAL_RANGES_H_
#define SHORTLIST_TEXT_TOKENIZER_LITERAL_RANGES_H_

#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/byte_range.h"
#include "text/encode_budget.h"
#include "text/tokenizer/normalizer.h"

namespace shortlist {

/// What of `ranges` (sorted) lies in `part`, counted from its begin.
std::vector<ByteRange> RangesWithin(ByteRange part, std::span<const ByteRange> ranges);

/// Moves `ranges` of `text`, at least one, to where their bytes lie in `normalized`, which is what
/// `normalizer` made of `text`. They are found by marks that are normalised along. Where the text
/// on both sides of a range would have been normalised together, `normalized` becomes what comes
/// of normalising them apart; where the normaliser does not let marks through, all of it becomes
/// one range. Errors of the normaliser and of the budget.
absl::Status MoveRanges(const Normalizer& normalizer, std::string_view text, EncodeBudget& budget,
                        NormalizedText& normalized, std::vector<ByteRange>& ranges);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_LITERAL_RANGES_H_
