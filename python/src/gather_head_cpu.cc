// gather_head and its family over kernels/head.h.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "kernels/head.h"
#include "python/src/gather_head.h"

namespace shortlist {
namespace {

/// The threads of all calls in this process: as many as torch has at the first call. Calls take
/// turns. Never freed: workers must not be joined while the process exits.
struct Threads {
  std::mutex mutex;
  ThreadPool pool{at::get_num_threads()};
};

std::atomic<Threads*>& CurrentThreads() {
  static std::atomic<Threads*> threads = [] {
    // A forked child has none of the workers, and its mutex may stay locked forever.
    pthread_atfork(nullptr, nullptr, [] { CurrentThreads() = nullptr; });
    return new Threads;
  }();
  return threads;
}

Threads& TheThreads() {
  std::atomic<Threads*>& current = CurrentThreads();
  Threads* threads = current;
  if (threads != nullptr) return *threads;
  auto made = std::make_unique<Threads>();
  if (current.compare_exchange_strong(threads, made.get())) return *made.release();
  return *threads;  // another thread of the child was faster
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
  return weight.scalar_type() == at::kFloat  ? DType::kF32
         : weight.scalar_type() == at::kHalf ? DType::kF16
                                             : DType::kBf16;
}

/// Arguments of one call with checked values, and the memory that they point to.
struct Inputs {
  HeadArgs args;
  at::Tensor x;
  int64_t longest_tail = 0;
};

void CheckTails(const at::Tensor& indptr, const at::Tensor& ids, Inputs& inputs) {
  HeadArgs& args = inputs.args;
  CheckRange(ids, "tail_ids", args.vocab_size);
  const int32_t* const begin = indptr.data_ptr<int32_t>();
  TORCH_CHECK_VALUE(begin[0] == 0, "tail_indptr[0] is ", begin[0], ", not 0");
  for (int64_t m = 0; m < args.num_tokens; ++m) {
    TORCH_CHECK_VALUE(begin[m + 1] >= begin[m], "tail_indptr[", m + 1, "] is ", begin[m + 1],
                      ", less than ", begin[m], " before it");
    inputs.longest_tail = std::max<int64_t>(inputs.longest_tail, begin[m + 1] - begin[m]);
  }
  TORCH_CHECK_VALUE(begin[args.num_tokens] == ids.numel(), "tail_indptr ends with ",
                    begin[args.num_tokens], ", not the ", ids.numel(), " elements of tail_ids");
  args.tail_indptr = begin;
  args.tail_ids = ids.data_ptr<int32_t>();
}

Inputs Check(const HeadTensors& tensors) {
  CheckRange(tensors.row_ids, "row_ids", tensors.vocab_size());
  Inputs inputs;
  inputs.x = tensors.hidden.to(at::kFloat).contiguous();
  HeadArgs& args = inputs.args;
  args.weight = tensors.weight.data_ptr();
  args.dtype = DTypeOf(tensors.weight);
  args.vocab_size = tensors.vocab_size();
  args.hidden = tensors.weight.size(1);
  args.x = inputs.x.data_ptr<float>();
  args.num_tokens = tensors.num_tokens();
  args.row_ids = tensors.row_ids.data_ptr<int32_t>();
  args.num_rows = tensors.num_rows();
  if (tensors.tail_ids.has_value()) CheckTails(*tensors.tail_indptr, *tensors.tail_ids, inputs);
  return inputs;
}

}  // namespace

void LogitsOnCpu(const HeadTensors& tensors, int64_t max_tail, const at::Tensor& out) {
  const Inputs inputs = Check(tensors);
  TORCH_CHECK_VALUE(inputs.longest_tail <= max_tail, "max_tail is ", max_tail,
                    ", and the longest tail has ", inputs.longest_tail, " ids");
  if (out.numel() == 0) return;
  Threads& threads = TheThreads();
  std::lock_guard lock(threads.mutex);
  HeadLogitsCpu(inputs.args, out.data_ptr<float>(), out.size(1), threads.pool);
}

void ArgmaxOnCpu(const HeadTensors& tensors, const at::Tensor& ids, const at::Tensor& logits) {
  const Inputs inputs = Check(tensors);
  if (inputs.args.num_tokens == 0) return;
  Threads& threads = TheThreads();
  std::lock_guard lock(threads.mutex);
  HeadArgmaxCpu(inputs.args, ids.data_ptr<int32_t>(), logits.data_ptr<float>(), threads.pool);
}

void TopKOnCpu(const HeadTensors& tensors, int64_t k, const at::Tensor& ids,
               const at::Tensor& logits, const at::Tensor& log_sum_exp) {
  const Inputs inputs = Check(tensors);
  if (inputs.args.num_tokens == 0) return;
  Threads& threads = TheThreads();
  std::lock_guard lock(threads.mutex);
  HeadTopKCpu(inputs.args, k, ids.data_ptr<int32_t>(), logits.data_ptr<float>(),
              log_sum_exp.data_ptr<float>(), threads.pool);
}

}  // namespace shortlist
