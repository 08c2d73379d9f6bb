#include "vocab/check_ids.h"

#include "absl/strings/str_cat.h"

namespace shortlist {

absl::Status CheckIds(std::span<const TokenId> ids, int64_t vocab_size) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (Raw(ids[i]) >= 0 && Raw(ids[i]) < vocab_size) continue;
    return absl::OutOfRangeError(
        absl::StrCat("token id ", Raw(ids[i]), " at index ", i, " not in [0, ", vocab_size, ")"));
  }
  return absl::OkStatus();
}

}  // namespace shortlist
