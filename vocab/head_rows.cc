#include "vocab/head_rows.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shortlist {

absl::StatusOr<std::shared_ptr<const HeadRows>> HeadRows::Create(std::vector<int32_t> ids,
                                                                 int64_t vocab_size) {
  constexpr int64_t kMaxVocabSize = std::numeric_limits<int32_t>::max();
  if (vocab_size < 1 || vocab_size > kMaxVocabSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("vocab_size ", vocab_size, " not in [1, ", kMaxVocabSize, "]"));
  }
  if (ids.empty()) return absl::InvalidArgumentError("a head without rows");
  std::vector<int32_t> row_of(vocab_size, -1);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab_size) {
      return absl::InvalidArgumentError(
          absl::StrCat("head row ", i, ": token id ", ids[i], " not in [0, ", vocab_size, ")"));
    }
    if (i > 0 && ids[i] <= ids[i - 1]) {
      return absl::InvalidArgumentError(absl::StrCat("head row ", i, ": token id ", ids[i],
                                                     " is not above ", ids[i - 1],
                                                     ", that of the row before"));
    }
    row_of[ids[i]] = static_cast<int32_t>(i);
  }
  return std::shared_ptr<const HeadRows>(new HeadRows(std::move(ids), std::move(row_of)));
}

int64_t HeadRows::NumBelow(int64_t end) const {
  return std::ranges::lower_bound(ids_, end) - ids_.begin();
}

}  // namespace shortlist
