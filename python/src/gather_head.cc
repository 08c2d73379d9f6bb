// torch.ops.shortlist.gather_head and its family over kernels/head.h. The schemas below are the
// contract; shapes for meta tensors are in package/shortlist/_meta.py. All that a caller can get
// wrong is a ValueError.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <pthread.h>
#include <torch/library.h>

#include <algorithm>
#include <mutex>
#include <tuple>

#include "kernels/head.h"

namespace shortlist {
namespace {

using OptionalTensor = c10::optional<at::Tensor>;

/// The threads of all calls in this process: as many as torch has when the first call comes. Calls
/// take turns. Never freed: workers must not be joined while the process ends.
struct Threads {
  std::mutex mutex;
  ThreadPool pool{at::get_num_threads()};
};

Threads*& CurrentThreads() {
  static Threads* threads = [] {
    // A forked child has none of the workers, and maybe a mutex that nobody will ever unlock.
    pthread_atfork(nullptr, nullptr, [] { CurrentThreads() = nullptr; });
    return new Threads;
  }();
  return threads;
}

Threads& TheThreads() {
  static std::mutex mutex;
  Threads*& threads = CurrentThreads();
  if (threads == nullptr) {
    std::lock_guard lock(mutex);
    if (threads == nullptr) threads = new Threads;
  }
  return *threads;
}

void CheckPlace(const at::Tensor& tensor, const char* name) {
  TORCH_CHECK_VALUE(tensor.device().is_cpu(), name, " is on ", tensor.device(),
                    "; this build of shortlist scores on the CPU alone");
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, name, " has layout ", tensor.layout(),
                    ", not torch.strided");
}

void CheckIds(const at::Tensor& tensor, const char* name) {
  CheckPlace(tensor, name);
  TORCH_CHECK_VALUE(tensor.scalar_type() == at::kInt, name, " is ", tensor.scalar_type(),
                    ", not int32");
  TORCH_CHECK_VALUE(tensor.dim() == 1, name, " has ", tensor.dim(), " dimensions, not 1");
  TORCH_CHECK_VALUE(tensor.is_contiguous(), name, " has stride ", tensor.stride(0), ", not 1");
}

void CheckRange(const at::Tensor& tensor, const char* name, int64_t vocab_size) {
  const int32_t* const ids = tensor.data_ptr<int32_t>();
  const int64_t count = tensor.numel();
  const auto bound = static_cast<uint32_t>(vocab_size);
  bool in_range = true;
  for (int64_t i = 0; i < count; ++i) in_range &= static_cast<uint32_t>(ids[i]) < bound;
  if (in_range) return;
  for (int64_t i = 0; i < count; ++i) {
    TORCH_CHECK_VALUE(static_cast<uint32_t>(ids[i]) < bound, name, "[", i, "] is ", ids[i],
                      ", not in [0, ", vocab_size, ")");
  }
}

DType DTypeOf(const at::Tensor& weight) {
  switch (weight.scalar_type()) {
    case at::kFloat:
      return DType::kF32;
    case at::kHalf:
      return DType::kF16;
    case at::kBFloat16:
      return DType::kBf16;
    default:
      TORCH_CHECK_VALUE(false, "weight is ", weight.scalar_type(),
                        ", not float32, float16 or bfloat16");
  }
}

/// Checked arguments of one call, and the memory behind them.
struct Inputs {
  HeadArgs args;
  at::Tensor x;
  int64_t longest_tail = 0;
};

void CheckTails(const OptionalTensor& indptr, const OptionalTensor& ids, Inputs& inputs) {
  HeadArgs& args = inputs.args;
  TORCH_CHECK_VALUE(indptr.has_value() == ids.has_value(),
                    "tail_indptr and tail_ids come together, and one is missing");
  if (!indptr.has_value()) return;
  CheckIds(*indptr, "tail_indptr");
  CheckIds(*ids, "tail_ids");
  TORCH_CHECK_VALUE(indptr->numel() == args.num_tokens + 1, "tail_indptr has ", indptr->numel(),
                    " elements, not ", args.num_tokens + 1, " (rows of hidden + 1)");
  CheckRange(*ids, "tail_ids", args.vocab_size);
  const int32_t* const begin = indptr->data_ptr<int32_t>();
  TORCH_CHECK_VALUE(begin[0] == 0, "tail_indptr[0] is ", begin[0], ", not 0");
  for (int64_t m = 0; m < args.num_tokens; ++m) {
    TORCH_CHECK_VALUE(begin[m + 1] >= begin[m], "tail_indptr[", m + 1, "] is ", begin[m + 1],
                      ", less than ", begin[m], " before it");
    inputs.longest_tail = std::max<int64_t>(inputs.longest_tail, begin[m + 1] - begin[m]);
  }
  TORCH_CHECK_VALUE(begin[args.num_tokens] == ids->numel(), "tail_indptr ends with ",
                    begin[args.num_tokens], ", not the ", ids->numel(), " elements of tail_ids");
  args.tail_indptr = begin;
  args.tail_ids = ids->data_ptr<int32_t>();
}

Inputs Check(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& row_ids,
             const OptionalTensor& tail_indptr, const OptionalTensor& tail_ids) {
  CheckPlace(hidden, "hidden");
  CheckPlace(weight, "weight");
  TORCH_CHECK_VALUE(hidden.dim() == 2, "hidden has ", hidden.dim(), " dimensions, not 2");
  TORCH_CHECK_VALUE(weight.dim() == 2, "weight has ", weight.dim(), " dimensions, not 2");
  TORCH_CHECK_VALUE(hidden.scalar_type() == at::kFloat || hidden.scalar_type() == at::kHalf ||
                        hidden.scalar_type() == at::kBFloat16,
                    "hidden is ", hidden.scalar_type(), ", not float32, float16 or bfloat16");
  Inputs inputs;
  HeadArgs& args = inputs.args;
  args.dtype = DTypeOf(weight);
  args.vocab_size = weight.size(0);
  args.hidden = weight.size(1);
  args.num_tokens = hidden.size(0);
  TORCH_CHECK_VALUE(args.vocab_size < (int64_t{1} << 31), "weight has ", args.vocab_size,
                    " rows, not less than 2^31");
  TORCH_CHECK_VALUE(args.hidden >= 1, "weight has rows of no element");
  TORCH_CHECK_VALUE(hidden.size(1) == args.hidden, "hidden has rows of ", hidden.size(1),
                    ", weight of ", args.hidden);
  TORCH_CHECK_VALUE(weight.is_contiguous(), "weight has strides ", weight.strides(),
                    ", not those of contiguous rows");
  CheckIds(row_ids, "row_ids");
  CheckRange(row_ids, "row_ids", args.vocab_size);
  inputs.x = hidden.to(at::kFloat).contiguous();
  args.weight = weight.data_ptr();
  args.x = inputs.x.data_ptr<float>();
  args.row_ids = row_ids.data_ptr<int32_t>();
  args.num_rows = row_ids.numel();
  CheckTails(tail_indptr, tail_ids, inputs);
  return inputs;
}

void CheckOut(const at::Tensor& out, const char* name, at::ScalarType dtype,
              at::IntArrayRef sizes) {
  CheckPlace(out, name);
  TORCH_CHECK_VALUE(out.scalar_type() == dtype, name, " is ", out.scalar_type(), ", not ", dtype);
  TORCH_CHECK_VALUE(out.sizes() == sizes, name, " has shape ", out.sizes(), ", not ", sizes);
  TORCH_CHECK_VALUE(out.is_contiguous(), name, " is not contiguous");
}

void CheckK(int64_t k, int64_t vocab_size) {
  TORCH_CHECK_VALUE(k >= 1 && k <= vocab_size, "k is ", k, ", not in [1, ", vocab_size, "]");
}

at::Tensor& LogitsOut(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& row_ids,
                      const OptionalTensor& tail_indptr, const OptionalTensor& tail_ids,
                      int64_t max_tail, at::Tensor& out) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  const Inputs inputs = Check(hidden, weight, row_ids, tail_indptr, tail_ids);
  const HeadArgs& args = inputs.args;
  TORCH_CHECK_VALUE(max_tail >= 0 && max_tail <= args.vocab_size, "max_tail is ", max_tail,
                    ", not in [0, ", args.vocab_size, "]");
  TORCH_CHECK_VALUE(inputs.longest_tail <= max_tail, "max_tail is ", max_tail,
                    ", and the longest tail has ", inputs.longest_tail, " ids");
  const int64_t stride = args.num_rows + max_tail;
  CheckOut(out, "out", at::kFloat, {args.num_tokens, stride});
  if (out.numel() == 0) return out;
  Threads& threads = TheThreads();
  std::lock_guard lock(threads.mutex);
  HeadLogitsCpu(args, out.data_ptr<float>(), stride, threads.pool);
  return out;
}

