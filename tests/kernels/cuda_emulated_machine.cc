#include "tests/kernels/cuda_emulated_machine.h"

#include <cstring>
#include <new>

#include "base/check.h"
#include "kernels/cuda/elementwise_kernel.h"
#include "kernels/cuda/head_kernel.h"
#include "kernels/cuda/select_kernel.h"
#include "kernels/cuda/sketch_kernel.h"
#include "kernels/cuda/states_kernel.h"
#include "tests/kernels/cuda_emulator.h"

namespace shortlist {

void* EmulatedMachine::Allocate(size_t bytes) {
  return ::operator new (bytes, std::align_val_t{256});
}
void EmulatedMachine::Free(void* memory) { ::operator delete (memory, std::align_val_t{256}); }
void EmulatedMachine::Upload(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void EmulatedMachine::Download(void* to, const void* from, size_t bytes) {
  Upload(to, from, bytes);
}

bool EmulatedMachine::PrepareStates(RowFormat format, int64_t hidden, const float* x,
                                    const HeadStates& states) {
  if (HeadStatesProblem(format, hidden, x, states) != nullptr) return false;
  const StatesJob job{RowLayout::Of(format, hidden), x,
                      static_cast<uint8_t*>(const_cast<void*>(states.codes)),
                      const_cast<float*>(states.scales), const_cast<float*>(states.factors)};
  Launch(static_cast<int>(states.num_tokens), kHeadThreads, kHeadWarps * 4,
         [&](uint8_t* shared) { PrepareState<Emulated>(job, shared); });
  return true;
}

bool EmulatedMachine::HeadLogits(const CudaHeadArgs& args, float* logits, int64_t stride) {
  if (HeadLogitsProblem(args, logits, stride) != nullptr) return false;
  if (args.x.num_tokens == 0) return true;
  HeadJob job = MakeHeadJob(args, /*k=*/0, PlanHead(args, 0, num_processors_), nullptr);
  job.logits = logits;
  job.stride = stride;
  Score(job);
  return true;
}

bool EmulatedMachine::HeadTopK(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                               const HeadTopKOutputs& out) {
  if (HeadTopKProblem(args, k, noise, out) != nullptr) return false;
  if (args.x.num_tokens == 0) return true;
  const HeadPlan plan = PlanHead(args, k, num_processors_);
  void* workspace = Allocate(plan.workspace_bytes);
  std::memset(workspace, 0xff, plan.workspace_bytes);
  HeadJob job = MakeHeadJob(args, k, plan, workspace);
  job.noise = noise;
  job.out = out;
  Score(job);
  const int num_tokens = static_cast<int>(args.x.num_tokens);
  Launch(num_tokens * plan.num_parts, kSelectThreads, sizeof(SelectShared), [&](uint8_t* shared) {
    SelectPart<Emulated>(job, *reinterpret_cast<SelectShared*>(shared));
  });
  if (plan.num_parts > 1) {
    Launch(num_tokens, kSelectThreads, sizeof(SelectShared), [&](uint8_t* shared) {
      MergeParts<Emulated>(job, *reinterpret_cast<SelectShared*>(shared));
    });
  }
  Free(workspace);
  return true;
}

bool EmulatedMachine::Elementwise(const ElementwiseJob& job) {
  if (ElementwiseProblem(job) != nullptr) return false;
  Launch(static_cast<int>(ElementwiseBlocks(job)), kElementwiseThreads, kElementwiseWarps * 4,
         [&](uint8_t* shared) { RunElementwise<Emulated>(job, reinterpret_cast<float*>(shared)); });
  return true;
}

bool EmulatedMachine::SketchSelect(const CudaSketchArgs& args) {
  if (SketchProblem(args) != nullptr) return false;
  if (args.num_tokens == 0) return true;
  auto* const workspace = static_cast<uint32_t*>(Allocate(SketchWorkspaceBytes(args)));
  CudaSketchJob job{args, SketchNumCandidates(args), workspace, nullptr};
  job.candidate_ids = reinterpret_cast<int32_t*>(workspace + args.num_tokens * job.num_candidates);
  Launch(static_cast<int>(SketchNumChunks(args)), kSketchThreads, sizeof(SketchChunkShared),
         [&](uint8_t* shared) {
           ChooseInChunk<Emulated>(job, reinterpret_cast<SketchChunkShared*>(shared));
         });
  Launch(static_cast<int>(args.num_tokens), kSketchThreads, sizeof(SketchShared),
         [&](uint8_t* shared) {
           ChooseOfToken<Emulated>(job, reinterpret_cast<SketchShared*>(shared));
         });
  Free(workspace);
  return true;
}

void EmulatedMachine::Launch(int num_blocks, int num_threads, int64_t shared_bytes,
                             const std::function<void(uint8_t*)>& body) {
  Emulated::Launch(num_blocks, num_threads, shared_bytes, ++seed_, body);
}

void EmulatedMachine::Score(const HeadJob& job) {
  switch (job.args.format) {
    case RowFormat::kBf16:
      return Score<RowFormat::kBf16>(job);
    case RowFormat::kF16:
      return Score<RowFormat::kF16>(job);
    case RowFormat::kFp8:
      return Score<RowFormat::kFp8>(job);
    case RowFormat::kInt8:
      return Score<RowFormat::kInt8>(job);
    case RowFormat::kInt4:
      return Score<RowFormat::kInt4>(job);
    case RowFormat::kF32:
      return Score<RowFormat::kF32>(job);
  }
}

template <RowFormat kFormat>
void EmulatedMachine::Score(const HeadJob& job) {
  switch (job.plan.row_tiles) {
    case 1:
      return Score<kFormat, 1>(job);
    case 2:
      return Score<kFormat, 2>(job);
    default:
      return Score<kFormat, kMaxRowTiles>(job);
  }
}

template <RowFormat kFormat, int kRowTiles>
void EmulatedMachine::Score(const HeadJob& job) {
  switch (KernelTokenTiles(job.args.x.num_tokens)) {
    case 1:
      return Score<kFormat, kRowTiles, 1>(job);
    case 2:
      return Score<kFormat, kRowTiles, 2>(job);
    default:
      return Score<kFormat, kRowTiles, kMaxTokenTiles>(job);
  }
}

template <RowFormat kFormat, int kRowTiles, int kTokenTiles>
void EmulatedMachine::Score(const HeadJob& job) {
  Launch(job.plan.num_blocks, kHeadThreads, job.plan.shared_bytes, [&](uint8_t* shared) {
    ScoreItems<Emulated, kFormat, kRowTiles, kTokenTiles>(job, shared);
  });
}

}  // namespace shortlist
