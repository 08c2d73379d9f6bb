// gather_head and its family over kernels/cuda/head.h. Memory comes from PyTorch's caching
// allocator and belongs to the current stream. No call waits for the device.

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <limits>

#include "kernels/cuda/head.h"
#include "kernels/cuda/head_call.h"
#include "kernels/cuda/head_plan.h"
#include "python/src/gather_head.h"

namespace shortlist {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

void CheckCuda(cudaError_t error) {
  TORCH_CHECK(error == cudaSuccess, "shortlist on CUDA: ", cudaGetErrorString(error));
}

void CheckProblem(const char* problem) {
  TORCH_CHECK_VALUE(problem == nullptr, "on CUDA ", problem);
}

/// Checks that each row begins at a multiple of 16 bytes, which the kernels' copies need.
void CheckWeight(const at::Tensor& weight) {
  const int64_t multiple = 16 / weight.element_size();
  TORCH_CHECK_VALUE(weight.size(1) % multiple == 0, "weight has rows of ", weight.size(1),
                    ", not a multiple of ", multiple, ", which CUDA takes of ",
                    weight.scalar_type());
  const auto offset = reinterpret_cast<uintptr_t>(weight.data_ptr()) % 16;
  TORCH_CHECK_VALUE(offset == 0, "weight begins ", offset,
                    " bytes after a multiple of 16 bytes, which CUDA takes");
}

const int32_t* Ids(const OptionalTensor& tensor) {
  return tensor.has_value() ? tensor->data_ptr<int32_t>() : nullptr;
}

/// One call: the arguments of its launches, and the memory that they point to. While it lives, the
/// weight's device is the current device.
class Call {
 public:
  explicit Call(const HeadTensors& tensors, int64_t max_tail = -1)
      : guard_(tensors.weight.device()),
        stream_(c10::cuda::getCurrentCUDAStream(tensors.weight.get_device()).stream()) {
    CheckWeight(tensors.weight);
    args_.weight = tensors.weight.data_ptr();
    args_.format = FormatOf(tensors.weight);
    args_.vocab_size = tensors.vocab_size();
    args_.hidden = tensors.weight.size(1);
    SetHeadLists({.row_ids = tensors.row_ids.data_ptr<int32_t>(),
                  .num_rows = tensors.num_rows(),
                  .tail_indptr = Ids(tensors.tail_indptr),
                  .tail_ids = Ids(tensors.tail_ids),
                  .num_tail_ids = tensors.tail_ids.has_value() ? tensors.tail_ids->numel() : 0,
                  .max_tail = max_tail},
                 args_);
    // The kernels set its bits, but the host never reads them: that would mean waiting. So it need
    // not be zeroed.
    error_ = Empty({1}, at::kInt);
    args_.error = error_.data_ptr<int32_t>();
    TakeStates(tensors.hidden);
  }

  cudaStream_t stream() const { return stream_; }
  bool has_rows() const { return args_.row_capacity + args_.tail_capacity > 0; }

  /// Allocates memory on the device.
  at::Tensor Empty(at::IntArrayRef sizes, at::ScalarType dtype) const {
    return at::empty(sizes, at::TensorOptions(guard_.current_device()).dtype(dtype));
  }

  /// Calls body(args, first) for each launch, after preparing its states. `first` is its first
  /// token. Precondition: has_rows() and at least one token.
  template <class Body>
  void ForLaunches(const Body& body) {
    for (int64_t first = 0; first < args_.x.num_tokens; first += kHeadMaxTokens) {
      const CudaHeadArgs args = HeadLaunch(args_, first);
      if (first == 0) CheckProblem(HeadArgsProblem(args));
      if (args.format == RowFormat::kF16) {
        const float* const x = hidden_.data_ptr<float>() + first * args.hidden;
        CheckCuda(PrepareHeadStatesCuda(args.format, args.hidden, x, args.x, stream_));
      }
      body(args, first);
    }
  }