at::Tensor Logits(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& row_ids,
                  const OptionalTensor& tail_indptr, const OptionalTensor& tail_ids,
                  int64_t max_tail) {
  CheckPlace(hidden, "hidden");
  TORCH_CHECK_VALUE(hidden.dim() == 2, "hidden has ", hidden.dim(), " dimensions, not 2");
  TORCH_CHECK_VALUE(max_tail >= 0 && max_tail < (int64_t{1} << 31), "max_tail is ", max_tail,
                    ", not in [0, 2^31)");
  at::Tensor out = at::empty({hidden.size(0), row_ids.numel() + max_tail}, at::kFloat);
  return LogitsOut(hidden, weight, row_ids, tail_indptr, tail_ids, max_tail, out);
}

std::tuple<at::Tensor&, at::Tensor&> ArgmaxOut(const at::Tensor& hidden, const at::Tensor& weight,
                                               const at::Tensor& row_ids,
                                               const OptionalTensor& tail_indptr,
                                               const OptionalTensor& tail_ids, at::Tensor& ids,
                                               at::Tensor& logits) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  const Inputs inputs = Check(hidden, weight, row_ids, tail_indptr, tail_ids);
  const int64_t num_tokens = inputs.args.num_tokens;
  CheckOut(ids, "ids", at::kInt, {num_tokens});
  CheckOut(logits, "logits", at::kFloat, {num_tokens});
  if (num_tokens > 0) {
    Threads& threads = TheThreads();
    std::lock_guard lock(threads.mutex);
    HeadArgmaxCpu(inputs.args, ids.data_ptr<int32_t>(), logits.data_ptr<float>(), threads.pool);
  }
  return {ids, logits};
}

