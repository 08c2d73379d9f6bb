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

/// Returns the intersections of `ranges` (sorted) with `part`, relative to the begin of `part`.
std::vector<ByteRange> RangesWithin(ByteRange part, std::span<const ByteRange> ranges);

/// Maps `ranges` of `text` (at least one) to the corresponding byte ranges of `normalized`, the
/// result of `normalizer` for `text`. For this it normalises `text` again with marks at the borders
/// of the ranges, and `normalized` becomes that result without the marks. It differs if text on
/// both sides of a border would have been normalised together. If the marks do not survive, or
/// every possible mark occurs in `text`, all of `normalized` becomes one range. Returns errors of
/// the normaliser and of the budget.
absl::Status MoveRanges(const Normalizer& normalizer, std::string_view text, EncodeBudget& budget,
                        NormalizedText& normalized, std::vector<ByteRange>& ranges);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_LITERAL_RANGES_H_
