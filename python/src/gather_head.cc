// torch.ops.shortlist.gather_head and its family. The schemas below are the contract; shapes for
// meta tensors are in package/shortlist/_meta.py. Every caller error is a ValueError.

#include "python/src/gather_head.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <tuple>

#include "kernels/cuda/head_args.h"

namespace shortlist {
namespace {

void CheckPlace(const at::Tensor& tensor, const char* name) {
  TORCH_CHECK_VALUE(tensor.is_cpu() || (kScoresOnCuda && tensor.is_cuda()), name, " is on ",
                    tensor.device(), "; this build of shortlist scores on the CPU ",
                    kScoresOnCuda ? "and on CUDA" : "alone");
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, name, " has layout ", tensor.layout(),
                    ", not torch.strided");
}

/// Same as CheckPlace(tensor, name); also checks that `tensor` is on the device of `weight`.
void CheckPlace(const at::Tensor& tensor, const char* name, const at::Tensor& weight) {
  CheckPlace(tensor, name);
  TORCH_CHECK_VALUE(tensor.device() == weight.device(), name, " is on ", tensor.device(),
                    ", weight on ", weight.device());
}

void CheckMatrix(const at::Tensor& tensor, const char* name) {
  TORCH_CHECK_VALUE(tensor.dim() == 2, name, " has ", tensor.dim(), " dimensions, not 2");
  const at::ScalarType dtype = tensor.scalar_type();
  TORCH_CHECK_VALUE(dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16, name,
                    " is ", dtype, ", not float32, float16 or bfloat16");
}

void CheckIds(const at::Tensor& tensor, const char* name, const at::Tensor& weight) {
  CheckPlace(tensor, name, weight);
  TORCH_CHECK_VALUE(tensor.scalar_type() == at::kInt, name, " is ", tensor.scalar_type(),
                    ", not int32");
  TORCH_CHECK_VALUE(tensor.dim() == 1, name, " has ", tensor.dim(), " dimensions, not 1");
  TORCH_CHECK_VALUE(tensor.is_contiguous(), name, " has stride ", tensor.stride(0), ", not 1");
}

void Check(const HeadTensors& tensors) {
  const auto& [hidden, weight, row_ids, tail_indptr, tail_ids] = tensors;
  CheckPlace(weight, "weight");
  CheckPlace(hidden, "hidden", weight);
  CheckMatrix(hidden, "hidden");
  CheckMatrix(weight, "weight");
  TORCH_CHECK_VALUE(weight.size(0) < (int64_t{1} << 31), "weight has ", weight.size(0),
                    " rows, not less than 2^31");
  TORCH_CHECK_VALUE(weight.size(1) >= 1, "weight has rows of no element");
  TORCH_CHECK_VALUE(hidden.size(1) == weight.size(1), "hidden has rows of ", hidden.size(1),
                    ", weight of ", weight.size(1));
  TORCH_CHECK_VALUE(weight.is_contiguous(), "weight has strides ", weight.strides(),
                    ", not those of contiguous rows");
  CheckIds(row_ids, "row_ids", weight);
  TORCH_CHECK_VALUE(tail_indptr.has_value() == tail_ids.has_value(),
                    "tail_indptr and tail_ids come together, and one is missing");
  if (!tail_indptr.has_value()) return;
  CheckIds(*tail_indptr, "tail_indptr", weight);
  CheckIds(*tail_ids, "tail_ids", weight);
  TORCH_CHECK_VALUE(tail_indptr->numel() == hidden.size(0) + 1, "tail_indptr has ",
                    tail_indptr->numel(), " elements, not ", hidden.size(0) + 1,
                    " (rows of hidden + 1)");
}

void CheckOut(const at::Tensor& out, const char* name, at::ScalarType dtype, at::IntArrayRef sizes,
              const at::Tensor& weight) {
  CheckPlace(out, name, weight);
  TORCH_CHECK_VALUE(out.scalar_type() == dtype, name, " is ", out.scalar_type(), ", not ", dtype);
  TORCH_CHECK_VALUE(out.sizes() == sizes, name, " has shape ", out.sizes(), ", not ", sizes);
  TORCH_CHECK_VALUE(out.is_contiguous(), name, " is not contiguous");
}

void CheckK(int64_t k, const at::Tensor& weight) {
  const int64_t most =
      weight.is_cuda() ? std::min<int64_t>(weight.size(0), kHeadMaxTopK) : weight.size(0);
  TORCH_CHECK_VALUE(k >= 1 && k <= most, "k is ", k, ", not in [1, ", most, "]",
                    weight.is_cuda() ? " on CUDA" : "");
}

/// Checks what is needed of `hidden` before an output can be allocated.
void CheckForOutput(const at::Tensor& hidden) {
  CheckPlace(hidden, "hidden");
  TORCH_CHECK_VALUE(hidden.dim() == 2, "hidden has ", hidden.dim(), " dimensions, not 2");
}

at::Tensor EmptyLike(const at::Tensor& hidden, at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::empty(sizes, at::TensorOptions(hidden.device()).dtype(dtype));
}

at::Tensor& LogitsOut(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& row_ids,
                      const OptionalTensor& tail_indptr, const OptionalTensor& tail_ids,
                      int64_t max_tail, at::Tensor& out) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  const HeadTensors tensors{hidden, weight, row_ids, tail_indptr, tail_ids};
  Check(tensors);
  TORCH_CHECK_VALUE(max_tail >= 0 && max_tail <= weight.size(0), "max_tail is ", max_tail,
                    ", not in [0, ", weight.size(0), "]");
  CheckOut(out, "out", at::kFloat, {hidden.size(0), row_ids.numel() + max_tail}, weight);
  if constexpr (kScoresOnCuda) {
    if (weight.is_cuda()) {
      LogitsOnCuda(tensors, max_tail, out);
      return out;
    }
  }
  LogitsOnCpu(tensors, max_tail, out);
  return out;
}

