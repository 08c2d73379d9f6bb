#ifndef SHORTLIST_BASE_IDS_H_
#define SHORTLIST_BASE_IDS_H_

#include <cstdint>

namespace shortlist {

/// A token in the target's vocabulary, in [0, vocab_size).
///
/// TokenId and DraftId are distinct types because mixing them is the bug of this field that never
/// shows in the output: the target corrects every wrong draft, and only the acceptance falls.
enum class TokenId : int32_t {};

/// A row of the active vocabulary of one speculation step, in [0, active_size).
enum class DraftId : int32_t {};

constexpr int32_t Raw(TokenId id) { return static_cast<int32_t>(id); }
constexpr int32_t Raw(DraftId id) { return static_cast<int32_t>(id); }

}  // namespace shortlist

#endif  // SHORTLIST_BASE_IDS_H_
