#include "device/device_selection.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace shortlist {
namespace {

constexpr int64_t kIndptrLen = kHeadMaxTokens + 1;

void Send(std::span<const int32_t> words, at::Tensor& array, int64_t first) {
  const auto count = static_cast<int64_t>(words.size());
  array.narrow(0, first, count)
      .copy_(at::from_blob(const_cast<int32_t*>(words.data()), {count}, at::kInt));
}

}  // namespace

DeviceSelection::DeviceSelection(int64_t row_capacity, int64_t tail_capacity, at::Device device)
    : row_capacity_(row_capacity), tail_capacity_(tail_capacity) {
  const at::TensorOptions words = at::TensorOptions(device).dtype(at::kInt);
  rows_ = at::empty({1 + row_capacity}, words);
  tails_ = at::empty({kIndptrLen + kHeadMaxTokens * tail_capacity}, words);
}

absl::Status DeviceSelection::Set(const ActiveVocab& active,
                                  std::span<const std::span<const int32_t>> tails,
                                  int64_t num_tokens) {
  SHORTLIST_CHECK(num_tokens <= kHeadMaxTokens);
  if (active.size() > row_capacity_) {
    return absl::ResourceExhaustedError(absl::StrCat("an active vocabulary of ", active.size(),
                                                     " tokens for a capacity of ", row_capacity_));
  }
  for (const std::span<const int32_t> tail : tails) {
    if (std::ssize(tail) <= tail_capacity_) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat("a token's own ", tail.size(), " rows for a capacity of ", tail_capacity_));
  }
  SetRows(active);
  if (tail_capacity_ == 0) return absl::OkStatus();
  std::vector<int32_t> words(kIndptrLen, 0);
  for (int64_t m = 0; m < num_tokens; ++m) {
    if (!tails.empty()) words.insert(words.end(), tails[m].begin(), tails[m].end());
    words[m + 1] = static_cast<int32_t>(words.size() - kIndptrLen);
  }
  if (words == tail_words_) return absl::OkStatus();
  tail_words_.clear();  // after a copy that throws, the contents are unknown
  Send(words, tails_, 0);
  tail_words_ = std::move(words);
  return absl::OkStatus();
}

void DeviceSelection::SetRows(const ActiveVocab& active) {
  const std::span<const int32_t> dynamic = active.rows().subspan(active.base_size());
  const bool same_base = base_ == active.base();
  if (same_base && std::ranges::equal(dynamic, dynamic_)) return;
  base_ = nullptr;
  const auto size = static_cast<int32_t>(active.size());
  const std::span<const int32_t> changed = same_base ? dynamic : active.rows();
  Send(changed, rows_, 1 + active.size() - static_cast<int64_t>(changed.size()));
  Send({&size, 1}, rows_, 0);
  dynamic_.assign(dynamic.begin(), dynamic.end());
  base_ = active.base();
}

void DeviceSelection::Fill(CudaHeadArgs& args) const {
  args.num_rows = rows_.data_ptr<int32_t>();
  args.row_ids = args.num_rows + 1;
  args.row_capacity = row_capacity_;
  args.tail_capacity = tail_capacity_;
  if (tail_capacity_ == 0) return;
  args.tail_indptr = tails_.data_ptr<int32_t>();
  args.tail_ids = args.tail_indptr + kIndptrLen;
}

}  // namespace shortlist
