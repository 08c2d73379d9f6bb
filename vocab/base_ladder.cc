#include "vocab/base_ladder.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {

namespace {

/// Drops the ids that have no row in the draft's head, so that each size is a number of rows.
absl::Status KeepHeadRows(const VocabTarget& target, const std::string& path, VocabList& list) {
  if (target.head_rows == nullptr) return absl::OkStatus();
  const auto has_none = [&](TokenId id) { return target.head_rows->RowOf(id) < 0; };
  if (!list.counts.empty()) {
    std::vector<int64_t> counts;
    for (size_t i = 0; i < list.ids.size(); ++i) {
      if (!has_none(list.ids[i])) counts.push_back(list.counts[i]);
    }
    list.counts = std::move(counts);
  }
  std::erase_if(list.ids, has_none);
  std::erase_if(list.pinned, has_none);
  if (!list.ids.empty() || !list.pinned.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": none of its tokens has a row in the draft's head, which has rows for ",
                   target.head_rows->size(), " of ", target.head_rows->vocab_size(), " tokens"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const BaseLadder>> BaseLadder::Create(VocabOptions options,
                                                                     VocabList list,
                                                                     const VocabTarget& target) {
  SHORTLIST_RETURN_IF_ERROR(options.Validate());
  const auto refuse = [&options](const auto&... why) {
    return absl::InvalidArgumentError(absl::StrCat(options.custom_vocab_path, ": ", why...));
  };
  if (!list.ranked) return refuse("auto needs a list in rank order");
  SHORTLIST_RETURN_IF_ERROR(KeepHeadRows(target, options.custom_vocab_path, list));
  std::shared_ptr<BaseLadder> ladder(new BaseLadder(std::move(options), std::move(list), target));
  const VocabList& of = ladder->list_;

  std::vector<bool> is_pinned(of.vocab_size);
  for (const TokenId id : of.pinned) is_pinned[Raw(id)] = true;
  std::vector<TokenId> order = of.pinned;
  for (const TokenId id : of.ids) {
    if (!is_pinned[Raw(id)]) order.push_back(id);
  }
  const int64_t num_ids = std::ssize(order);
  const int64_t head_size = target.head_rows != nullptr ? target.head_rows->size() : of.vocab_size;
  const VocabOptions& bounds = ladder->options_;
  const int64_t least = std::max(bounds.min_rows.value_or(std::min(kDefaultMinRows, num_ids)),
                                 std::max<int64_t>(std::ssize(of.pinned), 1));
  const int64_t most = bounds.max_rows.value_or(head_size);
  if (least > num_ids || least > most) {
    return absl::InvalidArgumentError(absl::StrCat(bounds.custom_vocab_path, ": auto from ", least,
                                                   " rows, of ", num_ids, " ids and at most ", most,
                                                   " rows"));
  }
  ladder->ends_with_full_head_ = most >= head_size;
  const int64_t most_ids = std::min(num_ids, most);
  for (double rows = static_cast<double>(least); rows < 0.85 * static_cast<double>(most_ids);
       rows *= std::sqrt(2.0)) {
    ladder->rows_.push_back(std::llround(rows));
  }
  if (!ladder->ends_with_full_head_ || most_ids < head_size) {
    ladder->rows_.push_back(most_ids);
  }
  const size_t num_bases = ladder->rows_.size();
  if (ladder->ends_with_full_head_) ladder->rows_.push_back(head_size);

  // Ids that no base contains: only the full head has them, if there is one, and if it does.
  ladder->first_size_.assign(of.vocab_size, static_cast<uint8_t>(num_bases));
  for (int32_t id = 0; target.head_rows != nullptr && id < of.vocab_size; ++id) {
    if (target.head_rows->RowOf(TokenId{id}) >= 0) continue;
    ladder->first_size_[id] = static_cast<uint8_t>(ladder->rows_.size());
  }
  size_t size = 0;
  for (int64_t i = 0; i < most_ids; ++i) {
    while (i >= ladder->rows_[size]) ++size;
    ladder->first_size_[Raw(order[i])] = static_cast<uint8_t>(size);
  }
  SHORTLIST_ASSIGN_OR_RETURN(ladder->least_, ladder->Base(0));
  if (num_bases > 0) SHORTLIST_RETURN_IF_ERROR(ladder->Base(num_bases - 1).status());
  return ladder;
}

absl::StatusOr<std::shared_ptr<const BaseLadder>> BaseLadder::WithoutList(int64_t vocab_size) {
  SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<const VocabBase> none,
                             VocabBase::Create({}, vocab_size));
  std::shared_ptr<BaseLadder> ladder(new BaseLadder({}, {.vocab_size = vocab_size}, {}));
  ladder->rows_ = {0, vocab_size};
  ladder->ends_with_full_head_ = true;
  ladder->first_size_.assign(vocab_size, 1);
  ladder->least_ = std::move(none);
  return ladder;
}

absl::StatusOr<std::shared_ptr<const VocabBase>> BaseLadder::Base(size_t size) const {
  if (ends_with_full_head_ && size + 1 == rows_.size()) {
    return VocabBase::FullHead(list_.vocab_size, target_.head_rows);
  }
  if (size == 0 && least_ != nullptr) return least_;
  VocabOptions sized = options_;
  sized.auto_size = false;
  sized.min_rows = sized.max_rows = std::nullopt;
  sized.top_n = rows_[size];
  return SelectVocabBase(sized, list_, target_);
}

size_t BaseLadder::FirstSize(TokenId last, TokenId id) const {
  const size_t size = first_size_[Raw(id)];
  return size > 0 && least_->IsSuccessor(last, id) ? 0 : size;
}

}  // namespace shortlist