at::Tensor Logits(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& row_ids,
                  const OptionalTensor& tail_indptr, const OptionalTensor& tail_ids,
                  int64_t max_tail) {
  CheckForOutput(hidden);
  CheckMatrix(weight, "weight");
  TORCH_CHECK_VALUE(max_tail >= 0 && max_tail <= weight.size(0), "max_tail is ", max_tail,
                    ", not in [0, ", weight.size(0), "]");
  at::Tensor out = EmptyLike(hidden, {hidden.size(0), row_ids.numel() + max_tail}, at::kFloat);
  return LogitsOut(hidden, weight, row_ids, tail_indptr, tail_ids, max_tail, out);
}

std::tuple<at::Tensor&, at::Tensor&> ArgmaxOut(const at::Tensor& hidden, const at::Tensor& weight,
                                               const at::Tensor& row_ids,
                                               const OptionalTensor& tail_indptr,
                                               const OptionalTensor& tail_ids, at::Tensor& ids,
                                               at::Tensor& logits) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  const HeadTensors tensors{hidden, weight, row_ids, tail_indptr, tail_ids};
  Check(tensors);
  CheckOut(ids, "ids", at::kInt, {hidden.size(0)}, weight);
  CheckOut(logits, "logits", at::kFloat, {hidden.size(0)}, weight);
  if constexpr (kScoresOnCuda) {
    if (weight.is_cuda()) {
      ArgmaxOnCuda(tensors, ids, logits);
      return {ids, logits};
    }
  }
  ArgmaxOnCpu(tensors, ids, logits);
  return {ids, logits};
}

std::tuple<at::Tensor, at::Tensor> Argmax(const at::Tensor& hidden, const at::Tensor& weight,
                                          const at::Tensor& row_ids,
                                          const OptionalTensor& tail_indptr,
                                          const OptionalTensor& tail_ids) {
  CheckForOutput(hidden);
  at::Tensor ids = EmptyLike(hidden, {hidden.size(0)}, at::kInt);
  at::Tensor logits = EmptyLike(hidden, {hidden.size(0)}, at::kFloat);
  ArgmaxOut(hidden, weight, row_ids, tail_indptr, tail_ids, ids, logits);
  return {ids, logits};
}