std::tuple<at::Tensor, at::Tensor> Argmax(const at::Tensor& hidden, const at::Tensor& weight,
                                          const at::Tensor& row_ids,
                                          const OptionalTensor& tail_indptr,
                                          const OptionalTensor& tail_ids) {
  CheckPlace(hidden, "hidden");
  TORCH_CHECK_VALUE(hidden.dim() == 2, "hidden has ", hidden.dim(), " dimensions, not 2");
  at::Tensor ids = at::empty({hidden.size(0)}, at::kInt);
  at::Tensor logits = at::empty({hidden.size(0)}, at::kFloat);
  ArgmaxOut(hidden, weight, row_ids, tail_indptr, tail_ids, ids, logits);
  return {ids, logits};
}

std::tuple<at::Tensor&, at::Tensor&, at::Tensor&> TopKOut(
    const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& row_ids, int64_t k,
    const OptionalTensor& tail_indptr, const OptionalTensor& tail_ids, at::Tensor& ids,
    at::Tensor& logits, at::Tensor& log_sum_exp) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  const Inputs inputs = Check(hidden, weight, row_ids, tail_indptr, tail_ids);
  const int64_t num_tokens = inputs.args.num_tokens;
  CheckK(k, inputs.args.vocab_size);
  CheckOut(ids, "ids", at::kInt, {num_tokens, k});
  CheckOut(logits, "logits", at::kFloat, {num_tokens, k});
  CheckOut(log_sum_exp, "log_sum_exp", at::kFloat, {num_tokens});
  if (num_tokens > 0) {
    Threads& threads = TheThreads();
    std::lock_guard lock(threads.mutex);
    HeadTopKCpu(inputs.args, k, ids.data_ptr<int32_t>(), logits.data_ptr<float>(),
                log_sum_exp.data_ptr<float>(), threads.pool);
  }
  return {ids, logits, log_sum_exp};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> TopK(const at::Tensor& hidden,
                                                    const at::Tensor& weight,
                                                    const at::Tensor& row_ids, int64_t k,
                                                    const OptionalTensor& tail_indptr,
                                                    const OptionalTensor& tail_ids) {
  CheckPlace(hidden, "hidden");
  TORCH_CHECK_VALUE(hidden.dim() == 2, "hidden has ", hidden.dim(), " dimensions, not 2");
  TORCH_CHECK_VALUE(weight.dim() == 2, "weight has ", weight.dim(), " dimensions, not 2");
  CheckK(k, weight.size(0));
  at::Tensor ids = at::empty({hidden.size(0), k}, at::kInt);
  at::Tensor logits = at::empty({hidden.size(0), k}, at::kFloat);
  at::Tensor log_sum_exp = at::empty({hidden.size(0)}, at::kFloat);
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

// For the checks alone, which name the tensor that is on a GPU.
TORCH_LIBRARY_IMPL(shortlist, CUDA, m) { Implement(m); }

// PyTorch 1.13 finds no meta function behind its autograd key without it.
TORCH_LIBRARY_IMPL(shortlist, AutogradMeta, m) {
  for (const char* name : {"gather_head", "gather_head.out", "gather_head_argmax",
                           "gather_head_argmax.out", "gather_head_topk", "gather_head_topk.out"}) {
    m.impl(name, torch::CppFunction::makeFallthrough());
  }
}

}  // namespace
}  // namespace shortlist
