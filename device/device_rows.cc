#include "device/device_rows.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "device/catch_torch.h"
#include "device/device_head.h"
#include "device/device_sketch.h"
#include "kernels/cuda/head_plan.h"
#include "kernels/quant.h"

namespace shortlist {
namespace {

constexpr int64_t kPackBytes = 8 << 20;  // of reordered rows on the host at a time

/// Precondition: not in blocks.
RowFormat FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return RowFormat::kF32;
    case DType::kF16:
      return RowFormat::kF16;
    case DType::kBf16:
      return RowFormat::kBf16;
    case DType::kInt8:
      return RowFormat::kInt8;
    default:
      break;
  }
  return RowFormat::kInt4;
}

/// Checks that the kernels accept such rows.
absl::Status CheckRows(const void* rows, RowFormat format, int64_t vocab_size, int64_t hidden) {
  CudaHeadArgs args;
  int32_t error = 0;
  args.weight = rows;
  args.format = format;
  args.vocab_size = vocab_size;
  args.hidden = hidden;
  args.row_capacity = 1;
  args.error = &error;
  const char* problem = HeadArgsProblem(args);
  if (problem == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("LM head of [", vocab_size, ", ", hidden, "] ",
                                                 RowFormatName(format), ": ", problem));
}

void CopyReordered(const HeadWeight& weight, const RowLayout& layout, at::Tensor& memory) {
  const int64_t from_bytes = RowBytes(weight.dtype, weight.hidden);
  const int64_t block = std::clamp<int64_t>(kPackBytes / layout.row_bytes, 1, weight.vocab_size);
  const at::Tensor packed = at::empty({block * layout.row_bytes}, at::kByte);
  auto* const to = packed.data_ptr<uint8_t>();
  for (int64_t first = 0; first < weight.vocab_size; first += block) {
    const int64_t count = std::min(block, weight.vocab_size - first);
    for (int64_t r = 0; r < count; ++r) {
      PackCudaRow(static_cast<const char*>(weight.rows) + (first + r) * from_bytes, weight.dtype,
                  weight.hidden, to + r * layout.row_bytes);
    }
    memory.narrow(0, first * layout.row_bytes, count * layout.row_bytes)
        .copy_(packed.narrow(0, 0, count * layout.row_bytes));
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const DeviceRows>> DeviceRows::Copy(
    const HeadWeight& weight, std::shared_ptr<HeadKernels> kernels) {
  if (IsBlocked(weight.dtype)) {
    return absl::UnimplementedError(
        absl::StrCat("LM head in ", DTypeName(weight.dtype),
                     " on a device; quantise it to int8 or int4, or load it as bf16"));
  }
  const RowFormat format = FormatOf(weight.dtype);
  SHORTLIST_RETURN_IF_ERROR(CheckRows(weight.rows, format, weight.vocab_size, weight.hidden));
  const RowLayout layout = RowLayout::Of(format, weight.hidden);
  const int64_t bytes = weight.vocab_size * layout.row_bytes;
  at::Tensor memory;
  SHORTLIST_RETURN_IF_ERROR(
      CatchTorch(absl::StrCat("LM head of ", bytes, " bytes on ", kernels->device().str()), [&] {
        memory = at::empty({bytes}, at::TensorOptions(kernels->device()).dtype(at::kByte));
        if (layout.quantized()) {
          CopyReordered(weight, layout, memory);
        } else {
          memory.copy_(at::from_blob(const_cast<void*>(weight.rows), {bytes}, at::kByte));
        }
        return absl::OkStatus();
      }));
  return std::shared_ptr<const DeviceRows>(
      new DeviceRows(std::move(kernels), layout, weight.vocab_size, std::move(memory)));
}

absl::StatusOr<std::shared_ptr<const DeviceRows>> DeviceRows::Over(
    const at::Tensor& weight, std::shared_ptr<HeadKernels> kernels) {
  if (!weight.defined() || weight.dim() != 2 || !weight.is_contiguous() ||
      weight.device() != kernels->device()) {
    return absl::InvalidArgumentError(
        absl::StrCat("LM head: the weight must be a contiguous [vocab_size, hidden] tensor on ",
                     kernels->device().str()));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const DType dtype, HeadDType(weight));
  const RowFormat format = FormatOf(dtype);
  const int64_t vocab_size = weight.size(0), hidden = weight.size(1);
  SHORTLIST_RETURN_IF_ERROR(CheckRows(weight.data_ptr(), format, vocab_size, hidden));
  return std::shared_ptr<const DeviceRows>(
      new DeviceRows(std::move(kernels), RowLayout::Of(format, hidden), vocab_size, weight));
}

absl::StatusOr<std::unique_ptr<HeadScorer>> DeviceRows::NewScorer(int64_t num_rows) const {
  return DeviceHead::Create(shared_from_this(), num_rows);
}

absl::StatusOr<std::unique_ptr<SketchRanker>> DeviceRows::NewSketchRanker(
    const SketchRows& rows) const {
  return DeviceSketch::Create(rows, kernels_);
}

absl::StatusOr<DType> HeadDType(const at::Tensor& weight) {
  switch (weight.scalar_type()) {
    case at::kFloat:
      return DType::kF32;
    case at::kHalf:
      return DType::kF16;
    case at::kBFloat16:
      return DType::kBf16;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "LM head: dtype ", c10::toString(weight.scalar_type()), " is not one of f32, f16, bf16"));
  }
}

}  // namespace shortlist
