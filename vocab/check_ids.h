#ifndef SHORTLIST_VOCAB_CHECK_IDS_H_
#define SHORTLIST_VOCAB_CHECK_IDS_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "base/ids.h"

namespace shortlist {

/// OutOfRange names the first of `ids` that is not in [0, vocab_size), and its index.
absl::Status CheckIds(std::span<const TokenId> ids, int64_t vocab_size);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_CHECK_IDS_H_