 private:
  static RowFormat FormatOf(const at::Tensor& weight) {
    return weight.scalar_type() == at::kFloat  ? RowFormat::kF32
           : weight.scalar_type() == at::kHalf ? RowFormat::kF16
                                               : RowFormat::kBf16;
  }

  /// Converts states to the input of the kernels: for bf16 and f32 rows a plain matrix of that
  /// type, for f16 rows the kernels' own format.
  void TakeStates(const at::Tensor& hidden) {
    args_.x.num_tokens = hidden.size(0);
    if (args_.format == RowFormat::kF16) {
      hidden_ = hidden.to(at::kFloat).contiguous();
      codes_ = Empty(hidden.sizes(), at::kHalf);
      factors_ = Empty({hidden.size(0)}, at::kFloat);
      args_.x.factors = factors_.data_ptr<float>();
    } else {
      codes_ = hidden.to(args_.format == RowFormat::kF32 ? at::kFloat : at::kBFloat16).contiguous();
      if (reinterpret_cast<uintptr_t>(codes_.data_ptr()) % 16 != 0) codes_ = codes_.clone();
    }
    args_.x.codes = codes_.data_ptr();
  }

  const c10::DeviceGuard guard_;
  const cudaStream_t stream_;
  CudaHeadArgs args_;  // of all tokens, not one launch
  at::Tensor hidden_, codes_, factors_, error_;
};

/// log_sum_exp may be null.
void TopK(const HeadTensors& tensors, int64_t k, const at::Tensor& ids, const at::Tensor& logits,
          const at::Tensor* log_sum_exp) {
  if (tensors.num_tokens() == 0) return;
  Call call(tensors);
  if (!call.has_rows()) {
    ids.fill_(-1);
    logits.fill_(-kInf);
    if (log_sum_exp != nullptr) log_sum_exp->fill_(-kInf);
    return;
  }
  const HeadTopKOutputs all{ids.data_ptr<int32_t>(), logits.data_ptr<float>(),
                            log_sum_exp == nullptr ? nullptr : log_sum_exp->data_ptr<float>()};
  call.ForLaunches([&](const CudaHeadArgs& args, int64_t first) {
    const HeadTopKOutputs out = HeadLaunchOutputs(all, k, first);
    CheckProblem(HeadTopKProblem(args, k, {}, out));
    int64_t bytes = 0;
    CheckCuda(HeadTopKWorkspace(args, k, &bytes));
    const at::Tensor workspace = call.Empty({bytes}, at::kByte);
    CheckCuda(HeadTopKCuda(args, k, {}, out, workspace.data_ptr(), bytes, call.stream()));
  });
}

}  // namespace

void LogitsOnCuda(const HeadTensors& tensors, int64_t max_tail, const at::Tensor& out) {
  const int64_t num_tail_ids = tensors.tail_ids.has_value() ? tensors.tail_ids->numel() : 0;
  // The kernels check the length of each tail.
  TORCH_CHECK_VALUE(num_tail_ids <= max_tail * tensors.num_tokens(), "max_tail is ", max_tail,
                    ", and ", tensors.num_tokens(), " tails have ", num_tail_ids, " ids");
  if (out.numel() == 0) return;
  Call call(tensors, max_tail);
  if (!call.has_rows()) {
    out.fill_(-kInf);
    return;
  }
  const int64_t stride = out.size(1);
  call.ForLaunches([&](const CudaHeadArgs& args, int64_t first) {
    float* const logits = out.data_ptr<float>() + first * stride;
    CheckProblem(HeadLogitsProblem(args, logits, stride));
    CheckCuda(HeadLogitsCuda(args, logits, stride, call.stream()));
  });
}

void ArgmaxOnCuda(const HeadTensors& tensors, const at::Tensor& ids, const at::Tensor& logits) {
  TopK(tensors, /*k=*/1, ids, logits, nullptr);
}

void TopKOnCuda(const HeadTensors& tensors, int64_t k, const at::Tensor& ids,
                const at::Tensor& logits, const at::Tensor& log_sum_exp) {
  TopK(tensors, k, ids, logits, &log_sum_exp);
}

}  // namespace shortlist
