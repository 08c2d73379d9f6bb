#include "vocab/active_vocab.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace shortlist {

namespace {

absl::Status CheckVocabSize(int64_t vocab_size, const HeadRows* head_rows) {
  constexpr int64_t kMaxVocabSize = std::numeric_limits<int32_t>::max();
  if (vocab_size < 1 || vocab_size > kMaxVocabSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("vocab_size ", vocab_size, " not in [1, ", kMaxVocabSize, "]"));
  }
  if (head_rows == nullptr || head_rows->vocab_size() == vocab_size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "vocab_size ", vocab_size, " for head rows of a vocabulary of ", head_rows->vocab_size()));
}

uint64_t NextSerial() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const VocabBase>> VocabBase::FullHead(
    int64_t vocab_size, std::shared_ptr<const HeadRows> head_rows) {
  SHORTLIST_RETURN_IF_ERROR(CheckVocabSize(vocab_size, head_rows.get()));
  std::shared_ptr<VocabBase> base(new VocabBase);
  base->is_full_head_ = true;
  base->vocab_size_ = vocab_size;
  base->head_rows_ = std::move(head_rows);
  return base;
}

absl::StatusOr<std::shared_ptr<const VocabBase>> VocabBase::Create(
    std::span<const TokenId> ids, int64_t vocab_size,
    std::span<const std::vector<TokenId>> successors, int64_t max_successors,
    std::shared_ptr<const HeadRows> head_rows) {
  SHORTLIST_RETURN_IF_ERROR(CheckVocabSize(vocab_size, head_rows.get()));
  std::shared_ptr<VocabBase> base(new VocabBase);
  base->vocab_size_ = vocab_size;
  base->head_rows_ = std::move(head_rows);
  base->row_of_.assign(vocab_size, -1);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int32_t id = Raw(ids[i]);
    if (id < 0 || id >= vocab_size) {
      return absl::InvalidArgumentError(
          absl::StrCat("token id ", id, " at index ", i, " not in [0, ", vocab_size, ")"));
    }
    if (base->row_of_[id] >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("token id ", id, " at index ", i, " repeated"));
    }
    base->row_of_[id] = 0;
  }
  base->ids_.reserve(ids.size());
  for (int32_t id = 0; id < vocab_size; ++id) {
    if (base->row_of_[id] < 0) continue;
    if (!base->HasHeadRow(TokenId{id})) {
      base->row_of_[id] = -1;
      continue;
    }
    base->row_of_[id] = static_cast<int32_t>(base->ids_.size());
    base->ids_.push_back(id);
  }
  if (!successors.empty() && max_successors > 0) {
    SHORTLIST_RETURN_IF_ERROR(base->KeepSuccessors(successors, max_successors));
  }
  if (!base->ids_.empty()) base->largest_id_ = base->ids_.back();
  for (const int32_t id : base->successors_) base->largest_id_ = std::max(base->largest_id_, id);
  return base;
}

absl::Status VocabBase::KeepSuccessors(std::span<const std::vector<TokenId>> successors,
                                       int64_t max) {
  if (std::ssize(successors) != vocab_size()) {
    return absl::InvalidArgumentError(absl::StrCat("successors of ", successors.size(),
                                                   " tokens for a vocabulary of ", vocab_size()));
  }
  std::vector<int32_t> seen_behind(vocab_size(), -1);  // the last token with this successor
  successors_begin_.assign(1, 0);
  for (int32_t last = 0; last < vocab_size(); ++last) {
    const int64_t begin = successors_begin_.back();
    for (const TokenId id : successors[last]) {
      if (Raw(id) < 0 || Raw(id) >= vocab_size()) {
        return absl::InvalidArgumentError(absl::StrCat("successors[", last, "]: token id ", Raw(id),
                                                       " not in [0, ", vocab_size(), ")"));
      }
      if (std::exchange(seen_behind[Raw(id)], last) == last) {
        return absl::InvalidArgumentError(
            absl::StrCat("successors[", last, "]: token id ", Raw(id), " repeated"));
      }
      const bool has_room = std::ssize(successors_) - begin < max;
      if (has_room && RowOf(id) < 0 && HasHeadRow(id)) successors_.push_back(Raw(id));
    }
    successors_begin_.push_back(std::ssize(successors_));
    max_successors_ = std::max(max_successors_, std::ssize(successors_) - begin);
  }
  return absl::OkStatus();
}

std::span<const int32_t> VocabBase::SuccessorsOf(TokenId last) const {
  if (successors_begin_.empty()) return {};
  const int64_t begin = successors_begin_[Raw(last)];
  return std::span(successors_).subspan(begin, successors_begin_[Raw(last) + 1] - begin);
}

bool VocabBase::IsSuccessor(TokenId last, TokenId id) const {
  const std::span<const int32_t> successors = SuccessorsOf(last);
  return std::find(successors.begin(), successors.end(), Raw(id)) != successors.end();
}

std::shared_ptr<const ActiveVocab> ActiveVocab::FullHead(int64_t vocab_size) {
  absl::StatusOr<std::shared_ptr<const VocabBase>> base = VocabBase::FullHead(vocab_size);
  SHORTLIST_CHECK(base.ok());
  return std::make_shared<const ActiveVocab>(/*version=*/0, *std::move(base),
                                             /*dynamic=*/std::vector<int32_t>());
}

ActiveVocab::ActiveVocab(uint64_t version, std::shared_ptr<const VocabBase> base,
                         std::vector<int32_t> dynamic)
    : version_(version), serial_(NextSerial()), base_(std::move(base)) {
  rows_.reserve(base_->size() + dynamic.size());
  rows_.assign(base_->ids().begin(), base_->ids().end());
  dynamic_row_.reserve(dynamic.size());
  for (const int32_t id : dynamic) {
    SHORTLIST_CHECK(id >= 0 && id < base_->vocab_size() && base_->RowOf(TokenId{id}) < 0);
    SHORTLIST_CHECK(base_->HasHeadRow(TokenId{id}));
    const bool is_new = dynamic_row_.emplace(id, static_cast<int32_t>(rows_.size())).second;
    SHORTLIST_CHECK(is_new);
    rows_.push_back(id);
  }
}

std::optional<DraftId> ActiveVocab::Find(TokenId id) const {
  if (const int32_t row = base_->RowOf(id); row >= 0) return DraftId{row};
  if (const auto it = dynamic_row_.find(Raw(id)); it != dynamic_row_.end()) {
    return DraftId{it->second};
  }
  return std::nullopt;
}

RowSource ActiveVocab::SourceOf(TokenId id) const {
  if (base_->RowOf(id) >= 0) return RowSource::kBase;
  return dynamic_row_.contains(Raw(id)) ? RowSource::kShared : RowSource::kNone;
}

}  // namespace shortlist