std::tuple<at::Tensor&, at::Tensor&, at::Tensor&> TopKOut(
    const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& row_ids, int64_t k,
    const OptionalTensor& tail_indptr, const OptionalTensor& tail_ids, at::Tensor& ids,
    at::Tensor& logits, at::Tensor& log_sum_exp) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  const HeadTensors tensors{hidden, weight, row_ids, tail_indptr, tail_ids};
  Check(tensors);
  CheckK(k, weight);
  CheckOut(ids, "ids", at::kInt, {hidden.size(0), k}, weight);
  CheckOut(logits, "logits", at::kFloat, {hidden.size(0), k}, weight);
  CheckOut(log_sum_exp, "log_sum_exp", at::kFloat, {hidden.size(0)}, weight);
  if constexpr (kScoresOnCuda) {
    if (weight.is_cuda()) {
      TopKOnCuda(tensors, k, ids, logits, log_sum_exp);
      return {ids, logits, log_sum_exp};
    }
  }
  TopKOnCpu(tensors, k, ids, logits, log_sum_exp);
  return {ids, logits, log_sum_exp};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> TopK(const at::Tensor& hidden,
                                                    const at::Tensor& weight,
                                                    const at::Tensor& row_ids, int64_t k,
                                                    const OptionalTensor& tail_indptr,
                                                    const OptionalTensor& tail_ids) {
  CheckForOutput(hidden);
  TORCH_CHECK_VALUE(weight.dim() == 2, "weight has ", weight.dim(), " dimensions, not 2");
  CheckK(k, weight);
  at::Tensor ids = EmptyLike(hidden, {hidden.size(0), k}, at::kInt);
  at::Tensor logits = EmptyLike(hidden, {hidden.size(0), k}, at::kFloat);
  at::Tensor log_sum_exp = EmptyLike(hidden, {hidden.size(0)}, at::kFloat);
  TopKOut(hidden, weight, row_ids, k, tail_indptr, tail_ids, ids, logits, log_sum_exp);
  return {ids, logits, log_sum_exp};
}

TORCH_LIBRARY(shortlist, m) {
  m.def(
      "gather_head(Tensor hidden, Tensor weight, Tensor row_ids, Tensor? tail_indptr=None, "
      "Tensor? tail_ids=None, int max_tail=0) -> Tensor");
  m.def(
      "gather_head.out(Tensor hidden, Tensor weight, Tensor row_ids, Tensor? tail_indptr=None, "
      "Tensor? tail_ids=None, int max_tail=0, *, Tensor(a!) out) -> Tensor(a!)");
  m.def(
      "gather_head_argmax(Tensor hidden, Tensor weight, Tensor row_ids, Tensor? tail_indptr=None, "
      "Tensor? tail_ids=None) -> (Tensor ids, Tensor logits)");
  m.def(
      "gather_head_argmax.out(Tensor hidden, Tensor weight, Tensor row_ids, "
      "Tensor? tail_indptr=None, Tensor? tail_ids=None, *, Tensor(a!) ids, Tensor(b!) logits) -> "
      "(Tensor(a!) ids, Tensor(b!) logits)");
  m.def(
      "gather_head_topk(Tensor hidden, Tensor weight, Tensor row_ids, int k, "
      "Tensor? tail_indptr=None, Tensor? tail_ids=None) -> "
      "(Tensor ids, Tensor logits, Tensor log_sum_exp)");
  m.def(
      "gather_head_topk.out(Tensor hidden, Tensor weight, Tensor row_ids, int k, "
      "Tensor? tail_indptr=None, Tensor? tail_ids=None, *, Tensor(a!) ids, Tensor(b!) logits, "
      "Tensor(c!) log_sum_exp) -> (Tensor(a!) ids, Tensor(b!) logits, Tensor(c!) log_sum_exp)");
}

void Implement(torch::Library& m) {
  m.impl("gather_head", Logits);
  m.impl("gather_head.out", LogitsOut);
  m.impl("gather_head_argmax", Argmax);
  m.impl("gather_head_argmax.out", ArgmaxOut);
  m.impl("gather_head_topk", TopK);
  m.impl("gather_head_topk.out", TopKOut);
}

TORCH_LIBRARY_IMPL(shortlist, CPU, m) { Implement(m); }

// Without kScoresOnCuda, these only run the checks, which name the tensor that is on a GPU.
TORCH_LIBRARY_IMPL(shortlist, CUDA, m) { Implement(m); }

// Without this, PyTorch 1.13 does not find the meta functions below its autograd key.
TORCH_LIBRARY_IMPL(shortlist, AutogradMeta, m) {
  for (const char* name : {"gather_head", "gather_head.out", "gather_head_argmax",
                           "gather_head_argmax.out", "gather_head_topk", "gather_head_topk.out"}) {
    m.impl(name, torch::CppFunction::makeFallthrough());
  }
}

}  // namespace
}  // namespace shortlist
