#include "device/device_sketch.h"

#include <ATen/ATen.h>

#include <cstring>
#include <utility>

#include "base/status_macros.h"
#include "device/catch_torch.h"

namespace shortlist {
namespace {

constexpr const char* kWhat = "sketch on a device";

}  // namespace

at::Tensor DeviceSketch::Send(const void* from, int64_t bytes) const {
  at::Tensor there = at::empty({bytes}, at::TensorOptions(kernels_->device()).dtype(at::kByte));
  there.copy_(at::from_blob(const_cast<void*>(from), {bytes}, at::kByte));
  return there;
}

absl::StatusOr<std::unique_ptr<DeviceSketch>> DeviceSketch::Create(
    const SketchRows& rows, std::shared_ptr<HeadKernels> kernels) {
  std::unique_ptr<DeviceSketch> sketch(new DeviceSketch(std::move(kernels)));
  SHORTLIST_RETURN_IF_ERROR(CatchTorch(kWhat, [&] {
    const int64_t padded = rows.num_panels() * kSketchPanelRows;
    sketch->codes_ = sketch->Send(rows.codes, padded * rows.rank / 2);
    sketch->scales_ = sketch->Send(rows.scales, padded * static_cast<int64_t>(sizeof(uint16_t)));
    return absl::OkStatus();
  }));
  sketch->rows_ = rows;
  sketch->rows_.codes = sketch->codes_.data_ptr<uint8_t>();
  sketch->rows_.scales = static_cast<const uint16_t*>(sketch->scales_.data_ptr());
  return sketch;
}

/// Queries are small and are made on the host, so that their bits are the CPU's. One copy transfers
/// races and queries to the device, one transfers ids and keys back.
absl::Status DeviceSketch::Rank(const float* queries, const SketchRace* races, int64_t num_tokens,
                                int64_t num_chosen, int32_t* ids, uint32_t* keys) {
  return CatchTorch(kWhat, [&]() -> absl::Status {
    const size_t races_bytes = races == nullptr ? 0 : num_tokens * sizeof(SketchRace);
    const size_t queries_bytes = num_tokens * rows_.rank * sizeof(float);
    input_.resize(races_bytes + queries_bytes);
    if (races_bytes > 0) std::memcpy(input_.data(), races, races_bytes);
    std::memcpy(input_.data() + races_bytes, queries, queries_bytes);
    const at::Tensor there = Send(input_.data(), std::ssize(input_));
    const auto* const first = there.data_ptr<uint8_t>();
    const int64_t count = num_tokens * num_chosen;
    const at::Tensor words =
        at::empty({2 * count}, at::TensorOptions(kernels_->device()).dtype(at::kInt));
    auto* const chosen = words.data_ptr<int32_t>();
    SHORTLIST_RETURN_IF_ERROR(kernels_->SelectSketch(
        {.rows = rows_,
         .query = reinterpret_cast<const float*>(first + races_bytes),
         .races = races == nullptr ? nullptr : reinterpret_cast<const SketchRace*>(first),
         .num_tokens = num_tokens,
         .num_chosen = num_chosen,
         .ids = chosen,
         .keys = reinterpret_cast<uint32_t*>(chosen + count)}));
    const at::Tensor here = words.cpu();
    std::memcpy(ids, here.data_ptr<int32_t>(), count * sizeof(int32_t));
    std::memcpy(keys, here.data_ptr<int32_t>() + count, count * sizeof(uint32_t));
    return absl::OkStatus();
  });
}

}  // namespace shortlist
