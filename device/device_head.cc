#include "device/device_head.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "device/catch_torch.h"
#include "head/pruned_head.h"

namespace shortlist {
namespace {

static_assert(PrunedHead::kMaxTopK <= kHeadMaxTopK);

constexpr int64_t kMaxResults = kHeadMaxTokens * (2 * kHeadMaxTopK + 1);
constexpr int64_t kIndptrLen = kHeadMaxTokens + 1;
constexpr const char* kWhat = "LM head on a device";

/// The arrays of a HeadNoise, contiguous, so that one copy is enough.
struct NoiseArrays {
  uint64_t seeds[kHeadMaxTokens];
  int64_t positions[kHeadMaxTokens];
  float temperatures[kHeadMaxTokens];
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceHead>> DeviceHead::Create(
    std::shared_ptr<const DeviceRows> rows, int64_t num_rows) {
  std::unique_ptr<DeviceHead> head(new DeviceHead(std::move(rows), num_rows));
  SHORTLIST_RETURN_IF_ERROR(CatchTorch(kWhat, [&] {
    head->Allocate();
    return absl::OkStatus();
  }));
  return head;
}

void DeviceHead::Allocate() {
  const RowLayout& layout = rows_->layout();
  const at::TensorOptions on_device(rows_->device());
  states_ = at::empty({kHeadMaxTokens, hidden()}, on_device.dtype(at::kFloat));
  codes_ = at::empty({kHeadMaxTokens, layout.x_code_bytes}, on_device.dtype(at::kByte));
  scales_ = at::empty({kHeadMaxTokens, layout.x_scale_bytes / 4}, on_device.dtype(at::kFloat));
  factors_ = at::empty({kHeadMaxTokens}, on_device.dtype(at::kFloat));
  words_ = at::empty({1 + kMaxResults}, on_device.dtype(at::kInt));
  words_.narrow(0, 0, 1).zero_();
  draws_ = at::empty({sizeof(NoiseArrays)}, on_device.dtype(at::kByte));
  row_tails_ = at::empty({kIndptrLen + kHeadMaxTokens}, on_device.dtype(at::kInt));
  std::vector<int32_t> indptr(kIndptrLen);
  std::iota(indptr.begin(), indptr.end(), 0);
  row_tails_.narrow(0, 0, kIndptrLen).copy_(at::from_blob(indptr.data(), {kIndptrLen}, at::kInt));
}

DeviceSelection* DeviceHead::MakeRoom(const HeadSelection& selection) {
  if (selection.active.is_full_head()) return nullptr;
  const std::shared_ptr<const VocabBase>& base = selection.active.base();
  const int64_t size = selection.active.size();
  int64_t tail = 0;
  for (const auto of_token : selection.tails) tail = std::max(tail, std::ssize(of_token));
  // Tails grow token by token: capacities are powers of two, so that few steps allocate.
  if (tail > 0) {
    tail = std::min<int64_t>(std::bit_ceil(static_cast<uint64_t>(tail)), vocab_size());
  }
  const auto here = std::find_if(residents_.begin(), residents_.end(),
                                 [&](const Resident& resident) { return resident.base == base; });
  if (here != residents_.end()) {
    std::rotate(residents_.begin(), here, here + 1);
    DeviceSelection& resident = residents_.front().selection;
    if (size <= resident.row_capacity() && tail <= resident.tail_capacity()) return &resident;
    tail = std::max(tail, resident.tail_capacity());
    residents_.erase(residents_.begin());
  }
  // A base held only by its resident and its selection is no longer in use.
  std::erase_if(residents_, [](const Resident& of) { return of.base.use_count() <= 2; });
  if (std::ssize(residents_) == kMaxResident) {
    // Reuse the arrays of the least recently used resident if they are large enough.
    std::rotate(residents_.begin(), residents_.end() - 1, residents_.end());
    DeviceSelection& resident = residents_.front().selection;
    residents_.front().base = base;
    if (size <= resident.row_capacity() && tail <= resident.tail_capacity()) return &resident;
    residents_.erase(residents_.begin());
  }
  // Room for a growing dynamic part. Capacities decide how the work is divided, so they are only
  // slightly larger.
  const int64_t rows = std::min(vocab_size(), size + std::max<int64_t>(size / 8, 256));
  residents_.insert(residents_.begin(),
                    Resident{base, DeviceSelection(rows, tail, rows_->device())});
  return &residents_.front().selection;
}

absl::Status DeviceHead::ForTokens(HeadInput hidden, Body body) {
  for (int64_t first = 0; first < hidden.num_tokens; first += kHeadMaxTokens) {
    CudaHeadArgs args;
    args.weight = rows_->data();
    args.format = rows_->layout().format;
    args.vocab_size = vocab_size();
    args.hidden = this->hidden();
    args.x = {codes_.data_ptr(), scales_.data_ptr<float>(), factors_.data_ptr<float>(),
              std::min<int64_t>(hidden.num_tokens - first, kHeadMaxTokens)};
    args.error = words_.data_ptr<int32_t>();
    auto* const states = const_cast<float*>(hidden.data) + first * args.hidden;
    states_.narrow(0, 0, args.x.num_tokens)
        .copy_(at::from_blob(states, {args.x.num_tokens, args.hidden}, at::kFloat));
    SHORTLIST_RETURN_IF_ERROR(rows_->kernels().PrepareStates(args.format, args.hidden,
                                                             states_.data_ptr<float>(), args.x));
    SHORTLIST_RETURN_IF_ERROR(body(args, first));
  }
  return absl::OkStatus();
}

absl::Status DeviceHead::AddSelection(const HeadSelection& selection, DeviceSelection* resident,
                                      int64_t first, CudaHeadArgs& args) {
  if (resident == nullptr) {
    args.row_capacity = num_rows_;
    return absl::OkStatus();
  }
  const auto tails =
      selection.tails.empty() ? selection.tails : selection.tails.subspan(first, args.x.num_tokens);
  SHORTLIST_RETURN_IF_ERROR(resident->Set(selection.active, tails, args.x.num_tokens));
  resident->Fill(args);
  return absl::OkStatus();
}

absl::StatusOr<const int32_t*> DeviceHead::Fetch(int64_t count) {
  host_ = words_.narrow(0, 0, 1 + count).cpu();
  const int32_t* words = host_.data_ptr<int32_t>();
  if (words[0] == 0) return words + 1;
  const int32_t flags = words[0];
  words_.narrow(0, 0, 1).zero_();
  return absl::InternalError(absl::StrCat(kWhat, ": its kernels flagged ", flags,
                                          " (the bits of kernels/cuda/head_args.h)"));
}

absl::Status DeviceHead::Logits(HeadInput hidden, const HeadSelection& selection,
                                std::vector<float>& logits, int64_t& stride) {
  return CatchTorch(kWhat, [&]() -> absl::Status {
    DeviceSelection* const resident = MakeRoom(selection);
    stride = resident == nullptr ? num_rows_ : resident->row_capacity() + resident->tail_capacity();
    const auto size = static_cast<size_t>(hidden.num_tokens * stride);
    if (logits.size() < size) logits.resize(size);
    return ForTokens(hidden, [&](CudaHeadArgs& args, int64_t first) -> absl::Status {
      SHORTLIST_RETURN_IF_ERROR(AddSelection(selection, resident, first, args));
      const int64_t num_tokens = args.x.num_tokens;
      const at::Tensor scored =
          at::empty({num_tokens, stride}, at::TensorOptions(rows_->device()).dtype(at::kFloat));
      SHORTLIST_RETURN_IF_ERROR(rows_->kernels().Logits(args, scored.data_ptr<float>(), stride));
      at::from_blob(logits.data() + first * stride, {num_tokens, stride}, at::kFloat).copy_(scored);
      return Fetch(0).status();
    });
  });
}

HeadNoise DeviceHead::SendDraws(std::span<const HeadDraw> draws, uint32_t stream) {
  NoiseArrays arrays = {};
  for (size_t m = 0; m < draws.size(); ++m) {
    arrays.seeds[m] = draws[m].seed;
    arrays.positions[m] = draws[m].position;
    arrays.temperatures[m] = draws[m].temperature > 0.0 ? draws[m].Divisor() : 0.0f;
  }
  draws_.copy_(at::from_blob(&arrays, {sizeof(arrays)}, at::kByte));
  const auto* const there = static_cast<const NoiseArrays*>(draws_.data_ptr());
  return {there->temperatures, there->seeds, there->positions, stream};
}

absl::Status DeviceHead::TopK(HeadInput hidden, const HeadSelection& selection, int64_t k,
                              const HeadDraws& draws, int32_t* ids, float* logits,
                              float* log_sum_exp) {
  return CatchTorch(kWhat, [&]() -> absl::Status {
    DeviceSelection* const resident = MakeRoom(selection);
    return ForTokens(hidden, [&](CudaHeadArgs& args, int64_t first) -> absl::Status {
      SHORTLIST_RETURN_IF_ERROR(AddSelection(selection, resident, first, args));
      const int64_t num_tokens = args.x.num_tokens, size = num_tokens * k;
      const bool sums = log_sum_exp != nullptr;
      HeadNoise noise;
      if (!draws.of_tokens.empty()) {
        noise = SendDraws(draws.of_tokens.subspan(first, num_tokens), draws.stream);
      }
      auto* const values = reinterpret_cast<float*>(results() + size);
      SHORTLIST_RETURN_IF_ERROR(rows_->kernels().TopK(
          args, k, noise, {results(), values, sums ? values + size : nullptr}));
      SHORTLIST_ASSIGN_OR_RETURN(const int32_t* words, Fetch(2 * size + (sums ? num_tokens : 0)));
      std::memcpy(ids + first * k, words, size * sizeof(int32_t));
      std::memcpy(logits + first * k, words + size, size * sizeof(float));
      if (sums) std::memcpy(log_sum_exp + first, words + 2 * size, num_tokens * sizeof(float));
      return absl::OkStatus();
    });
  });
}

absl::Status DeviceHead::RowLogits(HeadInput hidden, std::span<const TokenId> ids, float* logits) {
  std::vector<int32_t> raw;
  for (const TokenId id : ids) raw.push_back(Raw(id));
  return CatchTorch(kWhat, [&] {
    return ForTokens(hidden, [&](CudaHeadArgs& args, int64_t first) -> absl::Status {
      const int64_t num_tokens = args.x.num_tokens;
      row_tails_.narrow(0, kIndptrLen, num_tokens)
          .copy_(at::from_blob(raw.data() + first, {num_tokens}, at::kInt));
      args.tail_indptr = row_tails_.data_ptr<int32_t>();
      args.tail_ids = args.tail_indptr + kIndptrLen;
      args.tail_capacity = 1;
      SHORTLIST_RETURN_IF_ERROR(
          rows_->kernels().Logits(args, reinterpret_cast<float*>(results()), /*stride=*/1));
      SHORTLIST_ASSIGN_OR_RETURN(const int32_t* words, Fetch(num_tokens));
      std::memcpy(logits + first, words, num_tokens * sizeof(float));
      return absl::OkStatus();
    });
  });
}

}  // namespace shortlist
