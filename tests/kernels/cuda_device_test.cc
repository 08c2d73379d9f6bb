// The cases of cuda_cases.h on a GPU, and what only a GPU can show: replays of a captured graph.
// Plain C++, since a GPU machine may have no test library. Prints "skipped" and succeeds where
// there is no GPU; SHORTLIST_CUDA_SMALL=1 makes the cases small, for compute-sanitizer.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/head.h"
#include "kernels/cuda/head_plan.h"
#include "kernels/cuda/sketch.h"
#include "tests/kernels/cuda_cases.h"
#include "tests/kernels/cuda_head_fixture.h"

namespace shortlist {
namespace {

void Require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

class GpuMachine : public CudaMachine {
 public:
  void* Allocate(size_t bytes) override {
    void* memory = nullptr;
    Require(cudaMalloc(&memory, bytes), "cudaMalloc");
    return memory;
  }
  void Free(void* memory) override { Require(cudaFree(memory), "cudaFree"); }
  void Upload(void* to, const void* from, size_t bytes) override {
    Require(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copy to the device");
  }
  void Download(void* to, const void* from, size_t bytes) override {
    Require(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy from the device");
  }
  bool PrepareStates(RowFormat format, int64_t hidden, const float* x,
                     const HeadStates& states) override {
    return Done(PrepareHeadStatesCuda(format, hidden, x, states, nullptr));
  }
  bool HeadLogits(const CudaHeadArgs& args, float* logits, int64_t stride) override {
    return Done(HeadLogitsCuda(args, logits, stride, nullptr));
  }
  bool HeadTopK(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                const HeadTopKOutputs& out) override {
    int64_t bytes = 0;
    if (HeadTopKWorkspace(args, k, &bytes) != cudaSuccess) return false;
    MachineArray<char> workspace(*this, static_cast<size_t>(bytes));
    return Done(HeadTopKCuda(args, k, noise, out, workspace.data(), bytes, nullptr));
  }
  bool Elementwise(const ElementwiseJob& job) override {
    return Done(ElementwiseCuda(job, nullptr));
  }
  bool SketchSelect(const CudaSketchArgs& args) override {
    if (SketchProblem(args) != nullptr) return false;
    const int64_t bytes = SketchWorkspaceBytes(args);
    MachineArray<char> workspace(*this, static_cast<size_t>(bytes));
    return Done(SketchSelectCuda(args, workspace.data(), bytes, nullptr));
  }

 private:
  /// True if the launcher accepted the call; a kernel that fails ends the test.
  static bool Done(cudaError_t error) {
    if (error == cudaErrorInvalidValue) return false;
    Require(error, "launch");
    Require(cudaDeviceSynchronize(), "kernel");
    return true;
  }
};

/// A draft step as an engine captures it once: the states from memory, then the head. Every replay
/// sees other states, counts, ids and tails, and must give what a plain call gives.
void CheckGraphReplay(CudaMachine& machine, uint32_t seed, Failures& failures) {
  constexpr int64_t kVocabSize = 3000, kHidden = 512, kTokens = 5, kRows = 2000, kTails = 40,
                    kK = 8;
  std::mt19937 rng(seed);
  for (const RowFormat format : kRowFormats) {
    const CudaRows rows(machine, rng, format, kVocabSize, kHidden);
    CudaStates states(machine, format, kHidden, RandomFloats(rng, kTokens * kHidden));
    CudaRowSet chosen(machine, RowSet(rng, kVocabSize, kTokens, kRows, kTails));
    const CudaHeadArgs args = ArgsOf(rows, states, chosen);
    const MachineArray<int32_t> ids(machine, kTokens * kK), plain_ids(machine, kTokens * kK);
    const MachineArray<float> logits(machine, kTokens * kK), plain_logits(machine, kTokens * kK);
    const MachineArray<float> sums(machine, kTokens), plain_sums(machine, kTokens);
    int64_t bytes = 0;
    Require(HeadTopKWorkspace(args, kK, &bytes), "workspace");
    const MachineArray<char> workspace(machine, static_cast<size_t>(bytes));

    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    Require(cudaStreamCreate(&stream), "stream");
    Require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    Require(PrepareHeadStatesCuda(format, kHidden, states.plain.data(), states.view(), stream),
            "captured states");
    Require(HeadTopKCuda(args, kK, {}, {ids.data(), logits.data(), sums.data()}, workspace.data(),
                         bytes, stream),
            "captured head");
    Require(cudaStreamEndCapture(stream, &graph), "end of capture");
    Require(cudaGraphInstantiateWithFlags(&replay, graph, 0), "graph");
    for (int round = 0; round < 10; ++round) {
      states.plain.Set(RandomFloats(rng, kTokens * kHidden));
      chosen.Set(RowSet(rng, kVocabSize, kTokens, kRows, kTails));
      Require(cudaGraphLaunch(replay, stream), "replay");
      Require(cudaStreamSynchronize(stream), "replay");
      machine.PrepareStates(format, kHidden, states.plain.data(), states.view());
      machine.HeadTopK(args, kK, {}, {plain_ids.data(), plain_logits.data(), plain_sums.data()});
      failures.Expect(ids.Get() == plain_ids.Get() && SameBits(logits.Get(), plain_logits.Get()) &&
                          SameBits(sums.Get(), plain_sums.Get()),
                      std::string("a replay equals a plain call, ") + RowFormatName(format) +
                          " round " + std::to_string(round));
    }
    failures.Expect(chosen.error.Get()[0] == 0, "replays flag nothing");
    Require(cudaGraphExecDestroy(replay), "graph");
    Require(cudaGraphDestroy(graph), "graph");
    Require(cudaStreamDestroy(stream), "stream");
  }
}

int Run() {
  int num_devices = 0;
  if (cudaGetDeviceCount(&num_devices) != cudaSuccess || num_devices == 0) {
    std::printf("skipped: no GPU\n");
    return 0;
  }
  Require(HeadRunsOn(/*device=*/0), "there is code for this device");
  const bool small = std::getenv("SHORTLIST_CUDA_SMALL") != nullptr;
  GpuMachine machine;
  Failures failures;
  const auto run = [&](const char* name, auto&& body) {
    const int before = failures.count();
    body();
    std::printf("%s: %s\n", name, failures.count() == before ? "ok" : "FAILED");
    std::fflush(stdout);
  };
  run("heads", [&] {
    CheckHeads(machine, /*seed=*/701,
               {.num_rounds = small ? 1 : 20,
                .max_vocab_size = small ? 300 : 1200,
                .max_hidden = 600,
                .max_tokens = 64},
               failures);
  });
  run("wide heads", [&] {
    CheckHeads(machine, /*seed=*/702,
               {.num_rounds = small ? 1 : 3,
                .max_vocab_size = small ? 100 : 2500,
                .max_hidden = 5000,
                .max_tokens = 64},
               failures);
  });
  run("many rows", [&] {
    CheckHeads(machine, /*seed=*/707,
               {.num_rounds = small ? 1 : 5,
                .min_rows = small ? kPartRows + 1 : 20000,
                .max_vocab_size = small ? 2 * kPartRows : 40000,
                .max_hidden = small ? 40 : 300,
                .max_tokens = small ? 4 : 20},
               failures);
  });
  run("bad input", [&] { CheckHeadBadInput(machine, /*seed=*/703, failures); });
  run("refusals", [&] { CheckHeadRefusals(machine, failures); });
  run("graph replay", [&] { CheckGraphReplay(machine, /*seed=*/704, failures); });
  run("elementwise",
      [&] { CheckElementwise(machine, /*seed=*/705, {.num_rounds = small ? 3 : 50}, failures); });
  run("sketches", [&] {
    CheckSketches(
        machine, /*seed=*/706,
        {.num_rounds = small ? 4 : 40, .max_vocab_size = small ? 5000 : 200000, .max_tokens = 5},
        failures);
  });
  for (const std::string& message : failures.messages()) {
    std::fprintf(stderr, "%s\n", message.c_str());
  }
  std::printf("%d failures\n", failures.count());
  return failures.count() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace shortlist

int main() { return shortlist::Run(); }
